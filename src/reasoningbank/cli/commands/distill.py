"""`distill`: work off the finished sessions, once or for as long as the process lives."""

from __future__ import annotations

import signal
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from reasoningbank.bank.json_view import distilled_json
from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import PROGRAM, Command
from reasoningbank.cli.indexing import Indexed, add_index_later, exit_code, index_rest, tell_owed
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.settings import DistillationSettings
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank.core.wording import headline
from reasoningbank.learn.jobs import Distilled
from reasoningbank.learn.worker_pool import BATCH, WORKERS, Shift
from reasoningbank.plugins import plugins
from reasoningbank.wiring import ReasoningBank

if TYPE_CHECKING:
    from reasoningbank.learn.worker import Attempt

_MOST_WORKERS = 64
_MOST_NAMED = 10
_MOST_REASONS = 3


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--watch", action="store_true", help="go on when nothing is left, until interrupted")
    parser.add_argument(
        "--workers", type=int, metavar="N", help=f"how many work side by side (default {WORKERS}, or as configured)"
    )
    parser.add_argument(
        "--batch", type=int, metavar="N", help=f"jobs that each has in hand (default {BATCH}, or as configured)"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="stop after this many jobs")
    add_index_later(parser)


def _run(args: Namespace, terminal: Terminal) -> int:
    for name in ("workers", "batch"):
        if getattr(args, name) is not None and not 1 <= getattr(args, name) <= _MOST_WORKERS:
            raise InvalidInput(f"--{name} must be from 1 to {_MOST_WORKERS}, not {getattr(args, name)}.")
    if args.limit is not None and args.limit < 1:
        raise InvalidInput(f"--limit must be from 1 on, not {args.limit}.")
    with open_bank(args) as handle:
        shift = _shift(args, handle.bank.settings.distillation)
        # A watch on a bank that is not there yet would watch a stand-in that nobody else can write to.
        if handle.missing and args.watch:
            raise InvalidInput(f"There is no bank at {handle.location} to watch: end a session first.")
        if not handle.missing:
            for plugin in plugins("backlogs").values():
                plugin.load()(handle.bank, handle.location)
        with _indexing_meanwhile(handle.bank, is_enabled=shift.watch and not args.index_later):
            summary = _distill(handle.bank, shift, terminal)
        backlog = Indexed(owed=0)
        if summary.memories and not shift.watch:
            with Bar(terminal, "indexing") as bar:
                backlog = index_rest(handle.bank, bar, later=args.index_later)
        if terminal.as_json:
            about = {"distiller": handle.bank.learning.distiller, "not_yet_indexed": backlog.owed}
            terminal.json({**distilled_json(summary), **about})
        else:
            _tell(handle.bank, summary, terminal)
        tell_owed(backlog, terminal)
    return exit_code(backlog)


@contextmanager
def _indexing_meanwhile(bank: ReasoningBank, *, is_enabled: bool) -> Iterator[None]:
    """A process that is there all the time keeps the index up to date too, whoever writes."""
    if not is_enabled:
        yield
        return
    from reasoningbank.serve.idle_index import IdleIndexer

    indexer = IdleIndexer(bank, make_way=lambda _: None)
    indexer.start()
    try:
        yield
    finally:
        indexer.close()


def _shift(args: Namespace, settings: DistillationSettings) -> Shift:
    return Shift(
        workers=args.workers or max(1, settings.workers),
        batch=args.batch or settings.batch,
        watch=args.watch,
        most=args.limit,
    )


def _distill(bank: ReasoningBank, shift: Shift, terminal: Terminal) -> Distilled:
    count = 0
    with Bar(terminal, "distilling") as bar:

        def note(attempt: Attempt) -> None:
            nonlocal count
            count += 1
            bar(count)
            if shift.watch:
                _tell_attempt(attempt, terminal)

        def tidy() -> None:
            consolidation = bank.consolidate(namespace=EVERY_NAMESPACE, if_due=True)
            if consolidation.run is not None:
                terminal.tell(f"{consolidation.run}  consolidated: {figures.counted(consolidation.applied, 'change')}")

        crew = bank.jobs.crew(shift, on_attempt=note, when_idle=tidy)
        if crew is None:
            return Distilled(attempts=(), memories=(), waiting=bank.jobs.tally().get("waiting", 0))

        def stop(number: int, frame: FrameType | None) -> None:
            del number, frame
            crew.stop()

        before = signal.signal(signal.SIGTERM, stop)
        try:
            crew.run()
        except KeyboardInterrupt:
            if not shift.watch:
                raise
        finally:
            signal.signal(signal.SIGTERM, before)
    return bank.jobs.summary(crew.attempts)


def _tell_attempt(attempt: Attempt, terminal: Terminal) -> None:
    message = figures.counted(len(attempt.memories), "memory", "memories")
    message = f"nothing learned. {_reasons(attempt)}" if attempt.left_out else message
    terminal.tell(f"{attempt.job_id}  {attempt.end}: {plain.one_line(attempt.error) if attempt.error else message}")


def _tell(bank: ReasoningBank, summary: Distilled, terminal: Terminal) -> None:
    for memory_id in summary.memories:
        memory = bank.get(memory_id)
        terminal.say(f"{memory_id}  {plain.one_line(headline(memory.title, memory.outcome))}")
    if not summary.attempts and not summary.waiting:
        terminal.tell(
            f"Nothing to distil: `{PROGRAM} session end` and `{PROGRAM} ingest` leave sessions to learn from."
        )
        return
    sessions = figures.counted(summary.count("done"), "session")
    memories = figures.counted(len(summary.memories), "memory", "memories")
    terminal.tell(f"{sessions} distilled; {memories} learned or confirmed (distiller: {bank.learning.distiller}).")
    for attempt in [a for a in summary.attempts if a.error][:_MOST_NAMED]:
        terminal.tell(f"{attempt.job_id}: {attempt.end}. {plain.one_line(attempt.error)}")
    for attempt in [a for a in summary.attempts if a.left_out][:_MOST_NAMED]:
        terminal.tell(f"{attempt.job_id}: nothing learned. {_reasons(attempt)}")
    if summary.waiting:
        if bank.learning.teachers():
            hint = f"; `{PROGRAM} jobs list --state waiting` says why"
        else:
            hint = f"; nobody distils here ({bank.learning.distiller}): `{PROGRAM} jobs next` hands out one"
        terminal.tell(f"{figures.counted(summary.waiting, 'session')} left to distil{hint}.")


def _reasons(attempt: Attempt) -> str:
    reasons = [f"{plain.one_line(item.what)}: {plain.one_line(item.why)}" for item in attempt.left_out[:_MOST_REASONS]]
    return "; ".join(reasons) + "."


COMMANDS = {
    "distill": Command(
        run=_run,
        options=_options,
        about="Jobs are leased, so any number of these may run at once and be killed at any moment. "
        "REASONINGBANK_LLM and REASONINGBANK_DISTILLER, or [distillation] of config.toml, say who distils.",
    )
}
