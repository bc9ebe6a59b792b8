"""`reasoningbank_eval graph`: what a walk over the memory graph reaches, against flat search for as many tokens."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from reasoningbank import InvalidInput
from reasoningbank.cli.command import Command
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal

_TASKS, _BUDGET, _LEAST_BUDGET = 100, 1_000, 200


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--data", required=True, metavar="DIR", help="folder of runs of tau-bench with their tasks")
    parser.add_argument("--tasks", type=int, default=_TASKS, metavar="N", help=f"asked at most (default {_TASKS})")
    parser.add_argument("--budget", type=int, default=_BUDGET, metavar="TOKENS", help=f"a text (default {_BUDGET})")
    parser.add_argument("--embedder", choices=("local", "hash"), default="local", help="default local")
    parser.add_argument("--out", metavar="FILE", help="write everything as JSON")


def _run(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_eval.graph_reach import report

    if args.tasks < 1 or args.budget < _LEAST_BUDGET:
        raise InvalidInput(f"--tasks must be 1 or more and --budget {_LEAST_BUDGET} or more.")
    if args.out is not None and not Path(args.out).absolute().parent.is_dir():
        raise InvalidInput(f"There is no folder for {args.out}: make it first.")
    result = report(Path(args.data), args.embedder, args.tasks, args.budget, terminal.tell)
    if args.out:
        Path(args.out).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if terminal.as_json:
        terminal.json(result)
        return 0
    terminal.say(
        f"{result['conversations']:,} conversations: {result['nodes']:,} nodes, {result['edges']:,} edges. "
        f"{result['tasks']} tasks, {result['budget_tokens']:,} tokens each."
    )
    for name in ("without_own_conversations", "with_own_conversations"):
        terminal.say()
        terminal.say(f"{name.replace('_', ' ').capitalize()}:")
        _show(result[name], terminal)
    return 0


def _show(by_way: dict[str, Any], terminal: Terminal) -> None:
    names = ("TOOLS", "THAT CHANGE SOMETHING", "WHOLE ACTIONS", "TOKENS")
    columns = [Column(name="REACHED BY", elastic=True), *(Column(name=name, right=True) for name in names)]
    rows = [
        [way, *(_with_interval(figures[name]) for name in ("tools", "changing", "actions")), str(figures["tokens"])]
        for way, figures in by_way.items()
    ]
    show(terminal, columns, rows)


def _with_interval(value: dict[str, float]) -> str:
    return f"{value['share']:.2f} ({value['low']:.2f}–{value['high']:.2f})"


COMMAND = Command(
    run=_run,
    options=_options,
    about="Shares of the gold solution's actions that the text for a model names, the mean over the tasks with 95 % "
    "intervals. Works in a temporary bank; yours is not touched.",
)
