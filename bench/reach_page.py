"""Writes the part of docs/when-one-file-is-not-enough.md that follows from figures: where each engine stops.

`reach_page.md` is its text. `python -m bench reach --save` measures and writes it between its two marks; a test makes
it again from `results/reach.json` and compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
KEPT = RESULTS / "reach.json"
PAGE = ROOT / "docs" / "when-one-file-is-not-enough.md"
BEGINNING, END = "<!-- python -m bench reach --save: from here -->", "<!-- to here -->"
TEN_MILLION, BILLION = 10_000_000, 1_000_000_000
SLOWEST_MS = 100.0
"""What a search may take before another index is due."""
DAY_S = 86_400.0
QDRANT_BYTES = 4 * 384 * 1.5
"""Qdrant's own rule for vectors in memory."""


def write_page(figures: Mapping[str, Any]) -> None:
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGINNING)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGINNING}\n\n{page_part(figures)}\n{END}{after}", "utf-8")


def written_part() -> str:
    """What stands in the page between the marks."""
    found = re.search(f"{re.escape(BEGINNING)}\n\n(.*)\n{re.escape(END)}", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def kept_latencies() -> list[tuple[int, float]]:
    """Memories in the embedded index and what a search took, of the runs that were kept."""
    found = []
    for name in ("speed.json", "speed-1000000.json"):
        for figure in json.loads((RESULTS / name).read_text("utf-8"))["figures"]:
            who, _, what = figure["what"].partition(": ")
            if who.startswith("hash ") and what == "search, p50":
                found.append((int(who.removeprefix("hash ").replace(",", "")), float(figure["value"])))
    return sorted(found)


def page_part(found: Mapping[str, Any]) -> str:
    """The text of the page, from what was measured."""
    (few, fast), (many, slow) = list(pairwise(kept_latencies()))[-1]
    slope_ms = (slow - fast) / (many - few)
    writes = found["writes_many"]
    words = {
        "memories": f"{found['memories']:,}",
        "cores": found["cores"],
        "load": found["load"],
        "connections": found["connections"],
        "bytes": "\n".join(_row(what, found[name], _sizes(found[name])) for name, what in _BYTES.items()),
        "rates": "\n".join(_row(what, found[name], _spans(found[name])) for name, what in _RATES.items()),
        "few": f"{few:,}",
        "many": f"{many:,}",
        "fast_ms": f"{fast:.1f}",
        "slow_ms": f"{slow:.1f}",
        "slope_ns": f"{slope_ms * 1e6:.0f}",
        "slowest_ms": f"{SLOWEST_MS:.0f}",
        "reach": f"{(many + (SLOWEST_MS - slow) / slope_ms) / 1e6:.1f}",
        "search_ten_ms": f"{slow + slope_ms * (TEN_MILLION - many):,.0f}",
        "search_billion_s": f"{(slow + slope_ms * (BILLION - many)) / 1e3:,.0f}",
        "postgres_bytes": f"{found['postgres_bytes']:,.0f}",
        "most": f"{32 * 2**40 / found['postgres_bytes'] / BILLION:.0f}",
        "writes": f"{writes:,.0f}",
        "writes_day": f"{writes * DAY_S / 1e6:.0f}",
        "write_billion": _spans(writes)[1],
        "qdrant": _size(QDRANT_BYTES),
        "qdrant_ten": _sizes(QDRANT_BYTES)[0],
    }
    for name in ("sqlite", "postgres", "embedded", "hnsw", "words"):
        words[f"{name}_ten"], words[f"{name}_billion"] = _sizes(found[f"{name}_bytes"])
    words["restore_ten"], words["restore_billion"] = _spans(found["restore"])
    return Path(__file__).with_suffix(".md").read_text("utf-8").format(**words)


_BYTES = {
    "sqlite_bytes": "in SQLite",
    "postgres_bytes": "in PostgreSQL, with its feed and every index of the tables",
    "wal_bytes": "of its write-ahead log, once",
    "embedded_bytes": "in the embedded index (`hash`), on disk and mapped, on each server",
    "hnsw_bytes": "in pgvector: 384 half floats and their place in HNSW",
    "words_bytes": "in pgvector: its words and what filters ask for",
}
_RATES = {
    "writes_one": "durable writes, one thread",
    "writes_many": "durable writes, 16 threads of one process",
    "fold": "memories folded into an embedded index",
    "restore": "changes of a backup restored and checked",
}


def _row(what: str, figure: float, at: tuple[str, str]) -> str:
    return f"| {what} | {figure:,.0f} | {at[0]} | {at[1]} |"


def _sizes(each: float) -> tuple[str, str]:
    return _size(TEN_MILLION * each), _size(BILLION * each)


def _spans(rate: float) -> tuple[str, str]:
    return _span(TEN_MILLION / rate), _span(BILLION / rate)


def _size(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.2g} {unit}" if number < 9.95 else f"{number:.0f} {unit}"
        number /= 1_000
    return f"{number:.2g} TB"


def _span(seconds: float) -> str:
    for length, unit in ((DAY_S, "days"), (3_600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
