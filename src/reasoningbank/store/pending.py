"""Rows of a transaction that wait to be written together.

Every statement lets go of the interpreter's lock; with many threads storing, getting it back costs more than the
statement does. So rows are gathered and written many to a statement, before anything is read and before the commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import apsw

ROWS_PER_STATEMENT = 64


class Insert(NamedTuple):
    """How rows go into one table: `head` VALUES (…), (…) `tail`."""

    head: str
    width: int
    tail: str = ""


@lru_cache(maxsize=1024)
def _sql(insert: Insert, rows: int) -> str:
    marks = f"({', '.join('?' * insert.width)})"
    return f"{insert.head} VALUES {', '.join([marks] * rows)}{insert.tail}"


class Pending:
    def __init__(self, connection: apsw.Connection, *, at_once: bool) -> None:
        self.connection = connection
        self._at_once = at_once
        self._rows: dict[Insert, list[Any]] = {}

    def add(self, insert: Insert, values: Sequence[Any]) -> None:
        if self._at_once:
            self.connection.execute(_sql(insert, 1), values)
        else:
            self._rows.setdefault(insert, []).extend(values)

    def write(self) -> None:
        """In the order in which the tables were first added to, and within a table in the order of the rows."""
        if not self._rows:
            return
        rows, self._rows = self._rows, {}
        for insert, values in rows.items():
            step = insert.width * ROWS_PER_STATEMENT
            for start in range(0, len(values), step):
                chunk = values[start : start + step]
                self.connection.execute(_sql(insert, len(chunk) // insert.width), chunk)
