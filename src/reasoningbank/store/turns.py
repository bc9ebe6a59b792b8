"""Turns at what is named: the right of one thread, among all processes of a machine, to write something of a bank.

For back ends that have no locks of their own to offer: a file for each name, which the kernel unlocks when its holder
dies, or the locks of one process for a bank in memory.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from reasoningbank.files import hold
from reasoningbank.forking import renew_in_child


class ThreadTurns:
    def __init__(self) -> None:
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    @contextmanager
    def take(self, name: str, wait_s: float) -> Iterator[bool]:
        lock = self._locks[name]
        has_lock = lock.acquire(timeout=max(0.0, wait_s))
        try:
            yield has_lock
        finally:
            if has_lock:
                lock.release()

    def is_taken(self, name: str) -> bool:
        """True if somebody holds it: nobody loses such a lock while he lives."""
        return self._locks[name].locked()


class FileTurns:
    """Locks in files, each of which is there only while somebody has its lock, or wants it."""

    def __init__(self, beside: Path) -> None:
        """`beside` is the path that the names of all these files begin with."""
        self._beside = beside
        self._held: dict[int, str] = {}
        renew_in_child(self._leave_to_parent)

    def _leave_to_parent(self) -> None:
        """Close what was inherited, in a child: that lets go of nothing there; keeping it open would hold it after
        the parent's end.
        """
        descriptors, self._held = self._held, {}
        for descriptor in descriptors:
            os.close(descriptor)

    def is_taken(self, name: str) -> bool:
        """True if this process has it: the kernel takes it from nobody who lives."""
        return name in self._held.values()

    @contextmanager
    def take(self, name: str, wait_s: float) -> Iterator[bool]:
        path = self._beside.with_name(f"{self._beside.name}-{name.replace('/', '_').replace(os.sep, '_')}")
        descriptor = self._lock(path, time.monotonic() + wait_s)
        if descriptor is None:
            yield False
            return
        self._held[descriptor] = name
        try:
            yield True
        finally:
            if descriptor in self._held:
                del self._held[descriptor]
                with suppress(OSError):
                    path.unlink()
                os.close(descriptor)

    def _lock(self, path: Path, deadline: float) -> int | None:
        while (descriptor := hold(path, deadline - time.monotonic())) is not None:
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
            # The one before removed its file between our opening and locking it.
            os.close(descriptor)
        return None
