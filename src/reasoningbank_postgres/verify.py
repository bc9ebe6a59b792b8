"""Check a bank in PostgreSQL from end to end: its rows, its feed, what is kept beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reasoningbank.core.errors import StoreError
from reasoningbank.ports import Damage
from reasoningbank.store.coding import RecordTable, record_tables
from reasoningbank.store.records.checks import find_inconsistencies
from reasoningbank.store.selection import Selection
from reasoningbank.store.tables import FEED, NUM, Table

if TYPE_CHECKING:
    from reasoningbank.store.engine import RowTransaction

_PAGE = 1_000


def damage_in(rows: RowTransaction) -> Iterator[Damage]:
    """Rows by their content hashes, the feed by its numbers and the records that it names, trust and tokens by
    themselves. Pages are the server's to check (`pg_amcheck`, checksums).
    """
    for coding in record_tables().values():
        for table in filter(None, (coding.table, coding.earlier)):
            yield from _damaged_rows(rows, coding, table)
    yield from _missing_changes(rows)
    yield from find_inconsistencies(rows.scan)


def _damaged_rows(rows: RowTransaction, coding: RecordTable[Any], table: Table) -> Iterator[Damage]:
    problem = f"a row of {table.name} does not match its checksum"
    try:
        for _, *row in _pages(rows, Selection(table, (NUM, *coding.row), order=(NUM,), limit=_PAGE)):
            if not coding.intact(row):
                yield Damage(kind=coding.noun, id=str(row[0]), problem=problem)
    except StoreError as error:
        yield Damage(kind=coding.noun, id="", problem=f"unreadable row in {table.name}: {error}")


def _missing_changes(rows: RowTransaction) -> Iterator[Damage]:
    """Damage for each number that lacks in the feed: they are dense, as they are given under the lock."""
    last = 0
    for (number,) in _pages(rows, Selection(FEED, ("seq",), order=("seq",), limit=_PAGE)):
        if last and number != last + 1:
            yield Damage(kind="feed", id=str(number), problem="a change is missing before this one")
        last = number


def _pages(rows: RowTransaction, selection: Selection) -> Iterator[Any]:
    while page := list(rows.scan(selection)):
        yield from page
        selection = selection._replace(after=(page[-1][0],))
