"""Copy all rows of a bank from any engine to an empty bank of any other, and compare two banks row by row.

Numbers that a back end gives are given anew, in the same order; whoever names a row by its number is told its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from reasoningbank.core.errors import BankDamaged
from reasoningbank.store.selection import Join, Selection
from reasoningbank.store.tables import SETTINGS, TABLES, IfTaken, Table

if TYPE_CHECKING:
    from reasoningbank.store.engine import Engine, Row, RowTransaction

PAGE = 500
Progress = Callable[[int, int], None]
Place = tuple[Any, ...]
"""Place of a row in the order of its table."""


def copy_rows(source: RowTransaction, target: Engine, progress: Progress | None = None) -> None:
    """Copy all that one moment of the source holds, page by page, each committed. Nobody else writes to the target."""
    total, count = count_all_rows(source), 0
    for table in TABLES:
        for page, _ in pages_of(source, table):

            def change(rows: RowTransaction, table: Table = table, page: list[Row] = page) -> None:
                rows.take_over()
                rows.put(table, page, if_there(table))

            target.write(None, change)
            count += len(page)
            if progress is not None:
                progress(min(count, total), total)


def if_there(table: Table) -> IfTaken:
    """The rule of a copy for a row that came over before."""
    if table.by_number_of or set(table.key) == set(table.written):
        return IfTaken.KEEP
    return IfTaken.REPLACE if table.key else IfTaken.REFUSE


def check_equal(
    source: RowTransaction,
    target: RowTransaction,
    place: str,
    *,
    settings_but: Iterable[str] = (),
    progress: Progress | None = None,
) -> int:
    """Compare both sides row by row, without some settings; returns how many rows there are."""
    total, count = count_all_rows(source) if progress is not None else 0, 0
    for table in TABLES:
        but = frozenset(settings_but) if table is SETTINGS else frozenset()
        theirs = _each_row(target, table, but)
        for row in _each_row(source, table, but):
            if tuple(row) != tuple(next(theirs, ())):
                raise BankDamaged(f"A row of {table.name} did not come over as it was to {place}.")
            count += 1
            if progress is not None and count % PAGE == 0:
                progress(min(count, total), total)
        if next(theirs, None) is not None:
            raise BankDamaged(f"{place} has more rows in {table.name} than were copied.")
    if progress is not None:
        progress(total, total)
    return count


def count_all_rows(rows: RowTransaction) -> int:
    return sum(count_rows(rows, table) for table in TABLES)


def count_rows(rows: RowTransaction, table: Table) -> int:
    return sum(int(number) for (number,) in rows.scan(Selection(table, ("count",))))


def order_of(table: Table) -> tuple[str, ...]:
    """Columns that order a table: as rows were written, or by their key."""
    return (table.number,) if table.number else table.key or table.unique


def pages_of(rows: RowTransaction, table: Table, after: Place | None = None) -> Iterator[tuple[list[Row], Place]]:
    """Pages of rows as `put` takes them, in their order, each with the place of its last row."""
    order = order_of(table)
    columns, joins = _to_put(table)
    width = len(order)
    while True:
        selection = Selection(table, (*order, *columns), joins=joins, order=order, after=after, limit=PAGE)
        page = list(rows.scan(selection))
        if page:
            after = tuple(page[-1][:width])
            yield [tuple(row[width:]) for row in page], after
        if len(page) < PAGE:
            return


def _to_put(table: Table) -> tuple[list[str], tuple[Join, ...]]:
    """The columns that `put` takes, and what must be joined for them."""
    columns: list[str] = list(table.written)
    joins = []
    for column, other in table.by_number_of.items():
        joins.append(Join(other, ((column, other.number),)))
        columns[columns.index(column)] = f"{other.name}.{other.key[0]}"
    return columns, tuple(joins)


def _each_row(rows: RowTransaction, table: Table, but: frozenset[str]) -> Iterator[Row]:
    for page, _ in pages_of(rows, table):
        yield from (row for row in page if row[0] not in but) if but else page
