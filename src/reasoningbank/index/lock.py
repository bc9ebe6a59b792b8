"""Who may write an index: one thread of one process at a time.

Knows the lock file and whether its last holder let go in good order. Refuses to know what is being protected. The
kernel drops the lock when a holder dies, however it dies; the byte in the file then tells the next one to clear up.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from reasoningbank.core.failure import OnError
from reasoningbank.forking import renew_in_child
from reasoningbank.index.durable import full_disk_is_an_error

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FIRST_PAUSE_S = 0.0005
_LONGEST_PAUSE_S = 0.02
_CLEAN, _HELD = b"0", b"1"


class WriterLock:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread_lock: Any = threading.RLock()
        self._descriptor: int | None = None
        self._owner: int | None = None
        renew_in_child(self._leave_to_parent)

    def _leave_to_parent(self) -> None:
        """In a child: the lock is the parent's. Letting go of it here would let go of it there; closing does not, and
        not closing would keep it held after the parent's end.
        """
        descriptor, self._descriptor, self._owner = self._descriptor, None, None
        self._thread_lock = threading.RLock()
        if descriptor is not None:
            os.close(descriptor)

    @property
    def held(self) -> bool:
        return self._owner == threading.get_ident()

    def acquire(self, wait_s: float) -> bool:
        if self.held:
            return False
        deadline = time.monotonic() + wait_s
        with OnError(self._give_up):
            if not self._thread_lock.acquire(timeout=max(0.0, wait_s)):
                return False
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            granted = _lock_until(self._descriptor, deadline)
        if granted:
            self._owner = threading.get_ident()
        else:
            self._let_go()
        return granted

    def _give_up(self, _: BaseException) -> None:
        if self._thread_lock._is_owned():  # noqa: SLF001 - an interrupt may have come before or after it was granted
            self._let_go()

    def _let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
        self._thread_lock.release()

    def left_in_disorder(self) -> bool:
        """Whether the holder before us died while it held the lock. Marks the lock as held by us."""
        assert self._descriptor is not None
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        before = os.read(self._descriptor, 1)
        with full_disk_is_an_error(self._path):
            self._mark(_HELD)
        return before == _HELD

    def release(self, *, in_order: bool) -> None:
        if self._descriptor is None:
            # This process was forked meanwhile, and the lock is its parent's.
            return
        if in_order:
            # A disk without room for one byte: the next holder clears up for nothing, which does no harm.
            with suppress(OSError):
                self._mark(_CLEAN)
        self._owner = None
        _unlock(self._descriptor)
        self._let_go()

    def _mark(self, value: bytes) -> None:
        assert self._descriptor is not None
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, value)


def _lock_until(descriptor: int, deadline: float) -> bool:
    pause_s = _FIRST_PAUSE_S
    while not _try_lock(descriptor):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
    return True


class PassingLock(WriterLock):
    """A lock whose file is there only while somebody has it, or wants it."""

    def acquire(self, wait_s: float) -> bool:
        deadline = time.monotonic() + wait_s
        while super().acquire(max(0.0, deadline - time.monotonic())):
            if self._is_of_the_file():
                return True
            # The one before removed its file between our opening and locking it.
            super().release(in_order=False)
        return False

    def release(self, *, in_order: bool) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                self._path.unlink()
        super().release(in_order=in_order)

    def _mark(self, value: bytes) -> None:
        """Nothing is left in a file that goes."""

    def _is_of_the_file(self) -> bool:
        assert self._descriptor is not None
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except FileNotFoundError:
            return False


if sys.platform == "win32":
    # Windows refuses reads of a locked byte, so the lock sits beyond the byte that says how it was left.
    _LOCKED_BYTE = 1024

    def _try_lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
