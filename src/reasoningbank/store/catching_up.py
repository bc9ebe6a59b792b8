"""Bring a copy of a bank up to date with its source, as often as wanted: what is behind costs, and nothing else.

There are three ways. Records and what lies under their ids are taken over again where the feed names them. What is
numbered is appended in the order of its numbers. What is neither (settings, tokens, leases, replies, gaps, tombstones,
views) is compared key by key.

Invariants:
- nobody else writes to the target; a moment of the source is brought over whole, so that no two rows meet at a key;
- how far each table came is noted in the transaction that writes its rows, and up to where the feed was heeded at the
  end: after a kill everything behind that is done again, which changes nothing that was right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.record_kinds import BY_NOUN
from reasoningbank.core.types import Memory
from reasoningbank.store import row_copy
from reasoningbank.store.closed import CLOSED
from reasoningbank.store.row_copy import if_there, order_of, pages_of
from reasoningbank.store.selection import Join, Selection, any_of, equal
from reasoningbank.store.tables import (
    EDGES,
    EXPOSURES,
    FEED,
    MARKS,
    MEMORIES,
    NODES,
    NUM,
    SETTINGS,
    TABLES,
    VECTORS,
    Condition,
    IfTaken,
    Table,
    table_named,
)

if TYPE_CHECKING:
    from reasoningbank.store.engine import Engine, Row, RowTransaction

NOTE = "migrating"
"""The setting of a bank that is being filled: where it comes from, and how far it has come."""
OWN_SETTINGS = frozenset({NOTE, CLOSED})
_SIDE_TABLES = (VECTORS, EXPOSURES)
"""Tables that are numbered and in no feed."""
_NUMBERED = tuple(table for table in TABLES if table.number and table not in _SIDE_TABLES)
_COMPARED = tuple(table for table in TABLES if not table.number and not table.by_number_of)
_NAMES = {MEMORIES.name: "key", NODES.name: "name", EDGES.name: "name"}
"""Column that no two rows share and whose value a revision may give to another row, by table."""
IdsByNoun = dict[str, dict[str, None]]
"""Ids by the noun of their kind."""


@dataclass(kw_only=True)
class CopyNote:
    origin: str
    heeded: int
    """Number in the feed up to which what changed at the source is taken over."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Number at the source of the last row that came over, by table."""
    marks: list[Any] | None = field(default_factory=list)
    """The place up to which marks came over; None once all have."""

    def put(self, rows: RowTransaction) -> None:
        rows.put(SETTINGS, [(NOTE, json.dumps(asdict(self)))], IfTaken.REPLACE)

    @classmethod
    def find(cls, engine: Engine) -> CopyNote | None:
        rows = engine.scan(Selection(SETTINGS, ("value",), equal(name=NOTE)))
        return cls(**json.loads(rows[0][0])) if rows else None


