"""Rows of a transaction that wait to be written together: before anything is asked and before the commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.store.tables import FEED, IfTaken, Table
from reasoningbank_postgres import statements

if TYPE_CHECKING:
    import psycopg

_SIZES = (64, 32, 16, 8, 4, 2, 1)
"""Rows to a statement: few texts, so that each is prepared once, and few statements for as many as come together."""


class PendingRows:
    """Rows not yet written, by table and conflict rule (`ON CONFLICT`)."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Table, IfTaken], list[Sequence[Any]]] = {}
        self.tenants: set[str | None] = set()
        """Tenants whose rows these are; None: anybody's."""
        self.has_changes = False
        """True once something was written to the feed."""

    @property
    def is_empty(self) -> bool:
        return not self._rows

    def add(self, table: Table, rows: Sequence[Sequence[Any]], if_taken: IfTaken, tenant: str | None) -> None:
        if rows:
            self._rows.setdefault((table, if_taken), []).extend(rows)
            self.tenants.add(tenant)

    def take(self, ahead: PendingRows) -> None:
        """Take over rows that were gathered before there was a transaction; they are gone from there."""
        for key, rows in ahead._rows.items():
            self._rows.setdefault(key, []).extend(rows)
        self.tenants |= ahead.tenants
        ahead._rows, ahead.tenants = {}, set()

    def write(self, cursor: psycopg.Cursor[Any]) -> None:
        """Write all rows, in the order in which the tables came; what names rows by their numbers comes last."""
        rows, self._rows, self.tenants = self._rows, {}, set()
        for (table, if_taken), batch in sorted(rows.items(), key=lambda item: bool(item[0][0].by_number_of)):
            self.has_changes |= table is FEED
            _write_rows(cursor, table, batch, if_taken)


def _write_rows(cursor: psycopg.Cursor[Any], table: Table, rows: Sequence[Sequence[Any]], if_taken: IfTaken) -> None:
    if table is FEED or table.by_number_of:
        text = statements.insert_numbered(table) if table is FEED else statements.insert_by_number(table)
        cursor.execute(text, [list(column) for column in zip(*rows, strict=True)])
        return
    if if_taken is IfTaken.REPLACE:
        # The last word counts; and one statement may not replace the same row twice.
        positions = [table.written.index(column) for column in table.key]
        rows = list({tuple([row[place] for place in positions]): row for row in rows}.values())
    start = 0
    for size in _SIZES:
        while len(rows) - start >= size:
            chunk = rows[start : start + size]
            cursor.execute(statements.insert(table, if_taken, size), [value for row in chunk for value in row])
            start += size
