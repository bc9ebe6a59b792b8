"""A plain engine in memory: dictionaries of rows.

The reference that `tests/contract/test_store.py` compares every other engine with. A transaction that changes a table
copies it, so that whoever reads goes on with what was there: simple, and not made for large banks.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import groupby
from operator import ge, gt, le, lt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from reasoningbank.core.errors import Conflict, StoreError
from reasoningbank.location import MEMORY, Location
from reasoningbank.ports import Damage, StoreInfo
from reasoningbank.store.closed import WHY_CLOSED, check_open
from reasoningbank.store.records.checks import find_inconsistencies
from reasoningbank.store.selection import Selection, any_of
from reasoningbank.store.tables import TABLES, Condition, IfTaken, Table
from reasoningbank.store.turns import ThreadTurns

if TYPE_CHECKING:
    from reasoningbank.store.engine import Row, RowChange, RowTransaction

T = TypeVar("T")
NamedRow = dict[str, Any]
"""A row by its columns."""
_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "is": lambda there, value: there is None if value is None else there == value,
    "not": lambda there, value: there is not None and there != value,
    "in": lambda there, values: there in values,
    "not in": lambda there, values: there not in values,
    "has": lambda there, value: value in json.loads(there),
    "holds": lambda there, value: value in there,
    "starts": lambda there, value: there.startswith(value),
    "ends": lambda there, value: there.endswith(value),
    ">": gt,
    ">=": ge,
    "<": lt,
    "<=": le,
}
_AMOUNTS: Mapping[str, Callable[[Iterable[Any]], Any]] = {
    "sum": sum,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
}


def _fits(row: NamedRow, where: Iterable[Condition]) -> bool:
    return all(_TESTS[test](row[column], value) for column, test, value in where)


class _TableRows:
    """Rows of one table by their numbers, and which of them has which key."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rows: dict[int, NamedRow] = {}
        self.last = 0
        unique = [(index.columns, index.where) for index in table.indexes if index.unique]
        self._keys = [(columns, where) for columns, where in ((table.key, ()), (table.unique, ()), *unique) if columns]
        self._taken: list[dict[tuple[Any, ...], int]] = [{} for _ in self._keys]

    def copied(self) -> _TableRows:
        copy = _TableRows(self.table)
        copy.rows, copy.last, copy._taken = dict(self.rows), self.last, [dict(numbers) for numbers in self._taken]
        return copy

    def _names(self, row: NamedRow) -> list[tuple[Any, ...] | None]:
        """The row's value of each key; None where it has none of that kind."""
        values = [tuple(row[column] for column in columns) for columns, _ in self._keys]
        fits = [_fits(row, where) for _, where in self._keys]
        return [value if fit and None not in value else None for value, fit in zip(values, fits, strict=True)]

    def holders(self, row: NamedRow) -> list[int | None]:
        return [
            numbers.get(name) if name else None for numbers, name in zip(self._taken, self._names(row), strict=True)
        ]

    def write(self, row: NamedRow, number: int | None = None) -> None:
        """A new row, or another one in the place of an old one."""
        if any(holder not in (None, number) for holder in self.holders(row)):
            raise Conflict("The record is there already, or its key is taken.")
        if number is None:
            number = self.last = self.last + 1
        else:
            self.drop(number)
        if self.table.number:
            row[self.table.number] = number
        self.rows[number] = row
        for numbers, name in zip(self._taken, self._names(row), strict=True):
            if name:
                numbers[name] = number

    def drop(self, number: int) -> None:
        for numbers, name in zip(self._taken, self._names(self.rows.pop(number)), strict=True):
            if name:
                del numbers[name]

    def at_key(self, where: Sequence[Condition]) -> Iterable[NamedRow]:
        """Rows among which those that are asked for must be."""
        for column, test, value in where:
            if (column,) == self.table.key and test in ("is", "in"):
                numbers = (self._taken[0].get((key,)) for key in ([value] if test == "is" else dict.fromkeys(value)))
                return [self.rows[number] for number in numbers if number is not None]
        return self.rows.values()


