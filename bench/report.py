"""A promise, the figure, the limit: as a table for people and as JSON for later."""

from __future__ import annotations

import importlib.metadata as metadata
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_PACKAGES = ("reasoningbank", "apsw", "numpy", "simsimd", "onnxruntime", "chromadb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    subject: str
    what: str
    value: float
    unit: str
    limit: float | None = None
    """None: for information, nothing was promised."""
    at_least: bool = False
    detail: str = ""

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return ""
        kept = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "ok" if kept else "MISSED"


@dataclass(slots=True)
class Report:
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    load_at_start: float = field(default_factory=lambda: round(os.getloadavg()[0], 2))

    def add(self, subject: str, what: str, value: float, unit: str, **rest: Any) -> None:
        figure = Figure(subject=subject, what=what, value=float(value), unit=unit, **rest)
        self.figures.append(figure)
        print(_line(figure), file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        self.notes.append(text)
        print(f"  ({text})", file=sys.stderr, flush=True)

    def table(self) -> str:
        lines = [
            f"{machine()['cpu']}, {os.cpu_count()} cores, load {self.load_at_start} at start; "
            + ", ".join(f"{name} {version}" for name, version in versions().items()),
            "",
            f"{'subject':8} {'what':66} {'figure':>16} {'limit':>14}",
        ]
        lines += [_line(figure) for figure in self.figures]
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def write(self, path: Path, *, beside: bool = False) -> None:
        """As JSON; with `beside` next to the figures of other runs that are there, each with the load of its run."""
        rows = [
            {**asdict(figure), "value": _rounded(figure.value), "verdict": figure.verdict} for figure in self.figures
        ]
        if beside:
            rows = [{**row, "load_at_start": self.load_at_start} for row in rows]
            taken = {row["what"] for row in rows}
            kept = json.loads(path.read_text("utf-8"))["figures"] if path.exists() else []
            rows = [row for row in kept if row["what"] not in taken] + rows
        whole = {
            "machine": machine(),
            "versions": versions(),
            "load_at_start": self.load_at_start,
            "notes": self.notes,
            "figures": rows,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _line(figure: Figure) -> str:
    shown = f"{figure.value:,.0f}" if abs(figure.value) >= 1000 else f"{figure.value:.4g}"
    limit = "" if figure.limit is None else f"{'≥' if figure.at_least else '≤'} {figure.limit:,g}"
    tail = f"  {figure.detail}" if figure.detail else ""
    return f"{figure.subject:8} {figure.what:66} {shown + ' ' + figure.unit:>16} {limit:>14} {figure.verdict}{tail}"


def machine() -> dict[str, Any]:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        cpu = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor() or platform.machine()
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
