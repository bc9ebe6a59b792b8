"""Temporary files without a name: what a server puts on the disk for a moment is gone with it, however it ends.

An import may hold secrets that are only found while it is read, and a transcript always may. A file that nobody can
find by its name needs no cleaning up after a kill.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from reasoningbank.bank.bank import Bank

_OPEN_FILES = Path("/proc/self/fd")


@contextmanager
def passing_bytes() -> Iterator[tuple[BinaryIO, Path]]:
    """A file to write to, and a path by which this process can read it from the start while it is open."""
    if _OPEN_FILES.is_dir():
        with tempfile.TemporaryFile(prefix="reasoningbank-") as file:
            yield file, _OPEN_FILES / str(file.fileno())
        return
    # Where an open file cannot be reached by a number, it needs a name.
    descriptor, name = tempfile.mkstemp(prefix="reasoningbank-")
    try:
        with os.fdopen(descriptor, "w+b") as stream:
            yield stream, Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def passing_copy(bank: Bank) -> Iterator[Path]:
    """A name for a copy of a bank: in its state folder, where the next backup removes what a kill has left."""
    name = f"sent.partial-{os.getpid()}-{os.urandom(3).hex()}"
    place = bank.context.store.info.location.folder(name)
    with tempfile.TemporaryDirectory(prefix="reasoningbank-backup-") as folder:
        path = place if place is not None and os.access(place.parent, os.W_OK) else Path(folder, name)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)
