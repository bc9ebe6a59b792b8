"""What is kept beside the records, without hash or feed number: exposures, vectors, tombstones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from reasoningbank.core.frozen import fields
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import EmbedderIdentity, Showing, SideRecord
from reasoningbank.store.records.reading import RecordRows, pairs
from reasoningbank.store.selection import Join, Selection, any_of, equal
from reasoningbank.store.tables import EXPOSURES, MEMORIES, VECTORS, Table, table_named

S = TypeVar("S", bound=SideRecord)
OF_NOW = Join(MEMORIES, (("memory_id", "id"), ("advice_id", "advice_id")))
"""The memory, while it advises what it did: what came of an earlier text says nothing about this one."""


def side_table_of(kind: type[Any]) -> Table:
    return table_named(kind_of(kind).table)


def row_of(table: Table, item: SideRecord) -> tuple[Any, ...]:
    return tuple([getattr(item, column) for column in table.written])


class SideRecordRows(RecordRows):
    def side_records(self, kind: type[S]) -> list[S]:
        table = side_table_of(kind)
        columns = tuple(f.name for f in fields(kind))
        rows = self._rows.scan(Selection(table, columns, order=(table.number or table.key[0],)))
        named = [dict(zip(columns, row, strict=True)) for row in rows]
        return [kind(**{**values, **_flags(values)}) for values in named]

    def vectors(self, identity: EmbedderIdentity, ids: Sequence[str]) -> dict[str, dict[str, bytes]]:
        found: dict[str, dict[str, bytes]] = {}
        where = (*any_of("memory_id", ids), *equal(identity=str(identity)))
        for memory_id, facet, vector in self._rows.scan(Selection(VECTORS, ("memory_id", "facet", "vector"), where)):
            found.setdefault(memory_id, {})[facet] = vector
        return found

    def exposure_counts(self, ids: Sequence[str]) -> dict[str, int]:
        where = (*any_of("memory_id", ids), *equal(withheld=False))
        return pairs(self._rows.scan(Selection(EXPOSURES, ("memory_id", "count"), where, joins=(OF_NOW,))))

    def shown_in(self, trajectory_id: str) -> dict[str, Showing]:
        found: dict[str, Showing] = {}
        where = equal(trajectory_id=trajectory_id, withheld=False)
        asked = Selection(EXPOSURES, ("memory_id", "rank", "advice_id", "at"), where, order=("num",))
        for memory_id, rank, advice_id, at in self._rows.scan(asked):
            there = found.get(memory_id, Showing(rank, advice_id, at))
            found[memory_id] = Showing(min(rank, there.rank), advice_id, min(at, there.first_at))
        return found


def _flags(values: dict[str, Any]) -> dict[str, bool]:
    return {"withheld": bool(values["withheld"])} if "withheld" in values else {}
