"""A lock file: one holder at a time, let go by the kernel when the holder dies, however it dies.

Knows files and descriptors. On POSIX a held descriptor may be handed to a child, which then holds the lock.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PAUSE_S = 0.003


def hold(path: Path, wait_s: float = 0.0) -> int | None:
    """The descriptor that holds the lock, or None when somebody else kept it for so long. Close it to let go."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    deadline = time.monotonic() + wait_s
    while not _take(descriptor):
        if time.monotonic() >= deadline:
            os.close(descriptor)
            return None
        time.sleep(_PAUSE_S)
    return descriptor


def _take(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, 1 << 30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
