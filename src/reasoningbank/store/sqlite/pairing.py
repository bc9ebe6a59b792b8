"""Checks that the file, its log and the note of what was acknowledged are of one bank.

Looked at before SQLite opens anything, because SQLite plays a log back into whatever file it finds. Only ever reads,
and reads the file through SQLite's own file layer: closing a descriptor of one's own would drop the locks that other
connections of this process hold on it.
"""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path

from reasoningbank.core.errors import BankReplaced
from reasoningbank.store.sqlite.acknowledged import AcknowledgedNote
from reasoningbank.store.sqlite.calls import open_raw
from reasoningbank.store.sqlite.stamps import FRAME_HEADER_BYTES, LOG_HEADER_BYTES, NOTHING, Log, Stamp, stamp_in

_LOOKS = 5
"""Number of looks at a pair: somebody who writes meanwhile may begin the log anew between two of them."""


class _File:
    """A bank's file as it lies on the disk, without its log."""

    def __init__(self, place: Path) -> None:
        self._file = open_raw(place)
        # SQLite calls a file of one byte empty.
        self.size = place.stat().st_size

    def read(self, size: int, at: int) -> bytes:
        return self._file.xRead(size, at) if at + size <= self.size else b""

    def close(self) -> None:
        self._file.xClose()


def read_file(place: Path, size: int, at: int) -> bytes:
    """Bytes of a file that may be open in this process; fewer, or none, where it ends before."""
    with closing(_File(place)) as file:
        return file.read(min(size, max(0, file.size - at)), at)


def _log_beside(place: Path) -> Path:
    return place.with_name(f"{place.name}-wal")


def log_bytes(place: Path) -> int:
    """Bytes of the log beside a bank that could hold a change."""
    try:
        size = _log_beside(place).stat().st_size
    except OSError:
        return 0
    return size if size > LOG_HEADER_BYTES + FRAME_HEADER_BYTES else 0


def check_pair(place: Path) -> None:
    """Raise if the log beside a bank belongs to another file, or to another state of this one."""
    if not log_bytes(place):
        return
    for _ in range(_LOOKS):
        try:
            descriptor = os.open(
                _log_beside(place), os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            )
        except FileNotFoundError:
            return
        try:
            verdict = _verdict(place, descriptor)
        finally:
            # A log is never locked, so closing it lets go of nothing.
            os.close(descriptor)
        if verdict is None:
            return
    raise BankReplaced(
        f"{_log_beside(place).name} beside {place} belongs to another file or to an earlier one: {verdict} Nothing was "
        f"opened or changed. To put a backup in its place, run 'reasoningbank recover BACKUP --bank {place}'; what is "
        "there is kept aside. To use the file without the log, move the log away."
    )


def _verdict(place: Path, descriptor: int) -> str | None:
    """The mismatch between a file and its log; None if they fit, or nobody can tell."""
    log = Log(lambda size, at: os.pread(descriptor, size, at))
    log.look()
    if not log.committed:
        return None
    with closing(_File(place)) as file:
        page = None if log.page is None else file.read(log.page_bytes, (log.page - 1) * log.page_bytes)
    there = None if page is None else stamp_in(page)
    if log.first is None:
        # Begun by a tool that knows no stamps.
        fits = True
    elif there is None:
        fits = log.first.previous == NOTHING
    else:
        fits = there.own == log.first.previous or there.own in log.names()
    if fits or not log.begins_whole() or os.pread(descriptor, LOG_HEADER_BYTES, 0) != log.header:
        return None
    return "the file was copied over or replaced, or the log was."


def check_head(place: Path, note: AcknowledgedNote | None, stamp: Stamp | None, head: int) -> None:
    """Raise if a bank ends before what was acknowledged to be in it."""
    if note is None or stamp is None or head >= note.head or stamp.own not in (note.stamp.own, note.stamp.previous):
        return
    raise BankReplaced(
        f"{place} ends at change {head:,}, and {note.head:,} were acknowledged: {_log_beside(place).name} was taken "
        "away or cut, or an older copy lies here. Put the log back if you have it; else run 'reasoningbank recover "
        f"BACKUP --bank {place}'. To go on with what is left, copy {place.name} elsewhere and recover from that copy."
    )


def check_log_is_not_alone(place: Path) -> None:
    """Raise if the file is gone or empty and its log is not: SQLite would throw the log away."""
    # Meanwhile somebody may make the bank, which has its first page before it has a log, or take it away with its log:
    # only a log that is there before and after is alone.
    if log_bytes(place) and not _file_bytes(place) and log_bytes(place):
        raise BankReplaced(
            f"{place} is {'empty' if place.exists() else 'gone'}, and its log {_log_beside(place).name} is still "
            f"there. Put the file back; or run 'reasoningbank recover BACKUP --bank {place}', which keeps the log "
            "aside; or move the log away to begin anew."
        )


def _file_bytes(place: Path) -> int:
    with suppress(FileNotFoundError):
        return place.stat().st_size
    return 0
