"""What the default install brings along. Nothing was promised; it is watched so that it does not grow unseen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from bench.installed import environment, fresh_venv, site_packages
from bench.report import Report

_NOT_OURS = {"pip", "setuptools", "wheel"}


def measure(report: Report, folder: Path | None = None) -> None:
    folder = folder or fresh_venv()
    listed = subprocess.run(
        [str(folder / "bin" / "python"), "-m", "pip", "list", "--format", "json"],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = sorted({package["name"] for package in json.loads(listed.stdout)} - _NOT_OURS)
    report.add("size", "packages of the default install", len(names), "", detail=", ".join(names))
    sizes = {path.name: _bytes(path) for path in site_packages(folder).iterdir()}
    ours = {name: size for name, size in sizes.items() if not name.startswith(tuple(_NOT_OURS))}
    parts = sorted(ours.items(), key=lambda item: -item[1])[:6]
    detail = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in parts)
    report.add("size", "installed, bytecode included", sum(ours.values()) / 1e6, "MB", detail=detail)


def _bytes(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink())
