"""Captures sessions after their hooks: `python -m reasoningbank_coding_agents.capture_worker BANK [LOCK]`.

It belongs to nobody, runs at low priority, is the only one of its bank, and ends by itself: when nothing is left, or
when its time is up. It may be killed at any moment. A note is thrown away only when everything in it is kept; what was
kept and not noted is found again and known by its ids.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from reasoningbank.bank.bank import Bank
from reasoningbank.config import locate
from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank.core.types import USER_NAMESPACE
from reasoningbank.files import hold
from reasoningbank.location import Location
from reasoningbank.wiring import ReasoningBank
from reasoningbank.wiring.backends import backend_of
from reasoningbank.wiring.moved import open_where_it_is
from reasoningbank_coding_agents.capture_queue import CaptureNote, take_notes
from reasoningbank_coding_agents.capture_session import read_session
from reasoningbank_coding_agents.known_failures import refresh
from reasoningbank_coding_agents.rule_hearing import put_in_force
from reasoningbank_coding_agents.state_dir import StateDir, make_room, place_of

SOFT_LIMIT_S = 120.0
"""After which nothing new is begun."""
HARD_LIMIT_S = 180.0
NICENESS = 10
IDLE_S = 6 * 3600.0
"""A session without a word for so long is over, whether or not its agent said so."""
KEPT_DAYS = 60
MOST_FILES = 5_000
CATCH_UP_S = 5.0
"""Between two looks whether the time is up."""
PATIENCE_S = 7 * 86_400.0
"""How long a transcript that cannot be read is tried again."""


def main(arguments: Sequence[str]) -> int:
    bank_argument, *rest = arguments
    location = locate(bank_argument or None)
    watchdog = threading.Timer(HARD_LIMIT_S, os._exit, (0,))
    watchdog.daemon = True
    watchdog.start()
    with suppress(OSError, AttributeError):
        os.nice(NICENESS)
    place = place_of(location)
    make_room(place.work_lock)
    lock = int(rest[0]) if rest else hold(place.work_lock)
    began = time.monotonic()
    while lock is not None:
        try:
            work(location, place, clock=time.time, over=lambda: time.monotonic() - began > SOFT_LIMIT_S)
        finally:
            os.close(lock)
        # A hook that saw the lock held has left its note before this look, or finds the lock free after it.
        has_more = any((place.folder / "notes").glob("*.json"))
        lock = hold(place.work_lock) if has_more and time.monotonic() - began < SOFT_LIMIT_S else None
    return 0


def work(location: Location, place: StateDir, *, clock: Callable[[], float], over: Callable[[], bool]) -> None:
    """Read every session that waits, learn from what is new, and clear away what is old."""
    notes = take_notes(place)
    has_transcript = any(note.transcript and Path(note.transcript).is_file() for _, note in notes)
    if not has_transcript and not backend_of(location).exists(location):
        # Nothing to keep: no reason to make a bank.
        for path, _ in notes:
            path.unlink(missing_ok=True)
        return
    # What cannot be kept where the bank is now stays noted.
    with open_where_it_is(location) as bank:
        _read_noted(bank, place, notes, clock=clock, over=over)
        put_in_force(bank, place.every_unmarked(), clock())
        for note in _idle(place, clock()):
            with suppress(OSError, InvalidInput):
                read_session(bank, place, note, now=clock())
        learn(bank, over)
        index_rest(bank, over)
        for namespace in dict.fromkeys((*(note.namespace for _, note in notes), USER_NAMESPACE)):
            refresh(bank.context, place, namespace)
    tidy(place, clock())


def _read_noted(
    bank: Bank,
    place: StateDir,
    notes: Sequence[tuple[Path, CaptureNote]],
    *,
    clock: Callable[[], float],
    over: Callable[[], bool],
) -> None:
    """Read the sessions that notes name, and throw each note away when that is done."""
    for path, note in notes:
        if over():
            return
        try:
            read_session(bank, place, note, now=clock())
        except (FileNotFoundError, IsADirectoryError, InvalidInput):
            # Gone, or nothing that could be kept: another try would meet the same.
            pass
        except OSError as error:
            # A disk that is away may come back; what is no plain file becomes none.
            if error.errno != errno.EINVAL and abs(clock() - note.at) < PATIENCE_S:
                continue
        path.unlink(missing_ok=True)


def read_left(bank: Bank, place: StateDir) -> None:
    """Read what hooks noted and nobody has read yet, unless somebody is at it."""
    make_room(place.work_lock)
    lock = hold(place.work_lock)
    if lock is None:
        return
    try:
        notes = take_notes(place)
        _read_noted(bank, place, notes, clock=time.time, over=lambda: False)
    finally:
        os.close(lock)


def _idle(place: StateDir, now: float) -> list[CaptureNote]:
    """Sessions that went silent without an end, as notes that end them."""
    notes = []
    for path in (place.folder / "cursors").glob("*.json"):
        try:
            state = json.loads(path.read_text("utf-8"))
            # By the difference: a time far ahead was written by a clock that was wrong, and must not keep it open.
            if state["open"] and abs(now - float(state["at"])) > IDLE_S:
                notes.append(
                    CaptureNote(
                        agent=str(state["agent"]),
                        session=str(state["session"]),
                        transcript=str(state["transcript"]),
                        namespace=str(state["namespace"]),
                        ended=True,
                        at=now,
                        captured=state.get("captured") is True,
                        parent=str(state["parent"]) if state.get("parent") else None,
                    )
                )
        except (OSError, ValueError, TypeError, KeyError):
            continue
    return notes[:100]


def learn(bank: ReasoningBank, over: Callable[[], bool]) -> None:
    """Distil what waits, as this bank is set to."""
    from reasoningbank.learn.worker_pool import Shift

    crew = bank.jobs.crew(Shift(workers=1, threads=1))
    if crew is not None and not over():
        stop = threading.Timer(SOFT_LIMIT_S, crew.stop)
        stop.daemon = True
        stop.start()
        crew.run()
        stop.cancel()


def index_rest(bank: Bank, over: Callable[[], bool]) -> None:
    """Bring the index up to date, whoever wrote what it owes, so that no hook has to."""
    # What it cannot do now (a full disk, an embedder out of reach), the next one does.
    with suppress(BankError, OSError):
        while bank.index_lag() and not over() and not bank.catch_up(budget_s=CATCH_UP_S):
            pass


def tidy(place: StateDir, now: float) -> None:
    """Let go of sessions that nobody will come back to."""
    for name in ("sessions", "cursors", "heard", "troubles"):
        folder = place.folder / name
        files = sorted(folder.glob("*"), key=_changed_at) if folder.is_dir() else []
        surplus = max(0, len(files) - MOST_FILES)
        for number, path in enumerate(files):
            if number < surplus or now - _changed_at(path) > KEPT_DAYS * 86_400.0:
                path.unlink(missing_ok=True)


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
