"""Batches the rows of a transaction, to be written together.

Every statement lets go of the interpreter's lock; with many threads storing, getting it back costs more than the
statement does. So rows are gathered and written many to a statement, before anything is read and before the commit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import apsw

from reasoningbank.core.errors import StoreError
from reasoningbank.store.sqlite.calls import make_writing_cursor

ROWS_PER_STATEMENT = 64
# In order, so that neighbours in the tree are written together; a memory's own number is known once it has a row.
_MARKS = """INSERT OR IGNORE INTO marks (mark, memory)
  SELECT mark.value, memories.num FROM json_each(?) AS marked
    CROSS JOIN memories ON memories.id = marked.key CROSS JOIN json_each(marked.value) AS mark
  ORDER BY 1"""


class Insert(NamedTuple):
    """Insert of rows into one table: `head` VALUES (…), (…) `tail`."""

    head: str
    width: int
    tail: str = ""


@lru_cache(maxsize=1024)
def _sql(insert: Insert, rows: int) -> str:
    marks = f"({', '.join('?' * insert.width)})"
    return f"{insert.head} VALUES {', '.join([marks] * rows)}{insert.tail}"


class Pending:
    """Rows for one connection. Without one they are gathered ahead, for a transaction that takes them later."""

    def __init__(self, connection: apsw.Connection | None = None, *, at_once: bool = False) -> None:
        self._connection = connection
        self._at_once = at_once
        self._rows: dict[Insert, list[Any]] = {}
        self._marks: dict[str, Sequence[int]] = {}

    @property
    def connection(self) -> apsw.Connection:
        if self._connection is None:
            raise StoreError("A change that was said to add only asked for what is there.")
        return self._connection

    def take(self, ahead: Pending) -> None:
        """Take over rows that were gathered before there was a connection; they are gone from there."""
        if self._rows:
            for insert, values in ahead._rows.items():
                self._rows.setdefault(insert, []).extend(values)
        else:
            self._rows = ahead._rows
        self._marks.update(ahead._marks)
        ahead._rows, ahead._marks = {}, {}

    def add(self, insert: Insert, values: Sequence[Any]) -> None:
        if self._at_once:
            self.connection.execute(_sql(insert, 1), values)
        else:
            self._rows.setdefault(insert, []).extend(values)

    def mark(self, memory_id: str, marks: Sequence[int]) -> None:
        """Marks by which the text of a memory is known again; its row goes before them."""
        if marks:
            self._marks[memory_id] = marks
        if self._at_once:
            self._write_marks()

    def write(self) -> None:
        """Write all rows, in the order in which the tables came, and within a table in the order of the rows."""
        if not self._rows and not self._marks:
            return
        rows, self._rows = self._rows, {}
        cursor = make_writing_cursor(self.connection)
        for insert, values in rows.items():
            step = insert.width * ROWS_PER_STATEMENT
            for start in range(0, len(values), step):
                chunk = values[start : start + step]
                cursor.execute(_sql(insert, len(chunk) // insert.width), chunk)
        self._write_marks()

    def _write_marks(self) -> None:
        if self._marks:
            marks, self._marks = self._marks, {}
            self.connection.execute(_MARKS, (json.dumps(marks),))
