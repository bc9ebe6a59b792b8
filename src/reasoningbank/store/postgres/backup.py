"""Back up a bank in PostgreSQL to a file that any engine can restore: a bank in SQLite, row by row the same."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from reasoningbank.core.errors import InvalidInput
from reasoningbank.store.row_copy import Progress, copy_rows
from reasoningbank.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from reasoningbank.store.engine import RowTransaction


def write_backup(rows: RowTransaction, target: Path, progress: Progress | None) -> None:
    """The file appears under its name only when it is whole, and is there to stay when this returns."""
    if target.exists():
        raise InvalidInput(f"{target} exists already. Name a new file, so that no backup is overwritten.")
    with (
        TemporaryDirectory(prefix=f"{target.name}.partial-", dir=target.parent) as folder,
        closing(SqliteStore(Path(folder) / "rows", durability="normal")) as copy,
    ):
        copy_rows(rows, copy.engine, progress)
        copy.backup(target)