class Catching:
    """A copy under way. `tick` is told of rows that were written, and may raise to give up."""

    def __init__(self, target: Engine, note: CopyNote, tick: Callable[[int], object]) -> None:
        self._target = target
        self.note = note
        self._tick = tick

    def catch_up(self, rows: RowTransaction) -> IdsByNoun:
        """Bring a moment of the source over; says which records the feed named."""
        ((head,),) = rows.scan(Selection(FEED, ("max:seq",)))
        ids_by_noun = _touched_since(rows, self.note.heeded)
        self._drop_marks(ids_by_noun.get("memory", ()))
        for take_over in (self._drop_surplus, self._put_again):
            # First whatever holds a key that another row has now gives it up.
            for table, where in _rows_under(ids_by_noun):
                take_over(rows, table, where)
        self._drop_showings(rows, ids_by_noun.get("memory", ()))
        for table in _NUMBERED:
            self._append(rows, table)
        for table in _SIDE_TABLES:
            if not self._has_same_beginning(rows, table):
                self.note.numbers[table.name] = 0
                self._write(lambda target, table=table: target.delete(table, ()))  # type: ignore[misc]
            self._append(rows, table)
        self._bring_marks(rows, ids_by_noun.get("memory", ()))
        for table in _COMPARED:
            self._compare(rows, table)
        self.note.heeded = int(head or 0)
        self._write(lambda _: None)
        return ids_by_noun

    def check_recent(self, rows: RowTransaction, ids_by_noun: IdsByNoun) -> None:
        """Compare what changed since both sides were compared as a whole: it costs little while everybody waits."""
        with self._target.read(None) as copy:
            differ = [table for table in TABLES if _count_and_last(rows, table) != _count_and_last(copy, table)]
            for table, where in _rows_under(ids_by_noun):
                selection = Selection(table, table.written, where, order=table.key)
                if [tuple(row) for row in rows.scan(selection)] != [tuple(row) for row in copy.scan(selection)]:
                    differ.append(table)
        if differ:
            raise BankDamaged(f"{differ[0].name} did not come over as it was to {self._target.info.location}.")

    def _write(self, change: Callable[[RowTransaction], object], rows: int = 0) -> None:
        def change_and_note(target: RowTransaction) -> None:
            target.take_over()
            change(target)
            self.note.put(target)

        self._target.write(None, change_and_note)
        self._tick(rows)

    def _append(self, rows: RowTransaction, table: Table) -> None:
        for page, (last,) in pages_of(rows, table, (self.note.numbers.get(table.name, 0),)):
            self.note.numbers[table.name] = int(last)
            self._write(lambda target, page=page: target.put(table, page, if_there(table)), len(page))  # type: ignore[misc]

    # ------------------------------------------------------------ what the feed names

    def _brought_before(self, rows: RowTransaction, table: Table, where: Any) -> list[Row]:
        """Rows at the source that `where` selects and that have come over already."""
        where = (*where, ("num", "<=", self.note.numbers.get(table.name, 0)))
        return list(rows.scan(Selection(table, table.written, where, order=(NUM,))))

    def _put_again(self, rows: RowTransaction, table: Table, where: Any) -> None:
        if page := self._brought_before(rows, table, where):
            self._write(lambda target: target.put(table, page, IfTaken.REPLACE), len(page))

    def _drop_surplus(self, rows: RowTransaction, table: Table, where: Any) -> None:
        places = [table.written.index(column) for column in table.key]
        rows_by_key = {tuple([row[place] for place in places]): row for row in self._brought_before(rows, table, where)}
        name = _NAMES.get(table.name)

        def change(target: RowTransaction) -> None:
            for there in [tuple(row) for row in target.scan(Selection(table, table.written, where))]:
                key = tuple([there[place] for place in places])
                this = equal(**dict(zip(table.key, key, strict=True)))
                if key not in rows_by_key:
                    target.delete(table, this)
                elif name is not None and there != tuple(rows_by_key[key]):
                    target.update(table, this, (name,), (f"{NOTE} {key[0]}",))

        self._write(change)

    # ------------------------------------------------------------ what lies beside the records

    def _drop_showings(self, rows: RowTransaction, ids: Iterable[str]) -> None:
        for some in _batches(ids):
            there = {memory_id for (memory_id,) in rows.scan(Selection(MEMORIES, ("id",), any_of("id", some)))}
            if missing := [memory_id for memory_id in some if memory_id not in there]:
                self._write(lambda target, missing=missing: target.delete(EXPOSURES, any_of("memory_id", missing)))  # type: ignore[misc]

    def _has_same_beginning(self, rows: RowTransaction, table: Table) -> bool:
        """True if what came over of a log is what it still begins with: a file gives numbers of dropped rows again."""
        upto = (("num", "<=", self.note.numbers.get(table.name, 0)),)
        ours = _count_and_last(rows, table, upto)
        with self._target.read(None) as copy:
            return ours == _count_and_last(copy, table)

    def _drop_marks(self, ids: Iterable[str]) -> None:
        for some in _batches(ids):

            def change(target: RowTransaction, some: Sequence[str] = some) -> None:
                numbers = [number for (number,) in target.scan(Selection(MEMORIES, (NUM,), any_of("id", some)))]
                target.delete(MARKS, any_of("memory", numbers))

            self._write(change)

    def _bring_marks(self, rows: RowTransaction, ids: Iterable[str]) -> None:
        self._bring_all_marks(rows)
        joins = (Join(MEMORIES, (("memory", NUM),)),)
        for some in _batches(ids):
            numbers = [number for (number,) in rows.scan(Selection(MEMORIES, (NUM,), any_of("id", some)))]
            selection = Selection(MARKS, ("mark", "memories.id"), any_of("memory", numbers), joins)
            if page := list(rows.scan(selection)):
                self._write(lambda target, page=page: target.put(MARKS, page, IfTaken.KEEP), len(page))  # type: ignore[misc]

        with self._target.read(None) as copy:
            is_same = _count_and_last(rows, MARKS) == _count_and_last(copy, MARKS)
        if not is_same:
            # Of a memory that the feed did not name.
            self.note.marks = []
            self._write(lambda target: target.delete(MARKS, ()))
            self._bring_all_marks(rows)

    def _bring_all_marks(self, rows: RowTransaction) -> None:
        """Go on with the marks where they were left, unless all are there."""
        if self.note.marks is not None:
            for page, place in pages_of(rows, MARKS, tuple(self.note.marks) or None):
                self.note.marks = list(place)
                self._write(lambda target, page=page: target.put(MARKS, page, IfTaken.KEEP), len(page))  # type: ignore[misc]
            self.note.marks = None

    # ------------------------------------------------------------ what is compared

    def _compare(self, rows: RowTransaction, table: Table) -> None:
        with self._target.read(None) as copy:
            for page in _batches(_differences(rows, copy, table)):
                self._write(lambda target, page=page: _settle(target, table, page), len(page))  # type: ignore[misc]


