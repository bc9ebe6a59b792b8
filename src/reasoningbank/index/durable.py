"""Making what was written survive, or saying that it could not be.

Knows syncing, whole files under their final name, and full disks. Refuses to know what is in them, and needs no NumPy.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import BankFull


def sync(descriptor: int) -> None:
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_directory(path: Path) -> None:
    """Make renames and new names in a directory durable, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: Path, parts: list[Any]) -> None:
    """A whole file under its final name, or none."""
    draft = path.with_name(path.name + ".tmp")
    with full_disk_is_an_error(path), draft.open("wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        sync(file.fileno())
    draft.replace(path)


class full_disk_is_an_error:  # noqa: N801 - reads as a phrase after `with`
    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise BankFull(
                f"No room on the disk to extend the index {self._path.parent}: make room and try again."
            ) from error
