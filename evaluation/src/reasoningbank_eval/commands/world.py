"""`reasoningbank_eval world`: how well an agent does in a world whose truth is known, with different memories."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from reasoningbank import InvalidInput
from reasoningbank.cli.command import Command
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal

_SEEDS, _FIRST_SEED, _TASKS = 20, 1001, 400
_FEWEST_TASKS = 40


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=_SEEDS, metavar="N", help=f"worlds (default {_SEEDS})")
    parser.add_argument(
        "--first-seed", type=int, default=_FIRST_SEED, metavar="N", help=f"of the worlds (default {_FIRST_SEED})"
    )
    parser.add_argument("--tasks", type=int, default=_TASKS, metavar="N", help=f"in each world (default {_TASKS})")
    parser.add_argument("--vary", type=int, default=0, metavar="N", help="vary the rules too, in so many worlds each")
    parser.add_argument("--out", metavar="FILE", help="write everything as JSON")
    parser.add_argument("--plot", metavar="FILE", help="draw the regret over time as SVG")


def _run(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_eval.world.chart import svg
    from reasoningbank_eval.world.rules import Rules
    from reasoningbank_eval.world.study import report

    if args.seeds < 1 or args.vary < 0 or args.tasks < _FEWEST_TASKS:
        raise InvalidInput(f"--seeds must be 1 or more, --vary 0 or more and --tasks {_FEWEST_TASKS} or more.")
    for target in (args.out, args.plot):
        if target is not None and not Path(target).absolute().parent.is_dir():
            raise InvalidInput(f"There is no folder for {target}: make it first.")
    began, cpu = time.monotonic(), time.process_time()
    result = report(
        Rules(tasks=args.tasks),
        range(args.first_seed, args.first_seed + args.seeds),
        terminal.tell,
        varied_seeds=args.vary,
    )
    result["seconds"] = {"clock": round(time.monotonic() - began), "processor": round(time.process_time() - cpu)}
    if args.out:
        Path(args.out).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if args.plot:
        Path(args.plot).write_text(svg(result, "An agent in a world that drifts"), "utf-8")
    if terminal.as_json:
        terminal.json(result)
        return 0
    _arms(result, terminal)
    terminal.say(f"Worlds {args.first_seed} to {args.first_seed + args.seeds - 1}; 95 % intervals over the worlds.")
    if result["varied"]:
        terminal.say()
        _varied(result["varied"], terminal)
    for name, why in result["not_run"].items():
        terminal.say(f"not run: {name} ({why})")
    terminal.tell(f"{result['seconds']['processor']} s of processor time, {result['seconds']['clock']} s by the clock.")
    return 0


def _arms(result: dict[str, Any], terminal: Terminal) -> None:
    columns = [
        Column(name="MEMORY", elastic=True),
        *(Column(name=name, right=True) for name in ("REGRET", "BEHIND OURS", "1st", "2nd", "3rd", "4th QUARTER")),
        Column(name="RECOVERS IN", right=True),
    ]
    rows = [
        [
            name,
            _ranged(arm["regret"]),
            "" if name == "ours" else _ranged(arm["behind_ours"]),
            *(f"{quarter:.3f}" for quarter in arm["regret_a_task_by_quarter"]),
            "never" if arm["tasks_to_recover"] is None else f"{arm['tasks_to_recover']} tasks",
        ]
        for name, arm in result["arms"].items()
    ]
    show(terminal, columns, rows)


def _varied(variants: dict[str, Any], terminal: Terminal) -> None:
    names = list(next(iter(variants.values()))["arms"])
    columns = [Column(name="RULES", elastic=True), *(Column(name=name.upper(), right=True) for name in names)]
    rows = [[what, *(_ranged(result["arms"][name]["regret"]) for name in names)] for what, result in variants.items()]
    show(terminal, columns, rows)


def _ranged(value: dict[str, float]) -> str:
    return f"{value['mean']:.0f} ({value['low']:.0f}–{value['high']:.0f})"


COMMAND = Command(
    run=_run,
    options=_options,
    about="Regret is how much likelier success would have been in the best way than in the one taken, added up "
    "over the tasks. Works in temporary banks; yours is not touched. docs/credit.md tells the rules of the world.",
)
