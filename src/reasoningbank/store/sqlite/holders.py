"""Finds who has a bank open: connections of this process by name, other processes by the locks they hold.

A connection to a bank with a log keeps a shared lock on its file for as long as it is open. Whoever holds the whole
range of these locks alone knows that nobody else is there, and nobody comes in until he lets go.
"""

from __future__ import annotations

import os
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reasoningbank.core.errors import BankBusy

if sys.platform != "win32":
    import fcntl

_SHARED_FIRST = 0x40000002
_SHARED_BYTES = 510
"""The bytes where SQLite keeps its shared locks in every file."""
_FLOCK = struct.Struct("hhqqi")

_open_here: Counter[str] = Counter()


def note_opened(place: Path) -> None:
    _open_here[os.path.realpath(place)] += 1


def note_closed(place: Path) -> None:
    file = os.path.realpath(place)
    _open_here[file] -= 1
    if _open_here[file] <= 0:
        del _open_here[file]


def open_here() -> int:
    """Number of times that this process has a bank open."""
    return _open_here.total()


def check_not_open_here(place: Path) -> None:
    if _open_here[os.path.realpath(place)] > 0:
        raise BankBusy(f"This process has {place} open itself: close the bank before it is replaced.")


@contextmanager
def held_alone(place: Path) -> Iterator[None]:
    """Keep everybody out of a bank's file. SQLite must not be used on it here meanwhile: closing it would let go."""
    check_not_open_here(place)
    if sys.platform == "win32" or not place.exists():
        # Elsewhere a file that somebody has open cannot be replaced anyway.
        yield
        return
    descriptor = os.open(place, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_BYTES, _SHARED_FIRST)
        except OSError as error:
            raise BankBusy(
                f"{_holder(descriptor)} has {place} open. Stop it (a server, an agent's session, another command) and "
                "run this again; nothing was changed."
            ) from error
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    if not sys.platform.startswith("linux"):
        return "Another process"
    request = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _SHARED_FIRST, _SHARED_BYTES, 0)
    kind, _, _, _, process = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, request)[: _FLOCK.size])
    return f"Process {process}" if kind != fcntl.F_UNLCK and process > 0 else "Another process"
