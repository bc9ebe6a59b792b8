"""The figures of the bus.

    python -m bench bus [PART …] [--small] [--save | --out FILE]

Each part can be run alone, and is `measure_PART(report, small)` of a module of this folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from bench.report import Report

PARTS = {
    "simulated": ("simulated", "simulated networks: rounds, bytes, partitions, deaths, differences"),
    "hostile": ("hostile", "100,000 hostile frames, and peers that lie, spam and withhold"),
    "exchange": ("exchange", "small records published by one bank and applied by another"),
    "frames": ("frames", "1 KB encoded and decoded; signing and verifying beside the library's own; the durable log"),
    "pair": ("pair", "small records between two real banks over loopback, durable on both sides"),
    "transport": ("transport", "0-RTT, a hundred streams with one stalled, and bulk, beside bare qh3 in the same run"),
    "namespaces": ("namespaces", "eight real peers in network namespaces with 30 % loss, and two halves of them apart"),
}
RESULTS = Path(__file__).parents[1] / "results" / "bus.json"


def main(arguments: Sequence[str] | None = None) -> int:
    told = "; ".join(f"{name}: {what}" for name, (_, what) in PARTS.items())
    parser = argparse.ArgumentParser(prog="bench bus", description=f"Measure the bus. {told}.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "all"], default="all", metavar="PART")
    parser.add_argument("--small", action="store_true", help="fewer rounds, to see that it runs")
    to = parser.add_mutually_exclusive_group()
    to.add_argument("--out", type=Path, help="write the figures as JSON too")
    to.add_argument("--save", dest="out", action="store_const", const=RESULTS, help=f"the same to {RESULTS.name}")
    asked = parser.parse_args(arguments)
    report = Report()
    for part in list(PARTS) if "all" in asked.parts else list(dict.fromkeys(asked.parts)):
        _measure_of(part)(report, asked.small)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def _measure_of(part: str) -> Callable[[Report, bool], None]:
    """Imported when asked for: each part needs other libraries."""
    measure: Callable[[Report, bool], None] = getattr(import_module(f"bench.bus.{PARTS[part][0]}"), f"measure_{part}")
    return measure
