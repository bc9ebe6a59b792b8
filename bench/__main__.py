"""`python -m bench SUBJECT … [--scale N …] [--data DIR] [--out FILE]`; `--help` lists the subjects."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from bench.corpus import Corpus
from bench.report import Report

SUBJECTS = ("speed", "store", "memory", "size", "cold", "mcp")
OWN_COMMANDS = {
    "bus": "bus.suite", "clients": "clients.suite", "engines": "engines.suite", "page": "page.__main__",
    "storm": "storms.__main__",
    **{
        name: name
        for name in (
            "consolidate", "false_denials", "graph", "heard", "hooks", "ingest", "learn", "links", "model", "reach",
            "rerank", "scrub", "serve", "trust", "walks",
        )
    },
}  # fmt: skip
"""Subjects with options of their own, and the module that has them."""
SCALES = [10_000, 100_000]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench", description="Measure what the project promises.")
    parser.add_argument(
        "subjects",
        nargs="*",
        choices=[*SUBJECTS, "all"],
        default=["all"],
        help=f"or (own --help): {', '.join(OWN_COMMANDS)}",
    )
    parser.add_argument(
        "--scale", nargs="+", type=int, default=SCALES, help="memories in a bank; 1000000 takes 4 GB and minutes"
    )
    parser.add_argument("--embedder", nargs="+", choices=["hash", "local"], default=["hash", "local"], help="for speed")
    parser.add_argument("--data", type=Path, help="folder of real texts to use instead of generated ones")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in OWN_COMMANDS:
        return import_module(f"bench.{OWN_COMMANDS[given[0]]}").main(given[1:])
    asked = parser.parse_args(given)
    chosen = SUBJECTS if "all" in asked.subjects else tuple(dict.fromkeys(asked.subjects))
    report = Report()
    _measure(report, chosen, asked)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def _measure(report: Report, chosen: Sequence[str], asked: argparse.Namespace) -> None:
    # Imported when asked for: each subject needs other libraries.
    corpus = Corpus(data=asked.data)
    venv = None
    if "size" in chosen or "cold" in chosen:
        from bench.installed import fresh_venv

        venv = fresh_venv()
    if "speed" in chosen:
        from bench import speed

        speed.measure(report, corpus, asked.scale, tuple(asked.embedder))
    if "store" in chosen:
        from bench import store

        store.measure(report, corpus)
    if "memory" in chosen:
        from bench import memory

        memory.measure(report, corpus, asked.scale)
    if "size" in chosen:
        from bench import size

        size.measure(report, venv)
    if "cold" in chosen:
        from bench import cold

        cold.measure(report, corpus, venv)
    if "mcp" in chosen:
        from bench import mcp

        mcp.measure(report, corpus)


if __name__ == "__main__":
    raise SystemExit(main())
