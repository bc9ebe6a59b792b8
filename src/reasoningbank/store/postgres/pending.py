"""Rows of a transaction that wait to be written together: before anything is asked and before the commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.core.errors import StoreError
from reasoningbank.store.postgres import statements
from reasoningbank.store.tables import FEED, IfTaken, Table

if TYPE_CHECKING:
    from reasoningbank.store.postgres.connections import TimedConnection

_SIZES = (64, 16, 4, 1)
"""Rows to a statement: few texts, so that each is prepared once."""


class PendingRows:
    """Rows for one connection. Without one they are gathered ahead, for a transaction that takes them later."""

    def __init__(self, connection: TimedConnection | None = None) -> None:
        self._connection = connection
        self._rows: dict[tuple[Table, IfTaken], list[Sequence[Any]]] = {}
        self.tenants: set[str | None] = set()
        """Whose the rows are; None: anybody's."""
        self.has_changes = False
        """Something was written to the feed."""

    @property
    def connection(self) -> TimedConnection:
        if self._connection is None:
            raise StoreError("A change that was said to add only asked for what is there.")
        return self._connection

    @property
    def is_empty(self) -> bool:
        return not self._rows

    def add(self, table: Table, rows: Sequence[Sequence[Any]], if_taken: IfTaken, tenant: str | None) -> None:
        if rows:
            self._rows.setdefault((table, if_taken), []).extend(rows)
            self.tenants.add(tenant)

    def take(self, ahead: PendingRows) -> None:
        for tenant in ahead.tenants:
            for (table, if_taken), rows in ahead._rows.items():
                self.add(table, rows, if_taken, tenant)
            ahead._rows = {}

    def write(self) -> None:
        """In the order in which the tables were first added to; what names rows by their numbers comes last."""
        if not self._rows:
            return
        rows, self._rows, self.tenants = self._rows, {}, set()
        for (table, if_taken), several in sorted(rows.items(), key=lambda item: bool(item[0][0].by_number_of)):
            self.has_changes |= table is FEED
            write_rows(self.connection, table, several, if_taken)


def write_rows(connection: TimedConnection, table: Table, rows: Sequence[Sequence[Any]], if_taken: IfTaken) -> None:
    if table is FEED or table.by_number_of:
        text = statements.insert_numbered(table) if table is FEED else statements.insert_by_number(table)
        connection.execute(text, [list(column) for column in zip(*rows, strict=True)])
        return
    if if_taken is IfTaken.REPLACE:
        # The last word counts; and one statement may not replace the same row twice.
        positions = [table.written.index(column) for column in table.key]
        rows = list({tuple([row[place] for place in positions]): row for row in rows}.values())
    start = 0
    for size in _SIZES:
        while len(rows) - start >= size:
            chunk = rows[start : start + size]
            connection.execute(statements.insert(table, if_taken, size), [value for row in chunk for value in row])
            start += size
