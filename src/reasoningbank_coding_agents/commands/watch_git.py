"""`watch-git`: commits that lasted or were taken back become evidence, once or for as long as the process lives."""

from __future__ import annotations

import signal
import threading
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import FrameType
from typing import Any

from reasoningbank.cli import figures, plain
from reasoningbank.cli.banks import existing
from reasoningbank.cli.command import Command
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import project_of
from reasoningbank.core.errors import InvalidInput
from reasoningbank.learn.stability import Fate, SettledCommit, committing_sessions, settle
from reasoningbank.wiring import ReasoningBank
from reasoningbank_coding_agents.git.commit_survival import fate_of
from reasoningbank_coding_agents.git.repository import Repository

_DAYS = 7.0
_EVERY_S = 600.0


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("repository", metavar="REPO", nargs="?", default=".", help="a folder in it (default: this one)")
    parser.add_argument(
        "--days", type=float, default=_DAYS, metavar="N", help="what lasted this long, lasts (default 7)"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="look once (the default)")
    how.add_argument("--watch", action="store_true", help="look again every ten minutes, until interrupted")
    parser.add_argument("--dry-run", action="store_true", help="say what would be noted, and note nothing")


def _run(args: Namespace, terminal: Terminal) -> int:
    if not args.days > 0:
        raise InvalidInput(f"--days must be more than 0, not {args.days:g}.")
    repository = Repository(Path(args.repository).expanduser())
    namespace = args.namespace or project_of(repository.folder.resolve(), remember=True).namespace
    with existing(args) as bank:
        if args.watch:
            _watch(bank, repository, namespace, args, terminal)
        else:
            _look(bank, repository, namespace, args, terminal)
    return 0


def _watch(bank: ReasoningBank, repository: Repository, namespace: str, args: Namespace, terminal: Terminal) -> None:
    over = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        over.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        while not over.is_set():
            # Another object each time: one remembers what it was told.
            _look(bank, Repository(repository.folder), namespace, args, terminal)
            over.wait(_EVERY_S)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _look(bank: ReasoningBank, repository: Repository, namespace: str, args: Namespace, terminal: Terminal) -> None:
    now = time.time()
    settlements = [
        settle(
            bank.context,
            trajectory,
            commits,
            lambda commit: fate_of(repository, commit, days=args.days, now=now),
            dry_run=args.dry_run,
        )
        for trajectory, commits in committing_sessions(bank.context, namespace)
    ]
    if terminal.as_json:
        terminal.json(
            {
                "namespace": namespace,
                "dry_run": args.dry_run,
                "sessions": [_as_json(settlement) for settlement in settlements],
            }
        )
        return
    for settlement in settlements:
        if settlement.signals:
            against = "against" if settlement.fate is Fate.REVERTED else "for"
            memories = figures.counted(len(settlement.signals), "memory", "memories")
            terminal.say(
                f"{settlement.trajectory.id}  {settlement.commit[:12]} {settlement.fate}: evidence {against} {memories}"
            )
    tally = {fate: sum(settlement.fate is fate for settlement in settlements) for fate in Fate}
    signal_count = sum(len(settlement.signals) for settlement in settlements)
    verb = "would be noted" if args.dry_run else "noted"
    terminal.tell(
        f"{figures.counted(len(settlements), 'session')} with commits in {plain.one_line(namespace)}: "
        + ", ".join(f"{count:,} {fate}" for fate, count in tally.items())
        + f"; {figures.counted(signal_count, 'signal')} {verb}."
    )


def _as_json(settlement: SettledCommit) -> dict[str, Any]:
    return {
        "session": settlement.trajectory.id,
        "commit": settlement.commit,
        "fate": settlement.fate,
        "signals": [
            {"memory_id": item.memory_id, "positive": item.positive, "weight": item.weight}
            for item in settlement.signals
        ],
    }


COMMANDS = {
    "watch-git": Command(
        run=_run,
        options=_options,
        about="A commit that a session made and that still stands after a week speaks for the memories the session was "
        "shown, one that was reverted speaks against them. Rebased and squashed commits are unknown. Looking again "
        "adds nothing.",
    )
}
