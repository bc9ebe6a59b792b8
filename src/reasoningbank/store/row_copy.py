"""Copy all rows of a bank from any engine to an empty bank of any other, and compare two banks row by row.

Numbers that a back end gives are given anew, in the same order; whoever names a row by its number is told its key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.core.errors import BankDamaged
from reasoningbank.store.selection import Join, Selection
from reasoningbank.store.tables import TABLES, IfTaken, Table

if TYPE_CHECKING:
    from reasoningbank.store.engine import Engine, Row, RowTransaction

PAGE = 500
Progress = Callable[[int, int], None]


def copy_rows(source: RowTransaction, target: Engine, progress: Progress | None = None) -> None:
    """All that one moment of the source holds. The target is empty and nobody's: pages are committed one by one."""
    total = sum(count_rows(source, table) for table in TABLES)
    done = 0
    for table in TABLES:
        for page in _pages(source, table):
            _put(target, table, page)
            done += len(page)
            if progress is not None:
                progress(done, total)
    if progress is not None and not total:
        progress(0, 0)


def _put(target: Engine, table: Table, page: Sequence[Row]) -> None:
    if_taken = IfTaken.REPLACE if table.key and not table.by_number_of else IfTaken.REFUSE
    target.write(None, lambda rows: rows.put(table, page, IfTaken.KEEP if table.by_number_of else if_taken))


def check_equal(source: RowTransaction, target: RowTransaction, place: str) -> int:
    """Compare both sides row by row; says how many rows there are."""
    checked = 0
    for table in TABLES:
        theirs = _each_row(target, table)
        for row in _each_row(source, table):
            if tuple(row) != tuple(next(theirs, ())):
                raise BankDamaged(f"A row of {table.name} did not come over as it was to {place}. Copy it anew.")
            checked += 1
        if next(theirs, None) is not None:
            raise BankDamaged(f"{place} has more rows in {table.name} than were copied. Copy it anew.")
    return checked


def count_rows(rows: RowTransaction, table: Table) -> int:
    return sum(int(number) for (number,) in rows.scan(Selection(table, ("count",))))


def _each_row(rows: RowTransaction, table: Table) -> Iterator[Row]:
    for page in _pages(rows, table):
        yield from page


def _pages(rows: RowTransaction, table: Table) -> Iterator[list[Row]]:
    """As they were written, or by their key; each row as `put` takes it."""
    order = (table.number,) if table.number else table.key or table.unique
    columns: list[str] = list(table.written)
    joins = []
    for column, other in table.by_number_of.items():
        joins.append(Join(other, ((column, other.number),)))
        columns[columns.index(column)] = f"{other.name}.{other.key[0]}"
    after: tuple[Any, ...] | None = None
    width = len(order)
    while True:
        asked = Selection(table, (*order, *columns), joins=tuple(joins), order=order, after=after, limit=PAGE)
        page = list(rows.scan(asked))
        if page:
            yield [tuple(row[width:]) for row in page]
        if len(page) < PAGE:
            return
        after = tuple(page[-1][:width])
