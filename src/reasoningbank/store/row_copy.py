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
Place = tuple[str, tuple[Any, ...]]
"""How far a copy has come: a table, and the place of its last row that is there."""
Note = Callable[["RowTransaction", Place], object]


def copy_rows(
    source: RowTransaction,
    target: Engine,
    progress: Progress | None = None,
    *,
    start: Place | None = None,
    note: Note | None = None,
) -> None:
    """All that one moment of the source holds. Nobody else writes to the target: pages are committed one by one, each
    with a `note` of the place to go on from.
    """
    total = count_all_rows(source)
    names = [table.name for table in TABLES]
    first = names.index(start[0]) if start else 0
    done = sum(count_rows(source, table) for table in TABLES[:first])
    for table in TABLES[first:]:
        after = start[1] if start and table.name == start[0] else None
        for page, place in _pages(source, table, after):
            _put(target, table, page, place, note)
            done += len(page)
            if progress is not None:
                progress(min(done, total), total)
    if progress is not None:
        progress(total, total)


def _put(target: Engine, table: Table, page: Sequence[Row], place: tuple[Any, ...], note: Note | None) -> None:
    if_taken = IfTaken.KEEP if table.by_number_of else IfTaken.REPLACE if table.key else IfTaken.REFUSE

    def change(rows: RowTransaction) -> None:
        rows.put(table, page, if_taken)
        if note is not None:
            note(rows, (table.name, place))

    target.write(None, change)


def check_equal(source: RowTransaction, target: RowTransaction, place: str, *, but: str) -> int:
    """Compare both sides row by row, without what begins with `but` at the target; says how many rows there are."""
    checked = 0
    for table in TABLES:
        theirs = (row for row in _each_row(target, table) if row[0] != but)
        for row in _each_row(source, table):
            if tuple(row) != tuple(next(theirs, ())):
                raise BankDamaged(f"A row of {table.name} did not come over as it was to {place}. Copy it anew.")
            checked += 1
        if next(theirs, None) is not None:
            raise BankDamaged(f"{place} has more rows in {table.name} than were copied. Copy it anew.")
    return checked


def count_all_rows(rows: RowTransaction) -> int:
    return sum(count_rows(rows, table) for table in TABLES)


def count_rows(rows: RowTransaction, table: Table) -> int:
    return sum(int(number) for (number,) in rows.scan(Selection(table, ("count",))))


def _each_row(rows: RowTransaction, table: Table) -> Iterator[Row]:
    for page, _ in _pages(rows, table, None):
        yield from page


def _pages(
    rows: RowTransaction, table: Table, after: tuple[Any, ...] | None
) -> Iterator[tuple[list[Row], tuple[Any, ...]]]:
    """As they were written, or by their key; each row as `put` takes it, and the place of a page's last one."""
    order = (table.number,) if table.number else table.key or table.unique
    columns: list[str] = list(table.written)
    joins = []
    for column, other in table.by_number_of.items():
        joins.append(Join(other, ((column, other.number),)))
        columns[columns.index(column)] = f"{other.name}.{other.key[0]}"
    width = len(order)
    while True:
        asked = Selection(table, (*order, *columns), joins=tuple(joins), order=order, after=after, limit=PAGE)
        page = list(rows.scan(asked))
        if page:
            after = tuple(page[-1][:width])
            yield [tuple(row[width:]) for row in page], after
        if len(page) < PAGE:
            return
