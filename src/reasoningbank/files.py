"""Files on a disk, for every room that has some: plain files read within a limit, whole files, durable names, locks.

Descriptors, renames and what must be synced; independent of what is in a file.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, FileIO
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PRIVATE_MODE = 0o600
ORDINARY_MODE = 0o666
"""As far as the user's own mask allows."""
MOST_TEXT_BYTES = 1_000_000
"""Far more than settings, pointers and notes have that a person or a program writes by hand."""
_OPEN_PLAIN = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip
_OPEN_LOCK = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_LOCKED_BYTE = 1024
"""Windows refuses reads of a locked byte, so the lock sits beyond whatever a lock file says."""
_FIRST_PAUSE_S = 0.0005
_LONGEST_PAUSE_S = 0.005


def open_plain(path: Path | str) -> BufferedReader:
    """A plain file to read. Raises OSError for a device, a FIFO or a folder, and waits for none of them.

    Whoever made a folder chose what is under its names: `/dev/zero` never ends, and a FIFO never begins.
    """
    descriptor = os.open(path, _OPEN_PLAIN)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, "it is not a plain file", str(path))
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path | str, most_bytes: int = MOST_TEXT_BYTES) -> bytes:
    """The bytes of a plain file. Raises OSError for anything else, and for a file that is larger."""
    with open_plain(path) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than the {most_bytes:,} bytes that are read", str(path))
    return data


@contextmanager
def whole_file(
    path: Path, *, draft: Path | None = None, mode: int = PRIVATE_MODE, durable: bool = True
) -> Iterator[BinaryIO]:
    """A file to write that is under its name, whole, when the block has ended, or not at all.

    `durable` syncs its bytes first; its name is durable once `sync_folder` was called.
    """
    draft = draft or path.with_name(f".{path.name}.{os.getpid()}")
    # One that is there was left by a process that was killed.
    draft.unlink(missing_ok=True)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(draft, flags, mode), "wb") as file:
            yield file
            file.flush()
            if durable:
                sync(file.fileno())
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def make_private_folder(path: Path) -> list[Path]:
    """Make a folder, and those above it that are missing, for this user only; gives those that were missing."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        # One by one: of several that are missing, `parents` would give the mode to the last.
        folder.mkdir(mode=0o700, exist_ok=True)
    return missing


def sync(descriptor: int) -> None:
    """Make the bytes of a file durable."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_folder(path: Path) -> None:
    """Make new names in a folder durable, where the system can and this user may look into it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_owned(path: Path | str, flags: int) -> FileIO:
    """Open until it is closed, or nobody has it any more. It is in nobody's hands for no step of the interpreter, so
    that no interrupt leaves it open.
    """
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    [file] = map(FileIO, map(os.open, [path], [flags], [PRIVATE_MODE]), ["r+" if flags & os.O_RDWR else "r"])
    return file


def open_lock(path: Path) -> int:
    """A descriptor of a lock file, not locked yet. The kernel lets go of its lock when the last holder of it ends."""
    return os.open(path, _OPEN_LOCK, PRIVATE_MODE)


def hold(path: Path, wait_s: float = 0.0) -> int | None:
    """The descriptor that holds the lock, or None when somebody else kept it for so long. Close it to let go.

    On POSIX a held descriptor may be handed to a child, which then holds the lock.
    """
    descriptor = open_lock(path)
    if lock_until(descriptor, time.monotonic() + wait_s):
        return descriptor
    os.close(descriptor)
    return None


def lock_until(descriptor: int, deadline: float) -> bool:
    """Wait for the lock of a file until a moment of the monotonic clock; False when it was not granted."""
    pause_s = _FIRST_PAUSE_S
    while not _try_lock(descriptor):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        time.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
    return True


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def unlock(descriptor: int) -> None:
    if sys.platform == "win32":
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