def _touched_since(rows: RowTransaction, after: int) -> IdsByNoun:
    ids_by_noun: IdsByNoun = {}
    for page, _ in pages_of(rows, FEED, (after,)):
        for noun, _, record_id, *_ in page:
            ids_by_noun.setdefault(noun, {})[record_id] = None
    return ids_by_noun


def _rows_under(ids_by_noun: IdsByNoun) -> Iterator[tuple[Table, tuple[Condition, ...]]]:
    """Each table with rows under ids that the feed names, and the condition for those rows."""
    for noun, ids in ids_by_noun.items():
        kind = BY_NOUN[noun]
        tables = [(table_named(kind.table), "id")]
        tables += [(table_named(kind.table_of_earlier), "id")] if kind.table_of_earlier else []
        tables += [(VECTORS, "memory_id")] if kind.record_type is Memory else []
        for some in _batches(ids):
            for table, column in tables:
                yield table, any_of(column, some)


def _count_and_last(rows: RowTransaction, table: Table, where: tuple[Condition, ...] = ()) -> tuple[int, list[Row]]:
    if table is SETTINGS:
        where = (("name", "not in", list(OWN_SETTINGS)),)
    ((count,),) = rows.scan(Selection(table, ("count",), where))
    order = order_of(table)
    if table.by_number_of:
        return int(count), []
    last = rows.scan(Selection(table, table.written, where, order=order, descending=True, limit=1))
    return int(count), [tuple(row) for row in last]


def _batches(values: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(values)
    while batch := list(islice(rest, row_copy.PAGE)):
        yield batch


class _Difference(NamedTuple):
    key: tuple[Any, ...]
    row: Row | None
    """The row that belongs there; None if none does."""
    is_there: bool
    """True if the target has something else under that key."""


def _differences(source: RowTransaction, target: RowTransaction, table: Table) -> Iterator[_Difference]:
    ours, theirs = _by_key(source, table), _by_key(target, table)
    mine, other = next(ours, None), next(theirs, None)
    while mine is not None or other is not None:
        if other is None or (mine is not None and mine[0] < other[0]):
            assert mine is not None
            yield _Difference(*mine, is_there=False)
            mine = next(ours, None)
        elif mine is None or other[0] < mine[0]:
            yield _Difference(other[0], None, is_there=True)
            other = next(theirs, None)
        else:
            if mine[1] != other[1]:
                yield _Difference(*mine, is_there=True)
            mine, other = next(ours, None), next(theirs, None)


def _by_key(rows: RowTransaction, table: Table) -> Iterator[tuple[tuple[Any, ...], Row]]:
    places = [table.written.index(column) for column in order_of(table)]
    for page, _ in pages_of(rows, table):
        for row in page:
            if table is not SETTINGS or row[0] not in OWN_SETTINGS:
                yield tuple([row[place] for place in places]), row


def _settle(rows: RowTransaction, table: Table, differences: Iterable[_Difference]) -> None:
    for key, row, is_there in differences:
        if is_there and (row is None or not table.key):
            rows.delete(table, equal(**dict(zip(order_of(table), key, strict=True))))
    rows.put(table, [difference.row for difference in differences if difference.row is not None], if_there(table))
