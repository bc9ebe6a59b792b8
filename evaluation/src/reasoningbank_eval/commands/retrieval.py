"""`reasoningbank_eval retrieval`: how good recall is on labelled data, against plain methods of the same run."""

from __future__ import annotations

import json
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank import InvalidInput
from reasoningbank.cli import figures
from reasoningbank.cli.command import Command
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.terminal import Terminal
from reasoningbank.wiring.embedders import EMBEDDERS

if TYPE_CHECKING:
    from reasoningbank_eval.asking import Progress

_DEFAULT_EMBEDDERS = "hash,local"
_DEFAULT_SIZES = "10,40,200,1000"


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--data", metavar="DIR", required=True, help="a folder of labelled sets, or one set")
    parser.add_argument("--sets", metavar="NAMES", default="", help="only these, by comma (default all)")
    parser.add_argument(
        "--embedders", metavar="NAMES", default=_DEFAULT_EMBEDDERS, help=f"by comma (default {_DEFAULT_EMBEDDERS})"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="at most this many questions of each set, by chance")
    parser.add_argument(
        "--sizes",
        metavar="NUMBERS",
        default=_DEFAULT_SIZES,
        help=f"of banks, for questions with and without an answer; none leaves that out (default {_DEFAULT_SIZES})",
    )
    parser.add_argument("--only-sizes", action="store_true", help="only these, nothing else")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for choices and intervals (default 0)")
    parser.add_argument("--out", metavar="FILE", help="write everything as JSON")
    parser.add_argument("--plot", metavar="FILE", help="draw the figures as SVG")


def _run(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_eval.commands.retrieval_page import show_report
    from reasoningbank_eval.plot import svg
    from reasoningbank_eval.retrieval import evaluated, plan_of, report_json
    from reasoningbank_eval.sets import MEASURES
    from reasoningbank_eval.shapes import recognised

    embedders = _listed(args.embedders)
    unknown = sorted(set(embedders) - set(EMBEDDERS))
    if unknown or not embedders:
        raise InvalidInput(f"Unknown embedder {', '.join(unknown)!r}: use some of {', '.join(EMBEDDERS)}.")
    if args.limit is not None and args.limit < 1:
        raise InvalidInput(f"--limit must be from 1 on, not {args.limit}.")
    for target in (args.out, args.plot):
        if target is not None and not Path(target).absolute().parent.is_dir():
            raise InvalidInput(f"There is no folder for {target}: make it first.")
    data = recognised(Path(args.data), _listed(args.sets))
    for reason in data.unknown:
        terminal.tell(f"Left out: {reason}.")
    plan = plan_of(data, embedders, args.seed, args.limit, sizes=_sizes(args.sizes), only_crowds=args.only_sizes)
    with tempfile.TemporaryDirectory(prefix="reasoningbank-eval-") as folder:

        @contextmanager
        def watch(what: str) -> Iterator[Progress]:
            start = time.monotonic()
            with Bar(terminal, what) as bar:
                yield bar
            terminal.tell(f"{what}: {time.monotonic() - start:.0f} s")

        report = evaluated(plan, data.unknown, Path(folder), watch, lambda: (time.time(), time.process_time()))
    as_json = report_json(report)
    if args.out:
        Path(args.out).write_text(json.dumps(as_json, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if args.plot:
        panels = [(dataset.name, MEASURES[dataset.kind][0]) for dataset in plan.sets]
        Path(args.plot).write_text(svg(report.figures, panels, "Recall on labelled sets"), "utf-8")
    if terminal.as_json:
        terminal.json(as_json)
    else:
        show_report(terminal, report)
    targets = " and ".join(target for target in (args.out, args.plot) if target)
    count = figures.counted(sum(len(dataset.questions) for dataset in plan.sets), "question")
    terminal.tell(f"{count} asked in {report.seconds:.0f} s{f'; written to {targets}' if targets else ''}.")
    return 0


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def _sizes(text: str) -> list[int]:
    names = [] if text == "none" else _listed(text)
    if not all(name.isdecimal() and int(name) >= 1 for name in names):
        raise InvalidInput(f"--sizes must be whole numbers by comma, or none, not {text!r}.")
    return sorted({int(name) for name in names})


COMMAND = Command(
    run=_run,
    options=_options,
    about="Sets are told by their shape; docs/evaluation.md lists the shapes and says what each figure means.",
)