Tables = dict[str, _TableRows]


class MemoryTransaction:
    def __init__(self, tables: Tables, tenant: str | None, *, adds_only: bool = False) -> None:
        self.tables = tables
        self.tenant = tenant
        self._adds_only = adds_only
        self._own: set[str] = set()
        self.has_taken_over = False

    def of_all_tenants(self) -> MemoryTransaction:
        other = MemoryTransaction(self.tables, None, adds_only=self._adds_only)
        other._own = self._own
        return other

    def _to_change(self, table: Table) -> _TableRows:
        if table.name not in self._own:
            self._own.add(table.name)
            self.tables[table.name] = self.tables[table.name].copied()
        return self.tables[table.name]

    def _found(self, table: Table, where: Sequence[Condition]) -> list[NamedRow]:
        if self._adds_only:
            raise StoreError("A change that was said to add only asked for what is there.")
        rows = self.tables[table.name].at_key(where)
        is_open = self.tenant is None or not table.has_tenant
        return [row for row in rows if (is_open or row["tenant"] == self.tenant) and _fits(row, where)]

    def scan(self, selection: Selection) -> Iterable[Row]:
        table, columns, where, joins, order, descending, after, limit, latest, latest_by, without, _ = selection
        matches = self._found(table, where)
        if without is not None:
            matches = [row for row in matches if not any(self._joined(row, *without))]
        if latest:
            by, last = where[0][0], (latest_by, table.number) if latest_by else (table.key[-1],)
            matches.sort(key=lambda row: (row[by], [-row[column] for column in last]))
            matches = [row for _, rows in groupby(matches, key=lambda row: row[by]) for row in list(rows)[:latest]]
        for join in joins:
            matches = [row for match in matches for row in self._joined(match, join.table, join.on)]
        if order:
            matches.sort(key=lambda row: [row[column] for column in order], reverse=descending)
        if after is not None:
            beyond = lt if descending else gt
            matches = [row for row in matches if beyond(tuple(row[column] for column in order), after)]
        return _amounts(columns, matches)[:limit]

    def _joined(self, row: NamedRow, table: Table, on: Sequence[tuple[str, str]]) -> Iterator[NamedRow]:
        where = [(theirs, "is", row[ours]) for ours, theirs in on]
        for other in self._found(table, where):
            yield {**{f"{table.name}.{column}": value for column, value in other.items()}, **row}

    def scan_each(self, selections: Sequence[Selection]) -> list[list[Row]]:
        return [list(self.scan(selection)) for selection in selections]

    def put(self, table: Table, rows: Sequence[Row], if_taken: IfTaken = IfTaken.REFUSE) -> None:
        there = self._to_change(table)
        for values in rows:
            row = dict(zip(table.written, values, strict=True))
            for column, other in table.by_number_of.items():
                where = [(other.key[0], "is", row[column])]
                row[column] = next((match[other.number] for match in self.tables[other.name].at_key(where)), None)
            if any(row[column] is None for column in table.by_number_of):
                continue
            holder = there.holders(row)[0] if table.key else None
            if holder is None or if_taken is IfTaken.REFUSE:
                there.write(row)
            elif if_taken is IfTaken.REPLACE:
                there.write({**there.rows[holder], **row}, holder)

    def update(self, table: Table, where: Sequence[Condition], columns: Sequence[str], values: Row) -> int:
        numbers = self._numbers(table, where)
        there = self._to_change(table)
        for number in numbers:
            there.write({**there.rows[number], **dict(zip(columns, values, strict=True))}, number)
        return len(numbers)

    def delete(self, table: Table, where: Sequence[Condition]) -> int:
        numbers = self._numbers(table, where)
        there = self._to_change(table)
        for number in numbers:
            there.drop(number)
        return len(numbers)

    def _numbers(self, table: Table, where: Sequence[Condition]) -> list[int]:
        identities = {id(row) for row in self._found(table, where)}
        return [number for number, row in self.tables[table.name].rows.items() if id(row) in identities]

    def take_over(self) -> None:
        self.has_taken_over = True

    def leave_no_trace(self) -> None:
        """There is no medium."""


