"""`feedback`, `outcome` and `history`: what a memory has earned, and by what."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from reasoningbank.bank.json_view import confidence_json, history_json, step_json
from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import Command, add_reference
from reasoningbank.cli.commands.storing import tell_scrubbed
from reasoningbank.cli.memory_page import set_aside_in_words, show_track
from reasoningbank.cli.speaker import speaker
from reasoningbank.cli.tables import Column, show
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.confidence import policies, track_record
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.types import Confidence, Outcome, Remembered
from reasoningbank.learn.evidence import History, Point
from reasoningbank.learn.stability import Fate
from reasoningbank.wiring import ReasoningBank

_HELPFUL = "helpful"
_VERDICTS = (_HELPFUL, "unhelpful")
_FATES = (Fate.SURVIVED, Fate.REVERTED)


def _feedback_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument("verdict", choices=_VERDICTS, nargs="?", help="as a word instead of an option")
    option = parser.add_mutually_exclusive_group()
    for verdict in _VERDICTS:
        option.add_argument(f"--{verdict}", action="store_const", const=verdict, dest="option")
    parser.add_argument("--comment", metavar="TEXT", default="", help="why; kept with the signal")


def _feedback(args: Namespace, terminal: Terminal) -> int:
    verdicts = {args.verdict, args.option} - {None}
    if len(verdicts) != 1:
        raise InvalidInput(f"Say once whether {args.reference} helped: --helpful or --unhelpful.")
    with open_bank(args) as handle:
        before = handle.bank.get(args.reference)
        helpful = verdicts == {_HELPFUL}
        after = handle.bank.feedback(args.reference, helpful=helpful, comment=args.comment, source=speaker())
        secrets = handle.bank.secrets.found_in(args.comment)
    _say_moved(terminal, before, after, secrets)
    return 0


def _outcome_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument(
        "outcome",
        choices=[*Outcome, *_FATES],
        help="how the task went in which it was used, or what became of the code it led to",
    )
    parser.add_argument("--session", metavar="ID", help="the session that this was, or a label of your own")
    parser.add_argument("--comment", metavar="TEXT", default="", help="kept with the signal")


def _outcome(args: Namespace, terminal: Terminal) -> int:
    options = {"session": args.session, "comment": args.comment}
    with open_bank(args) as handle:
        before = handle.bank.get(args.reference)
        if args.outcome in _FATES:
            after = handle.bank.stability(args.reference, survived=args.outcome == Fate.SURVIVED, **options)
        else:
            after = handle.bank.outcome(args.reference, succeeded=args.outcome == Outcome.SUCCESS, **options)
        secrets = handle.bank.secrets.found_in(args.comment)
        is_label = args.session is not None and not _is_session(handle.bank, args.session)
    _say_moved(terminal, before, after, secrets)
    if is_label and not terminal.as_json:
        terminal.tell(f"There is no session {args.session!r} here: kept as a label.")
    return 0


def _is_session(bank: ReasoningBank, session: str) -> bool:
    try:
        bank.trajectory(session)
    except NotFound:
        return False
    return True


def _say_moved(terminal: Terminal, before: Remembered, after: Confidence, secrets: Mapping[str, int]) -> None:
    earlier = before.confidence.mean
    if terminal.as_json:
        fields = {"id": before.id, **confidence_json(after), "confidence_before": round(earlier, 6)}
        terminal.json({**fields, "scrubbed": dict(secrets)})
    else:
        terminal.say(f"{before.id}  confidence {earlier:.2f} → {figures.confidence(after)}")
        tell_scrubbed(secrets, terminal)


def _history_options(parser: ArgumentParser) -> None:
    add_reference(parser)
    parser.add_argument(
        "--policy", choices=list(policies()), dest="by_policy", help="what another policy would make of it"
    )
    parser.add_argument(
        "--context-match",
        type=float,
        default=1.0,
        metavar="0..1",
        help="how well the task at hand fits; only the policy `factors` asks (default 1)",
    )


def _history(args: Namespace, terminal: Terminal) -> int:
    with open_bank(args) as handle:
        history = handle.bank.history(args.reference, policy=args.by_policy, context_match=args.context_match)
        steps = handle.bank.track_of(history.remembered.id)
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
        f"{item.id} · revision {item.memory.revision} · {track_record(item) or 'not used yet'} · shown {item.shown}×",
        dim=True,
    )
    if item.set_aside:
        terminal.say(f"{set_aside_in_words(item.set_aside)}; marked with “old text” below", dim=True)
    means = [point.confidence.mean for point in history.points]
    curve = figures.sparkline([*means, item.confidence.mean], 40, unicode=terminal.unicode)
    now_at = figures.confidence(item.confidence)
    terminal.say(f"confidence {means[0]:.2f} {curve} {now_at} now, by policy {history.policy}")
    terminal.say()
    rows = [_row(point, now, is_first=number == 0) for number, point in enumerate(history.points)]
    columns = [
        Column(name="WHEN", right=True),
        Column(name="EVIDENCE"),
        Column(name="WEIGHT"),
        Column(name="FROM", elastic=True),
        Column(name="CONFIDENCE"),
        Column(name="COMMENT", elastic=True),
    ]
    show(terminal, columns, rows)


def _row(point: Point, now: float, *, is_first: bool) -> list[str]:
    when, confidence = figures.ago(point.at, now), figures.confidence(point.confidence)
    signal = point.signal
    if signal is None:
        what = ("stored", "") if is_first else ("other advice", f"from revision {point.revision} on")
        return [when, what[0], "", "", confidence, what[1]]
    note = signal.comment or (f"in {signal.trajectory_id}" if signal.trajectory_id else "")
    if not point.counts:
        note = f"old text{note and f': {note}'}"
    kind = f"{signal.kind.value} {'+' if signal.positive else '−'}"
    return [when, kind, f"×{figures.short(signal.weight)}", signal.source, confidence, note]


COMMANDS = {
    "feedback": Command(run=_feedback, options=_feedback_options),
    "outcome": Command(run=_outcome, options=_outcome_options),
    "history": Command(run=_history, options=_history_options),
}
