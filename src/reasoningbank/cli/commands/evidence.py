"""`feedback`, `outcome` and `history`: what a memory has earned, and by what."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import opened
from reasoningbank.cli.command import Command, add_reference
from reasoningbank.cli.commands.storing import tell_scrubbed
from reasoningbank.cli.memory_page import show_track
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.types import Confidence, Outcome, Remembered
from reasoningbank.learn.evidence import History
from reasoningbank.view import confidence_json, history_json, step_json

_CURVE_COLUMNS = 40


def _feedback_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    verdict = parser.add_mutually_exclusive_group(required=True)
    verdict.add_argument("--helpful", action="store_true", dest="helpful", default=None)
    verdict.add_argument("--unhelpful", action="store_false", dest="helpful", default=None)
    parser.add_argument("--comment", metavar="TEXT", default="", help="why; kept with the signal")


def _feedback(args: Namespace, terminal: Terminal) -> int:
    with opened(args) as found:
        before = found.bank.get(args.reference)
        after = found.bank.feedback(args.reference, helpful=args.helpful, comment=args.comment)
        scrubbed = found.bank.secrets.found_in(args.comment)
    _moved(terminal, before, after, scrubbed)
    return 0


def _outcome_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument("outcome", choices=list(Outcome), help="how the task went in which it was used")
    parser.add_argument("--session", metavar="ID", help="the session that this was")
    parser.add_argument("--comment", metavar="TEXT", default="", help="kept with the signal")


def _outcome(args: Namespace, terminal: Terminal) -> int:
    succeeded = args.outcome == Outcome.SUCCESS
    with opened(args) as found:
        before = found.bank.get(args.reference)
        if args.session is not None:
            found.bank.trajectory(args.session)
        after = found.bank.outcome(args.reference, succeeded=succeeded, session=args.session, comment=args.comment)
        scrubbed = found.bank.secrets.found_in(args.comment)
    _moved(terminal, before, after, scrubbed)
    return 0


def _moved(terminal: Terminal, before: Remembered, after: Confidence, scrubbed: Mapping[str, int]) -> None:
    earlier = before.confidence.mean
    if terminal.as_json:
        moved = {"id": before.id, **confidence_json(after), "confidence_before": round(earlier, 6)}
        terminal.json({**moved, "scrubbed": dict(scrubbed)})
    else:
        terminal.say(f"{before.id}  confidence {earlier:.2f} → {figures.confidence(after)}")
        tell_scrubbed(scrubbed, terminal)


def _history(args: Namespace, terminal: Terminal) -> int:
    with opened(args) as found:
        history = found.bank.history(args.reference)
        steps = found.bank.track_of(history.remembered.id)
    if terminal.as_json:
        terminal.json({**history_json(history), "steps": [step_json(step) for step in steps]})
    else:
        _page(history, terminal)
        show_track(terminal, steps)
    return 0


def _page(history: History, terminal: Terminal) -> None:
    item = history.remembered
    now = time.time()
    terminal.say(plain.one_line(item.title), bold=True)
    terminal.say(
        f"{item.id} · revision {item.memory.revision} · used {item.usage_count}×, {item.succeeded} succeeded"
        f" · shown {item.shown}×",
        dim=True,
    )
    means = [confidence.mean for _, confidence in history.points]
    curve = figures.sparkline([*means, item.confidence.mean], _CURVE_COLUMNS, unicode=terminal.unicode)
    now_at = figures.confidence(item.confidence)
    terminal.say(f"confidence {means[0]:.2f} {curve} {now_at} now, by policy {history.policy}")
    terminal.say()
    rows = []
    for signal, confidence in history.points:
        if signal is None:
            rows.append(
                [
                    figures.ago(item.memory.created_at, now),
                    "stored",
                    "",
                    "",
                    figures.confidence(confidence),
                    "",
                ]
            )
            continue
        said = f"{signal.kind.value} {'+' if signal.positive else '−'}"
        note = signal.comment or (f"in {signal.trajectory_id}" if signal.trajectory_id else "")
        rows.append(
            [
                figures.ago(signal.at, now),
                said,
                f"×{figures.short(signal.weight)}",
                signal.source,
                figures.confidence(confidence),
                note,
            ]
        )
    columns = [
        Column(name="WHEN", right=True),
        Column(name="EVIDENCE"),
        Column(name="WEIGHT"),
        Column(name="FROM", elastic=True),
        Column(name="CONFIDENCE"),
        Column(name="COMMENT", elastic=True),
    ]
    show(terminal, columns, rows)


COMMANDS = {
    "feedback": Command(run=_feedback, options=_feedback_options),
    "outcome": Command(run=_outcome, options=_outcome_options),
    "history": Command(run=_history, options=add_reference),
}
