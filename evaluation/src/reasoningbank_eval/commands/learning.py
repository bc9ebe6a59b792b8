"""`reasoningbank_eval learning`: tables of what the bank learns from real episodes, and the same as JSON."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from reasoningbank import BankError, InvalidInput
from reasoningbank.cli.command import Command
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal

PARTS = ("intercode", "ablations", "again", "like", "links", "tau", "judge", "throughput")
"""Named here too, since help must not load the evaluation; a test holds them together."""
_SHUFFLES = 5


def _options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--data", metavar="DIR", required=True, help="a folder with sets of episodes, known by their shape"
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be repeated")
    parser.add_argument(
        "--shuffles", type=int, default=_SHUFFLES, metavar="N", help=f"orders beside file order (default {_SHUFFLES})"
    )
    parser.add_argument("--episodes", type=int, metavar="N", help="only the first so many, for a quick look")
    parser.add_argument("--out", metavar="FILE", default="eval-learning.json", help="where the JSON goes")


def _run(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_eval.learning import Plan, report

    if args.shuffles < 0 or (args.episodes is not None and args.episodes < 1):
        raise InvalidInput("--shuffles must be 0 or more and --episodes 1 or more.")
    plan = Plan(
        data=Path(args.data),
        parts=tuple(args.part or PARTS),
        shuffles=args.shuffles,
        episodes=args.episodes,
        needed=bool(args.part),
    )
    result = report(plan, terminal.tell)
    try:
        Path(args.out).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise BankError(f"{args.out} cannot be written: {error.strerror}.") from error
    if terminal.as_json:
        terminal.json(result)
    else:
        _tables(result, terminal)
        terminal.tell(f"Written to {args.out}.")
    return 0


def _tables(result: dict[str, Any], terminal: Terminal) -> None:
    for part in ("intercode", "ablations"):
        for name, settings in result.get(part, {}).items():
            terminal.say(f"{name}, {part}" if part != name else name)
            _streams(settings, terminal)
    if "again" in result:
        _again(result["again"], terminal)
    if "like" in result:
        _like(result["like"], terminal)
    if "links" in result:
        _links(result["links"], terminal)
    for name, figures in result.get("tau", {}).items():
        terminal.say(name)
        _tau(figures, terminal)
    for name, figures in result.get("judge", {}).items():
        _judge(name, figures, terminal)
    for name, value in result.get("throughput", {}).items():
        terminal.say(f"{name.replace('_', ' ')}: {value:,}")
    for name, why in result["not_run"].items():
        terminal.say(f"not run: {name} ({why})")


_STREAM_FIGURES = ("CEILING", "HITS", "SHARE", "95 %", "LOOSE", "TOKENS", "HELD", "DESCRIBED OR USED")


def _streams(settings: dict[str, Any], terminal: Terminal) -> None:
    columns = [
        Column(name="SETTING", elastic=True),
        Column(name="ORDER"),
        *(Column(name=name, right=True) for name in _STREAM_FIGURES),
    ]
    rows = [
        [
            name,
            row["order"],
            str(row["ceiling"]),
            str(row["hits"]),
            f"{row['share']:.1%}",
            f"{row['low']:.1%}–{row['high']:.1%}",
            str(row["loose_hits"]),
            f"{row['tokens']:.0f}",
            f"{row['held']:.0%}",
            f"{row['described_or_used']['hits']} of {row['described_or_used']['ceiling']}",
        ]
        for name, setting in settings.items()
        for row in setting["orders"]
    ]
    show(terminal, columns, rows)
    terminal.say()


def _again(by_set: dict[str, Any], terminal: Terminal) -> None:
    names = ("SESSIONS", "SOLVED", "OFFERED", "95 %", "IN WORDS", "INJECTIONS", "HELD IT", "TOKENS")
    rows = [
        [
            name,
            *(f"{figures[part]:,}" for part in ("sessions", "solved_tasks")),
            f"{figures['offered']['tasks']} ({figures['offered']['share']:.0%})",
            f"{figures['offered']['low']:.0%}–{figures['offered']['high']:.0%}",
            str(figures["all_its_words_in_one_lesson"]["tasks"]),
            str(figures["injections"]["tasks"]),
            f"{figures['injections']['held_it']:.0%}",
            f"{figures['tokens']['mean']:.0f}" if figures["tokens"] else "",
        ]
        for name, figures in by_set.items()
    ]
    terminal.say("The same task again: is what solved it offered?")
    show(terminal, [Column(name="SET", elastic=True), *(Column(name=name, right=True) for name in names)], rows)
    terminal.say()
    lesson_rows = [
        [
            name,
            kind,
            str(figures["kept"]),
            *(f"{figures[grade]:.0%}" for grade in ("remedy", "thing", "parses")),
            f"{figures['usable']['share']:.0%}",
        ]
        for name, result in by_set.items()
        for kind, figures in (("all", result["lessons"]), *result["lessons"]["by_kind"].items())
    ]
    columns = ("KEPT", "HAS A REMEDY", "NAMES A THING", "WOULD PARSE", "USABLE")
    terminal.say("Lessons, graded by rule")
    show(
        terminal,
        [Column(name="SET", elastic=True), Column(name="KIND"), *(Column(name=name, right=True) for name in columns)],
        lesson_rows,
    )
    terminal.say()


def _like(by_set: dict[str, Any], terminal: Terminal) -> None:
    rows = [
        [
            name,
            str(half["seed"]),
            str(half["asked"]),
            f"{half['words_told']:.0%}",
            f"{half['words_in_the_best_learned_solution']:.0%}",
            f"{half['tokens']['mean']:.0f}",
        ]
        for name, halves in by_set.items()
        for half in halves
        if half["asked"]
    ]
    names = ("SEED", "ASKED", "WORDS TOLD", "IN THE BEST KNOWN", "TOKENS")
    terminal.say("A task like it: how much of the way is told?")
    show(terminal, [Column(name="SET", elastic=True), *(Column(name=name, right=True) for name in names)], rows)
    terminal.say()


def _links(by_set: dict[str, Any], terminal: Terminal) -> None:
    rows = [
        [
            name,
            str(half["seed"]),
            str(sum(half["links"].values())),
            str(row["budget"]),
            str(row["asked"]),
            way,
            f"{figures['share']:.1%}",
            f"{figures['gain']:+.1%} ({figures['low']:+.1%} to {figures['high']:+.1%})" if "gain" in figures else "",
            str(figures["pulled_in"]),
            f"{figures['tokens']:.0f}",
        ]
        for name, halves in by_set.items()
        for half in halves
        for row in half["budgets"]
        for way, figures in row["words_told"].items()
    ]
    names = ("SEED", "LINKS", "BUDGET", "ASKED", "RECALL", "WORDS TOLD", "GAIN (95 %)", "PULLED IN", "TOKENS")
    terminal.say("Recall with links and without, at the same budget of tokens")
    show(terminal, [Column(name="SET", elastic=True), *(Column(name=name, right=True) for name in names)], rows)
    terminal.say()


def _tau(result: dict[str, Any], terminal: Terminal) -> None:
    names = ("FLIPPED", "CALIBRATION ERROR", "AS RANKED", "BY CONFIDENCE", "RELEVANCE ONLY")
    rows = [
        [
            f"{row['flipped']:.0%}",
            *(
                _ranged(row[name]) if name in row else "not run"
                for name in ("calibration_error", "outcome_weighted", "by_confidence", "relevance_only")
            ),
            _interval(row["calibration_error"]),
        ]
        for row in result["by_flip"]
    ]
    terminal.say(
        f"{result['runs']:,} runs of {result['tasks']:,} tasks, orders 1 to {result['seeds']}: the mean, in brackets "
        "least and most of them; 95 % by drawing the tasks again"
    )
    show(terminal, [Column(name=name, right=True) for name in (*names, "95 %")], rows)
    terminal.say()
    policies = result["calibration_error_by_policy"]
    show(
        terminal,
        [Column(name="POLICY"), *(Column(name=name, right=True) for name in ("CALIBRATION ERROR", "95 %"))],
        [[name, _ranged(value), _interval(value)] for name, value in policies.items()],
    )
    terminal.say()


def _judge(name: str, result: dict[str, Any], terminal: Terminal) -> None:
    share, right = result["judged"] / result["episodes"], result["right"] / max(1, result["judged"])
    sure = result["right_share"]
    terminal.say(
        f"{name}: the rules judge {share:.0%} of {result['episodes']:,} sessions and are right in {right:.0%} of these "
        f"{result['judged']:,} (95 %: {sure['low']:.0%}–{sure['high']:.0%}); always saying the commoner would be in "
        f"{result['always_the_commoner']:.0%}."
    )
    for row in result["by_certainty"]:
        terminal.say(f"  certain to {row['claimed']:.2f}: right in {row['right']:.2f} of {row['verdicts']}")
    terminal.say()


def _interval(value: dict[str, float]) -> str:
    return f"{value['low']:.3f}–{value['high']:.3f}"


def _ranged(value: dict[str, float]) -> str:
    return f"{value['mean']:.3f} ({value['least']:.3f}–{value['most']:.3f})"


COMMAND = Command(
    run=_run,
    options=_options,
    about="Works in temporary banks; yours is not touched. Everything takes about half an hour.",
)
