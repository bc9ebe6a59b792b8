"""Rows of one SQLite transaction, for one tenant or for all.

New rows wait in `pending`, shared by the units of one commit; every other statement writes them first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from reasoningbank.store.selection import Selection
from reasoningbank.store.sqlite import statements
from reasoningbank.store.sqlite.batched_inserts import Pending
from reasoningbank.store.sqlite.error_mapping import translate
from reasoningbank.store.tables import Condition, IfTaken, Table

if TYPE_CHECKING:
    from reasoningbank.store.engine import Row

_NAMED_AT_ONCE = (apsw.ConstraintError, UnicodeEncodeError)
"""Errors that are translated where they arise, so that a unit may catch them and go on."""


class SqliteTransaction:
    def __init__(self, pending: Pending, tenant: str | None, location: str) -> None:
        self._pending = pending
        self.tenant = tenant
        self._location = location
        self.has_erased = False
        self.has_taken_over = False

    def of_all_tenants(self) -> SqliteTransaction:
        return SqliteTransaction(self._pending, None, self._location)

    @property
    def _connection(self) -> apsw.Connection:
        self._pending.write()
        return self._pending.connection

    def scan(self, selection: Selection) -> Iterable[Row]:
        return self._connection.execute(*statements.select(selection, self.tenant))

    def scan_each(self, selections: Sequence[Selection]) -> list[list[Row]]:
        if len({len(selection.columns) for selection in selections}) > 1:
            return [list(self.scan(selection)) for selection in selections]
        pages: list[list[Row]] = [[] for _ in selections]
        for place, *row in self._connection.execute(*statements.select_each(selections, self.tenant)):
            pages[place].append(row)
        return pages

    def put(self, table: Table, rows: Sequence[Row], if_taken: IfTaken = IfTaken.REFUSE) -> None:
        pending = self._pending
        if table.by_number_of:
            # Mostly those of one row.
            for row_id in {row_id for _, row_id in rows}:
                pending.mark(row_id, [mark for mark, owner_id in rows if owner_id == row_id])
            return
        insert = statements.insert(table, if_taken)
        try:
            for row in rows:
                pending.add(insert, row)
        except _NAMED_AT_ONCE as error:
            raise translate(error, self._location) from error

    def update(self, table: Table, where: Sequence[Condition], columns: Sequence[str], values: Row) -> int:
        sql, parameters = statements.update(table, columns, where, self.tenant)
        return self._change(sql, [*values, *parameters])

    def delete(self, table: Table, where: Sequence[Condition]) -> int:
        return self._change(*statements.delete(table, where, self.tenant))

    def _change(self, sql: str, values: list[Any]) -> int:
        # Asked for outside: what waits is written then, and a row of that which fails is not this change's fault.
        connection = self._connection
        try:
            connection.execute(sql, values)
        except _NAMED_AT_ONCE as error:
            raise translate(error, self._location) from error
        return connection.changes()

    def take_over(self) -> None:
        """Nothing to do: a log waits for this transaction as everybody does."""
        self.has_taken_over = True

    def leave_no_trace(self) -> None:
        self.has_erased = True
