"""Read records of one tenant: by id, by what they say, in order, counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from reasoningbank.core.errors import BankDamaged, NotFound
from reasoningbank.core.recency import parse_position
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import Record
from reasoningbank.store.coding import RecordTable, table_of
from reasoningbank.store.selection import Selection, any_of, equal
from reasoningbank.store.tables import TOMBSTONES, Condition

if TYPE_CHECKING:
    from reasoningbank.store.engine import Row, RowTransaction

R = TypeVar("R", bound=Record)


class RecordRows:
    """Rows of one transaction, read as records."""

    def __init__(self, rows: RowTransaction, location: str, remedy: str) -> None:
        self._rows = rows
        self._location = location
        self._remedy = remedy

    def _decode(self, coding: RecordTable[R], row: Row) -> R:
        if not coding.intact(row):
            raise BankDamaged(
                f"The {coding.noun} {row[0]!r} in {self._location} does not match its checksum. "
                f"'reasoningbank verify' has the whole list. {self._remedy}"
            )
        return coding.decode(row)

    def get(self, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
        if not ids:
            return {}
        coding = table_of(kind)
        where = (("id", "is", ids[0]),) if len(ids) == 1 else any_of("id", ids)
        rows = self._rows.scan(Selection(coding.table, coding.row, where))
        return {row[0]: self._decode(coding, row) for row in rows}

    def get_each(self, ids_by_kind: Mapping[type[Any], Sequence[str]]) -> dict[type[Any], dict[str, Any]]:
        records: dict[type[Any], dict[str, Any]] = {kind: {} for kind in ids_by_kind}
        codings = {kind: table_of(kind) for kind, ids in ids_by_kind.items() if ids}
        selections = [
            Selection(coding.table, coding.row, any_of("id", ids_by_kind[kind])) for kind, coding in codings.items()
        ]
        for (kind, coding), rows in zip(codings.items(), self._rows.scan_each(selections), strict=True):
            records[kind] = {row[0]: self._decode(coding, row) for row in rows}
        return records

    def select(
        self,
        kind: type[R],
        where: Mapping[str, Any],
        *,
        newest_first: bool = False,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[R]:
        coding = table_of(kind)
        made_at = kind_of(kind).made_at if newest_first else ""
        selection = Selection(
            coding.table,
            coding.row,
            conditions(coding, where),
            order=(made_at, "id") if made_at else ("id",),
            descending=newest_first,
            after=None if after is None else self._place(coding, made_at, after, newest_first=newest_first),
            limit=limit,
        )
        return [self._decode(coding, row) for row in self._rows.scan(selection)]

    def _place(self, coding: RecordTable[Any], made_at: str, after: str, *, newest_first: bool) -> tuple[Any, ...]:
        """A place in a list, as values of the columns that order it."""
        if not newest_first:
            return (after,)
        place = parse_position(after)
        if not made_at:
            return (place.id,)
        at = place.at
        if at is None:
            rows = list(self._rows.scan(Selection(coding.table, (made_at,), equal(id=place.id))))
            if not rows:
                raise NotFound(f"There is no {coding.noun} {place.id!r} to go on from: begin the list anew.")
            at = float(rows[0][0])
        return at, place.id

    def select_either(
        self, kind: type[R], fields: Sequence[str], values: Sequence[str], where: Mapping[str, Any]
    ) -> list[list[R]]:
        """For each of `fields`, the records in which it has one of `values`: in one go, in no order."""
        coding = table_of(kind)
        restrictions = conditions(coding, where)
        selections = [Selection(coding.table, coding.row, (*any_of(field, values), *restrictions)) for field in fields]
        return [[self._decode(coding, row) for row in rows] for rows in self._rows.scan_each(selections)]

    def matching_ids(self, kind: type[R], part: str, limit: int) -> list[str]:
        test = "starts" if "_" in part else "ends"
        where = (("id", test, part),)
        rows = self._rows.scan(Selection(table_of(kind).table, ("id",), where, order=("id",), limit=limit))
        return [record_id for (record_id,) in rows]

    def count(self, kind: type[R], where: Mapping[str, Any]) -> int:
        coding = table_of(kind)
        rows = self._rows.scan(Selection(coding.table, ("count",), conditions(coding, where)))
        return sum(number for (number,) in rows)

    def tally(self, kind: type[R], by: str, where: Mapping[str, Any] = MappingProxyType({})) -> dict[str, int]:
        coding = table_of(kind)
        if by not in coding.columns:
            raise KeyError(f"{coding.noun} has no field {by!r}")
        return pairs(self._rows.scan(Selection(coding.table, (by, "count"), conditions(coding, where))))

    def revisions(self, kind: type[R], record_id: str) -> list[R]:
        coding = table_of(kind)
        if coding.earlier is None:
            return []
        rows = self._rows.scan(Selection(coding.earlier, coding.row, equal(id=record_id), order=("revision",)))
        return [self._decode(coding, row) for row in rows]

    def erased(self, ids: Sequence[str]) -> set[str]:
        return {record_id for (record_id,) in self._rows.scan(Selection(TOMBSTONES, ("id",), any_of("id", ids)))}


def conditions(coding: RecordTable[Any], where: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Conditions from fields and what they should be: a value, None, any of several, for tags all of them."""
    parts = []
    for column, value in where.items():
        if column not in coding.columns:
            raise KeyError(f"{coding.noun} has no field {column!r}")
        if column == "tags":
            parts += [(column, "has", tag) for tag in ((value,) if isinstance(value, str) else value)]
        elif isinstance(value, (list, tuple, set, frozenset)):
            parts.append((column, "in", sorted(value)))
        else:
            parts.append((column, "is", value))
    return tuple(parts)


def pairs(rows: Iterable[Row]) -> dict[str, Any]:
    """Rows of two columns as a mapping."""
    return dict(cast("Any", rows))
