"""`backfill`: what coding agents did before the hooks were installed, learned from their transcripts."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import location_of
from reasoningbank.cli.command import Command
from reasoningbank.cli.indexing import Indexed, add_index_later, exit_code, index_rest, tell_owed
from reasoningbank.cli.moments import moment
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import find_settings, from_environment
from reasoningbank.core.types import Remembered
from reasoningbank.core.wording import headline
from reasoningbank.wiring import ReasoningBank
from reasoningbank_coding_agents.backfill import Backfilled, BackfillRequest, backfill
from reasoningbank_coding_agents.hosts import NAMES, full_name
from reasoningbank_coding_agents.places import places
from reasoningbank_coding_agents.state_dir import place_of

if TYPE_CHECKING:
    from reasoningbank.learn.worker import Attempt

_EVERY = "all"
_MOST_SKIPPED_SHOWN = 20


def _options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "agent",
        nargs="?",
        default=_EVERY,
        type=full_name,
        choices=(*NAMES, _EVERY),
        help="whose transcripts (default all)",
    )
    parser.add_argument(
        "--since", default="4w", metavar="WHEN", help="changed since then: 12h, 7d, 4w (the default) or a date"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be read, and keep nothing")
    add_index_later(parser)


def _run(args: Namespace, terminal: Terminal) -> int:
    now = time.time()
    agents = NAMES if args.agent == _EVERY else (args.agent,)
    request = BackfillRequest(agents=agents, since=moment(args.since, now), namespace=args.namespace)
    location = location_of(args)
    place = place_of(location)
    if args.dry_run:
        with Bar(terminal, "looking") as bar:
            tally = backfill(None, place, places(), request, now=now, progress=bar)
        _report(terminal, tally, (), Indexed(owed=0), dry_run=True)
        return 0
    # Without a model, whatever is configured: weeks of sessions would cost more than anybody expects.
    with (
        ReasoningBank.open(
            location, namespace=args.namespace, llm="off", distiller="offline", config=args.config
        ) as bank,
        Bar(terminal, "reading") as bar,
    ):
        tally = backfill(bank, place, places(), request, now=now, progress=bar)
        memories = _lessons(bank, bar) if tally.sessions or _is_left_over(bank, args) else []
        backlog = index_rest(bank, bar, later=args.index_later)
    _report(terminal, tally, memories, backlog, dry_run=False)
    tell_owed(backlog, terminal)
    return exit_code(backlog)


def _is_left_over(bank: ReasoningBank, args: Namespace) -> bool:
    """True if an earlier run was interrupted before it had learned; where a model distils, what waits is the
    model's.
    """
    usual = find_settings(location_of(args), from_environment(), config=args.config).distillation
    return usual.llm is None and bool(bank.jobs.tally().get("waiting"))


def _lessons(bank: ReasoningBank, bar: Bar) -> list[Remembered]:
    """Lessons of the waiting sessions, the surest first."""
    waiting = bank.jobs.tally().get("waiting", 0)
    count = 0
    bar.rename("learning")

    def note(attempt: Attempt) -> None:
        nonlocal count
        del attempt
        count += 1
        bar(count, waiting)

    summary = bank.jobs.distill(on_attempt=note)
    return sorted(map(bank.get, summary.memories), key=lambda item: (-item.confidence.low, -item.succeeded, item.id))


def _report(
    terminal: Terminal, tally: Backfilled, memories: Sequence[Remembered], backlog: Indexed, *, dry_run: bool
) -> None:
    lessons = Counter(item.namespace for item in memories)
    if terminal.as_json:
        terminal.json({**_as_json(tally, memories, lessons, dry_run=dry_run), "not_yet_indexed": backlog.owed})
        return
    verb = "would be read" if dry_run else "read"
    for namespace, sessions in sorted(tally.sessions.items(), key=lambda pair: -pair[1]):
        more = "" if dry_run else f", {figures.counted(lessons[namespace], 'lesson')}"
        terminal.say(
            f"{plain.one_line(namespace)}: {figures.counted(sessions, 'session')} {verb}, "
            f"{figures.counted(tally.tasks[namespace], 'task')}{more}"
        )
    # Only the surest: --json lists all.
    for item in memories[:5]:
        title = plain.one_line(headline(item.title, item.outcome))
        terminal.say(f"  {item.id}  {title} ({figures.confidence(item.confidence)})")
    total = figures.counted(sum(tally.sessions.values()), "session")
    terminal.tell(f"{total} {verb}, {tally.known:,} known, {len(tally.skipped):,} skipped.")
    for entry in tally.skipped[:_MOST_SKIPPED_SHOWN]:
        terminal.tell(f"skipped {plain.one_line(str(entry.path))}: {plain.one_line(entry.why)}")
    if len(tally.skipped) > _MOST_SKIPPED_SHOWN:
        terminal.tell(f"and {len(tally.skipped) - _MOST_SKIPPED_SHOWN:,} more; --json lists all.")


def _as_json(
    tally: Backfilled, memories: Sequence[Remembered], lessons: Counter[str], *, dry_run: bool
) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "namespaces": {
            namespace: {"sessions": sessions, "tasks": tally.tasks[namespace], "lessons": lessons[namespace]}
            for namespace, sessions in tally.sessions.items()
        },
        "known": tally.known,
        "learned": [
            {"id": item.id, "namespace": item.namespace, "title": item.title, "outcome": item.outcome}
            for item in memories
        ],
        "skipped": [{"path": str(item.path), "why": item.why} for item in tally.skipped],
    }


COMMANDS = {
    "backfill": Command(
        run=_run,
        options=_options,
        about="Each session belongs to the repository that it was held in, and is taken once, however often this runs "
        "and whatever hooks have captured. Distils without a model.",
    )
}
