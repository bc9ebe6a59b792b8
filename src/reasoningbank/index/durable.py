"""Writes index files durably, and tells when the disk is full.

Syncing, whole files under their final name, and full disks. Independent of what is in them, and of NumPy.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import BankFull
from reasoningbank.files import whole_file


def write_durably(path: Path, parts: list[Any]) -> None:
    """Write a whole file under its final name, or none."""
    # Whoever writes an index has its lock: what a killed one left has this name too, and is replaced.
    draft = path.with_name(f"{path.name}.tmp")
    with full_disk_is_an_error(path), whole_file(path, draft=draft) as file:
        file.writelines(parts)


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
