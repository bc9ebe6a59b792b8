"""Which rows are asked for, as data that every back end understands."""

from __future__ import annotations

from typing import Any, NamedTuple

from reasoningbank.store.tables import Condition, Table


class Join(NamedTuple):
    """The row of another table for which each (column so far, column of the other table) is equal."""

    table: Table
    on: tuple[tuple[str, str], ...]


class Selection(NamedTuple):
    """Rows of a table.

    A column is a name, that of a joined table with the table's before it (`memories.namespace`), or what several rows
    amount to: `count`, `sum:used`, `min:rank`, `max:at`; the rows are then grouped by the other columns.
    """

    table: Table
    columns: tuple[str, ...]
    where: tuple[Condition, ...] = ()
    joins: tuple[Join, ...] = ()
    order: tuple[str, ...] = ()
    descending: bool = False
    """True if the order of all its columns is turned around."""
    after: tuple[Any, ...] | None = None
    """Values of the order's columns: only what comes behind them."""
    limit: int | None = None
    latest: int = 0
    """Most rows for each value that the first condition asks for, those with the greatest last key. A count of them
    alone may tell a value that has none.
    """
    latest_by: str = ""
    """The column that is to be greatest instead; the newest of equal rows."""
    without: Join | None = None
    """Only those for which the other table has no such row."""
    by_index: str = ""
    """The index to use, if a back end would choose another."""


def equal(**values: Any) -> tuple[Condition, ...]:
    return tuple([(column, "is", value) for column, value in values.items()])


def any_of(column: str, values: Any) -> tuple[Condition, ...]:
    return ((column, "in", values),)