def _amounts(columns: Sequence[str], matches: list[NamedRow]) -> list[Row]:
    plain = [column for column in columns if column != "count" and ":" not in column]
    if len(plain) == len(columns):
        return [tuple([row[column] for column in columns]) for row in matches]
    groups: dict[tuple[Any, ...], list[NamedRow]] = {} if plain else {(): []}
    for row in matches:
        groups.setdefault(tuple(row[column] for column in plain), []).append(row)
    return [tuple(_amount(column, rows) for column in columns) for rows in groups.values()]


def _amount(column: str, rows: list[NamedRow]) -> Any:
    if column == "count":
        return len(rows)
    how, colon, what = column.partition(":")
    return _AMOUNTS[how](row[what] for row in rows) if colon else rows[0][column]


class MemoryTables:
    """Tables of a bank in memory; several engines may share them, as several processes share a file."""

    def __init__(self) -> None:
        self.current: Tables = {table.name: _TableRows(table) for table in TABLES}
        self.turn = threading.Lock()
        self.turns = ThreadTurns()
        self.writing: int | None = None


class MemoryEngine:
    def __init__(self, tables: MemoryTables | None = None) -> None:
        self._tables = tables or MemoryTables()
        self._is_closed = False

    @property
    def info(self) -> StoreInfo:
        durability = "nothing: this bank lives in memory"
        return StoreInfo(
            backend="memory", location=Location(MEMORY, None), schema_version=0, durability=durability, read_only=False
        )

    remedy = "Begin anew: what was in memory is gone."

    @contextmanager
    def read(self, tenant: str | None) -> Iterator[RowTransaction]:
        self._check_open()
        yield MemoryTransaction(self._tables.current, tenant)

    def write(self, tenant: str | None, change: RowChange[T], *, alone: bool = False, adds_only: bool = False) -> T:
        del alone
        self._check_open()
        tables = self._tables
        if tables.writing == threading.get_ident():
            raise StoreError("A write was started inside another write, which would wait for itself forever.")
        with tables.turn:
            tables.writing = threading.get_ident()
            try:
                transaction = MemoryTransaction(dict(tables.current), tenant, adds_only=adds_only)
                result = change(transaction)
                if not transaction.has_taken_over:
                    check_open(MemoryTransaction(transaction.tables, None).scan(WHY_CLOSED), MEMORY)
                tables.current = transaction.tables
            finally:
                tables.writing = None
        return result

    def log(self, change: RowChange[None]) -> None:
        if not self.scan(WHY_CLOSED):
            self.write(None, change)

    def scan(self, selection: Selection) -> list[Row]:
        return self.scan_each([selection])[0]

    def scan_each(self, selections: Sequence[Selection]) -> list[list[Row]]:
        with self.read(None) as rows:
            return rows.scan_each(selections)

    def listen(self, wake: Callable[[], object]) -> AbstractContextManager[None]:
        del wake
        return nullcontext()

    def turn(self, name: str, wait_s: float) -> AbstractContextManager[bool]:
        return self._tables.turns.take(name, wait_s)

    def renew_turn(self, name: str) -> bool:
        return self._tables.turns.is_taken(name)

    def salvage(self, table: Table, ids: Sequence[str]) -> list[Row]:
        return self.scan(Selection(table, table.written, any_of("id", ids)))

    def checks(self) -> list[Damage]:
        self._check_open()
        return list(find_inconsistencies(self.scan))

    def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> NoReturn:
        del progress
        raise StoreError(f"This bank lives in memory and cannot be copied to {target}: export it.")

    def close(self) -> None:
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError("This bank in memory is closed.")
