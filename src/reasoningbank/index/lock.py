"""Writer lock of an index: one thread of one process at a time.

The lock file tells whether its last holder let go in good order. Independent of what is being protected. The kernel
drops the lock when a holder dies, however it dies; the byte in the file then tells the next one to clear up.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from reasoningbank.files import lock_until, open_lock, unlock
from reasoningbank.forking import renew_in_child
from reasoningbank.index.durable import full_disk_is_an_error

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
        has_lock = False
        try:
            if self._thread_lock.acquire(timeout=max(0.0, wait_s)):
                self._descriptor = open_lock(self._path)
                has_lock = lock_until(self._descriptor, deadline)
        finally:
            # An interrupt may have come before or after the threads' own lock was granted.
            if not has_lock and self._thread_lock._is_owned():  # noqa: SLF001
                self._let_go()
        if has_lock:
            self._owner = threading.get_ident()
        return has_lock

    def _let_go(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
        self._thread_lock.release()

    def left_in_disorder(self) -> bool:
        """True if the holder before us died while it held the lock. Marks the lock as held by us."""
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
        unlock(self._descriptor)
        self._let_go()

    def _mark(self, value: bytes) -> None:
        assert self._descriptor is not None
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, value)
