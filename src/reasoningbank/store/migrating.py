"""Move a bank from any store to any other while others read and write it: copy, catch up, compare, close, open.

Stages, and what a kill leaves in each:
- filling: rows are brought over, moment after moment, until little is left. The source is the bank. The target is
  closed to everybody and notes how far it is; the next run goes on from there.
- comparing: one moment of the source, row by row, with what came over of it. As above.
- closing: one transaction at the source keeps writers waiting, brings the last changes over, compares those, and closes
  the source. Before its commit the source is the bank; from its commit on the target is, and holds everything.
- opening: the target forgets that it was filled. Killed before that, both are closed, and the next run opens it.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from reasoningbank.core.errors import BankBusy, BankDamaged, Conflict, InvalidInput
from reasoningbank.store import feed
from reasoningbank.store.catching_up import NOTE, OWN_SETTINGS, Catching, CopyNote
from reasoningbank.store.closed import check_whole, close_as_moved, close_while_filling, moved_to, open_again
from reasoningbank.store.row_copy import check_equal, count_all_rows, count_rows
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.tables import FEED, SETTINGS, TABLES, TOKENS, IfTaken

if TYPE_CHECKING:
    from reasoningbank.ports import Edits
    from reasoningbank.store.engine import Engine, RowTransaction

LITTLE_S = 1.0
"""Most seconds of a short round of catching up: then writers may be kept waiting for the last one."""
KEEP_WAITING_S = 10.0
"""Longest wait of a writer; after that writers go on, and it is tried again."""
ANOTHER_WITHIN_S = 5.0
"""Longest wait for another process that moves one of both banks, or for the server to notice its end."""


class Watch(Protocol):
    """Who watches: told of each stage, and how far that is."""

    def rename(self, label: str) -> None: ...

    def __call__(self, count: int, total: int, /) -> None: ...


class Migrated(NamedTuple):
    rows: int
    went_on: bool
    """True if a copy that was begun before was finished."""
    meanwhile: int = 0
    """Changes that came to the source while it was copied, and were taken along."""
    waited_s: float = 0.0
    """Seconds that writers were kept waiting."""
    was_done: bool = False
    """True if an earlier run has moved it there already."""


class _TookTooLong(Exception):
    pass


class Migration:
    """One bank on its way. `settings` are rewritten at the target; `before_opening` runs once it holds everything."""

    def __init__(
        self,
        source: Engine,
        target: Engine,
        settings: Edits,
        *,
        watch: Watch | None = None,
        before_opening: Callable[[], object] = lambda: None,
    ) -> None:
        self._source = source
        self._target = target
        self._from, self._to = str(source.info.location), str(target.info.location)
        self._settings = settings
        self._watch = watch
        self._before_opening = before_opening
        self._done = self._total = 0
        self._deadline: float | None = None

    def rehearse(self) -> Migrated:
        """Say what would be done."""
        if self._is_done():
            return Migrated(0, went_on=False, was_done=True)
        self._check_here()
        note = self._note_of_before()
        with self._source.read(None) as rows:
            return Migrated(count_all_rows(rows), note is not None)

    def run(self) -> Migrated:
        with _moving_alone(self._source, self._target):
            return self._run()

    def _run(self) -> Migrated:
        if self._is_done():
            return Migrated(0, went_on=False, was_done=True)
        gone_to = self._check_here()
        note = self._note_of_before()
        went_on = note is not None
        copy = Catching(self._target, note or self._begin(), self._tick)
        head = copy.note.heeded
        self._round(copy, "copying")
        self._catch_up(copy)
        rows_compared = self._compare(copy)
        self._catch_up(copy)
        waited_s = self._close(copy) if gone_to is None else 0.0
        self._deadline = None
        self._begin_stage("opening", 1)
        meanwhile = copy.note.heeded - head
        self._before_opening()
        self._target.write(None, self._open)
        return Migrated(rows_compared, went_on, meanwhile, waited_s)

    def _is_done(self) -> bool:
        """True if the target is the bank that the source was moved to: it holds all that the source has seen."""
        with self._source.read(None) as rows:
            gone_to = moved_to(rows)
        if gone_to != self._to or CopyNote.find(self._target) is not None:
            return False
        return feed.head(self._target) >= feed.head(self._source)

    def _check_here(self) -> str | None:
        """The place that the source was moved to by a run that was killed before it opened the target; else None."""
        with self._source.read(None) as rows:
            check_whole(rows, self._from)
            gone_to = moved_to(rows)
        if gone_to is not None and (gone_to != self._to or CopyNote.find(self._target) is None):
            raise InvalidInput(f"{self._from} was moved to {gone_to} already: name that bank.")
        return gone_to

    # ------------------------------------------------------------ filling

    def _note_of_before(self) -> CopyNote | None:
        """Progress of a copy of this bank; None if it is to begin. A bank with something of its own is refused."""
        note = CopyNote.find(self._target)
        if note is not None:
            return note if note.origin == self._from else None
        with self._target.read(None) as rows:
            is_in_use = count_rows(rows, FEED) or count_rows(rows, TOKENS)
            if is_in_use and moved_to(rows) != self._from:
                raise InvalidInput(f"{self._to} holds a bank already. Name a new place, or remove that bank first.")
        return None

    def _begin(self) -> CopyNote:
        # What changes from here on is taken over again, wherever the copy is then.
        note = CopyNote(origin=self._from, heeded=feed.head(self._source))

        def empty(rows: RowTransaction) -> None:
            rows.take_over()
            for table in reversed(TABLES):
                rows.delete(table, ())
            close_while_filling(rows, self._from)
            note.put(rows)

        self._target.write(None, empty)
        return note

    def _catch_up(self, copy: Catching) -> None:
        # A source that is written to all the time is never caught up with: the rest comes while its writers wait.
        for _ in range(12):
            if self._round(copy, "catching up") < LITTLE_S:
                return

    def _round(self, copy: Catching, label: str) -> float:
        """Bring a moment of the source over; returns how long it took."""
        with self._source.read(None) as rows, self._target.read(None) as there:
            total = count_all_rows(rows)
            self._begin_stage(label, total, start=min(total, count_all_rows(there)))
        began = time.monotonic()
        with self._source.read(None) as rows:
            copy.catch_up(rows)
        return time.monotonic() - began

    def _compare(self, copy: Catching) -> int:
        with self._source.read(None) as rows:
            copy.catch_up(rows)
            self._begin_stage("comparing", 0)
            try:
                with self._target.read(None) as target_rows:
                    return check_equal(rows, target_rows, self._to, settings_but=OWN_SETTINGS, progress=self._watch)
            except BankDamaged as error:
                raise self._give_up(error) from error

    def _give_up(self, error: BankDamaged) -> BankDamaged:
        """Begin a copy anew that is not what it should be; returns the error to raise."""
        self._begin()
        return BankDamaged(f"{error} {self._from} is as it was. Run it again: it begins anew.")

    # ------------------------------------------------------------ closing, opening

    def _close(self, copy: Catching) -> float:
        """Bring the last changes over while writers wait, and close the source; says how long they waited."""
        for _ in range(3):
            self._begin_stage("the last changes", 1)
            began = time.monotonic()
            try:
                self._source.write(None, lambda rows: self._close_in(rows, copy), alone=True)
                return time.monotonic() - began
            except _TookTooLong:
                self._deadline = None
                self._catch_up(copy)
            except BankDamaged as error:
                raise self._give_up(error) from error
        raise BankBusy(
            f"So much is written to {self._from} that the last changes do not come over within {KEEP_WAITING_S:g} s. "
            "Nothing is lost and it stays the bank: run it again, which goes on, when less is written."
        )

    def _close_in(self, rows: RowTransaction, copy: Catching) -> None:
        rows.take_over()
        self._deadline = time.monotonic() + KEEP_WAITING_S
        copy.check_recent(rows, copy.catch_up(rows))
        close_as_moved(rows, self._to)

    def _open(self, rows: RowTransaction) -> None:
        rows.take_over()
        for name, rewritten in self._settings.items():
            for (value,) in list(rows.scan(Selection(SETTINGS, ("value",), equal(name=name)))):
                rows.put(SETTINGS, [(name, rewritten(str(value)))], IfTaken.REPLACE)
        rows.delete(SETTINGS, equal(name=NOTE))
        open_again(rows)

    # ------------------------------------------------------------ telling

    def _begin_stage(self, label: str, total: int, *, start: int = 0) -> None:
        self._done, self._total = start, total
        if self._watch is not None:
            self._watch.rename(label)

    def _tick(self, rows: int) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise _TookTooLong
        self._done = min(self._done + rows, self._total)
        if self._watch is not None and rows:
            self._watch(self._done, self._total)


def undo(source: Engine, target: Engine | None, rewritten: Iterable[str]) -> None:
    """Make a bank that was moved the bank again. The target, if there is one, must hold nothing new, but for settings
    that were `rewritten` there, and is closed.
    """
    place = str(source.info.location)

    def reopen(bank_rows: RowTransaction) -> None:
        bank_rows.take_over()
        open_again(bank_rows)

    with _moving_alone(*([source] if target is None else [source, target])):
        with source.read(None) as rows:
            gone_to = moved_to(rows)
            if gone_to is None:
                raise InvalidInput(f"{place} was not moved: there is nothing to undo.")
            if target is not None:
                _close_unchanged(rows, target, place, rewritten)
        source.write(None, reopen)


@contextmanager
def _moving_alone(*banks: Engine) -> Iterator[None]:
    """Keep other processes from moving one of these banks: two that fill one place would empty it for each other,
    even after one of them has opened it.
    """
    with ExitStack() as turns:
        for bank in banks:
            if not turns.enter_context(bank.turn("migrate", ANOTHER_WITHIN_S)):
                raise BankBusy(
                    f"{bank.info.location} is being moved by another process. Nothing was changed here: run it again "
                    "when that is done."
                )
        yield


def _close_unchanged(rows: RowTransaction, target: Engine, back_to: str, rewritten: Iterable[str]) -> None:
    there = str(target.info.location)

    def close(target_rows: RowTransaction) -> None:
        target_rows.take_over()
        if CopyNote.find(target) is not None or moved_to(target_rows) == back_to:
            return  # it was never opened, or is closed already
        try:
            check_equal(rows, target_rows, there, settings_but={*OWN_SETTINGS, *rewritten})
        except BankDamaged:
            raise Conflict(
                f"{there} has changed since it took over. `reasoningbank migrate {shlex.quote(there)} "
                f"{shlex.quote(back_to)}` brings the bank back with what is new there; without it: name only the bank "
                "that was moved."
            ) from None
        close_as_moved(target_rows, back_to)

    target.write(None, close, alone=True)
