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
SCALES = [10_000, 100_000]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench", description="Measure what the project promises.")
    parser.add_argument(
        "subjects",
        nargs="*",
        choices=[*SUBJECTS, "all"],
        default=["all"],
        help="or (own --help): bus, clients, engines, hooks, storm, scrub, serve, trust, learn, model, rerank, "
        "consolidate, false_denials, graph, ingest, links, page, reach",
    )
    parser.add_argument(
        "--scale", nargs="+", type=int, default=SCALES, help="memories in a bank; 1000000 takes 4 GB and minutes"
    )
    parser.add_argument("--embedder", nargs="+", choices=["hash", "local"], default=["hash", "local"], help="for speed")
    parser.add_argument("--data", type=Path, help="folder of real texts to use instead of generated ones")
    parser.add_argument("--out", type=Path, help="write the figures as JSON too")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] in (["bus"], ["clients"], ["engines"]):
        return import_module(f"bench.{given[0]}.suite").main(given[1:])
    if given[:1] == ["page"]:
        from bench.page.__main__ import main as page

        return page(given[1:])
    if given[:1] == ["storm"]:
        from bench.storms.__main__ import main as storm

        return storm(given[1:])
    if given and given[0] in ("hooks", "learn", "model", "rerank", "consolidate", "graph", "ingest", "links", "reach"):
        return import_module(f"bench.{given[0]}").main(given[1:])
    if given[:1] == ["false_denials"]:
        from bench import false_denials

        return false_denials.main(given[1:])
    if given[:1] == ["scrub"]:
        from bench import scrub

        return scrub.main(given[1:])
    if given[:1] == ["serve"]:
        from bench import serve

        return serve.main(given[1:])
    if given[:1] == ["trust"]:
        from bench import trust

        return trust.main(given[1:])
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
