"""Copy a bank while others write to it, durably and without leaving anything half done.

A copy is made under a passing name, synced, and only then given its own. Whoever makes one holds a lock on the passing
file; one that nobody holds was left by a process that died, and the next copy into that folder removes it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from reasoningbank.core.errors import InvalidInput
from reasoningbank.files import PRIVATE_MODE, sync_folder
from reasoningbank.forking import unforked
from reasoningbank.store.sqlite.calls import close, connect
from reasoningbank.store.sqlite.durable import sync_file
from reasoningbank.store.sqlite.stamps import renew_stamp

if sys.platform != "win32":
    import fcntl

PAGES_PER_STEP = 256
Progress = Callable[[int, int], None]


def copy_to(source: apsw.Connection, target: Path, progress: Progress | None) -> None:
    """Copy a bank. The copy appears under its name only when it is whole, and is there to stay when this returns."""
    if target.exists():
        raise InvalidInput(f"{target} exists already. Name a new file, so that no backup is overwritten.")
    with passing_file(target) as partial:
        fill(partial, source, progress)
        sync_file(partial)
        partial.replace(target)
        sync_folder(target.parent)


def fill(partial: Path, source: apsw.Connection, progress: Progress | None) -> None:
    """Fill a file with all that a bank holds, with a stamp that no log knows."""
    copy = connect(partial.absolute().as_uri())
    try:
        # Inside a read transaction the source stands still, so that busy writers cannot make the copy start over.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM settings").fetchall()
        with copy.backup("main", source, "main") as work:
            while not work.done:
                with unforked():
                    work.step(PAGES_PER_STEP)
                if progress is not None:
                    progress(work.page_count - work.remaining, work.page_count)
        copy.execute("PRAGMA journal_mode = DELETE")
        renew_stamp(copy, fresh=True)
    finally:
        if source.in_transaction:
            source.execute("ROLLBACK")
        close(copy)


@contextmanager
def passing_file(target: Path) -> Iterator[Path]:
    """A name to fill, gone at the end unless it was given another; what dead processes left there is removed."""
    remove_abandoned(target.parent)
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}-{os.urandom(3).hex()}")
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), PRIVATE_MODE)
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield partial
    finally:
        for name in (partial, Path(f"{partial}-journal"), Path(f"{partial}-wal"), Path(f"{partial}-shm")):
            with suppress(OSError):
                name.unlink(missing_ok=True)
        os.close(descriptor)


def remove_abandoned(folder: Path) -> None:
    for partial in abandoned_in(folder):
        for name in (partial, Path(f"{partial}-journal"), Path(f"{partial}-wal"), Path(f"{partial}-shm")):
            with suppress(OSError):
                name.unlink(missing_ok=True)


def abandoned_in(folder: Path) -> Iterator[Path]:
    """Copies in a folder whose process is gone; nobody else takes one while it is looked at."""
    if sys.platform == "win32":
        return
    for partial in folder.glob("*.partial-*-??????"):
        # Someone else's, or gone meanwhile: not ours.
        with suppress(OSError):
            descriptor = os.open(partial, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield partial
            finally:
                os.close(descriptor)
