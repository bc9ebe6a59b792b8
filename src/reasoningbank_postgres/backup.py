"""Back up a bank in PostgreSQL to a file that any engine can restore: a bank in SQLite, row by row the same."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from reasoningbank.core.errors import BankBusy, InvalidInput
from reasoningbank.store.row_copy import Progress, copy_rows
from reasoningbank.store.sqlite.holders import held_alone
from reasoningbank.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from reasoningbank.store.engine import RowTransaction

_PARTIAL = ".partial-"


def write_backup(rows: RowTransaction, target: Path, progress: Progress | None) -> None:
    """Write a backup. The file appears under its name only when it is whole, and is there to stay when this returns."""
    if target.exists():
        raise InvalidInput(f"{target} exists already. Name a new file, so that no backup is overwritten.")
    for partial in target.parent.glob(f"*{_PARTIAL}????????"):
        # Left by a killed backup: one that is at work has its rows open, or is about to.
        with suppress(BankBusy, OSError):
            is_ours = all(file.name.startswith("rows") for file in partial.iterdir())
            if is_ours and time.time() - partial.stat().st_mtime > 60.0:
                with held_alone(partial / "rows"):
                    rmtree(partial)
    with (
        TemporaryDirectory(prefix=f"{target.name}{_PARTIAL}", dir=target.parent) as folder,
        closing(SqliteStore(Path(folder) / "rows", durability="normal")) as copy,
    ):
        copy_rows(rows, copy.engine, progress)
        copy.backup(target)
