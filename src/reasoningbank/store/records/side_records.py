"""Side records, without hash or feed number: exposures, vectors, tombstones."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, TypeVar

from reasoningbank.core.frozen import fields
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import EmbedderIdentity, Showing, SideRecord, Signal
from reasoningbank.ports import Earned
from reasoningbank.store.coding import table_of
from reasoningbank.store.records.reading import RecordRows, pairs
from reasoningbank.store.records.trust import kept_levels
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
        items = [dict(zip(columns, row, strict=True)) for row in rows]
        return [kind(**{**values, **_flags(values)}) for values in items]

    def vectors(self, identity: EmbedderIdentity, ids: Sequence[str]) -> dict[str, dict[str, bytes]]:
        by_memory: dict[str, dict[str, bytes]] = {}
        where = (*any_of("memory_id", ids), *equal(identity=str(identity)))
        for memory_id, facet, vector in self._rows.scan(Selection(VECTORS, ("memory_id", "facet", "vector"), where)):
            by_memory.setdefault(memory_id, {})[facet] = vector
        return by_memory

    def exposure_counts(self, ids: Sequence[str]) -> dict[str, int]:
        return pairs(self._rows.scan(_exposures_of(ids)))

    def earned_by(self, ids: Sequence[str], doubtful: Sequence[str]) -> Earned:
        coding = table_of(Signal)
        signals_by_id: dict[str, list[Signal]] = {memory_id: [] for memory_id in ids}
        if not ids:
            return Earned(signals_by_id, {}, {})
        selections = [
            Selection(coding.table, coding.row, any_of("memory_id", ids)),
            _exposures_of(ids),
            *([kept_levels(doubtful)] if doubtful else []),
        ]
        signals, exposures, *levels = self._rows.scan_each(selections)
        for row in sorted(signals, key=itemgetter(0)):
            signal = self._decode(coding, row)
            signals_by_id[signal.memory_id].append(signal)
        return Earned(signals_by_id, pairs(exposures), pairs(levels[0]) if levels else {})

    def shown_in(self, trajectory_id: str) -> dict[str, Showing]:
        showings: dict[str, Showing] = {}
        where = equal(trajectory_id=trajectory_id, withheld=False)
        selection = Selection(EXPOSURES, ("memory_id", "rank", "advice_id", "at"), where, order=("num",))
        for memory_id, rank, advice_id, at in self._rows.scan(selection):
            there = showings.get(memory_id, Showing(rank, advice_id, at))
            showings[memory_id] = Showing(min(rank, there.rank), advice_id, min(at, there.first_at))
        return showings

    def shown_to(self, memory_id: str, limit: int) -> dict[str, float]:
        where = equal(memory_id=memory_id, withheld=False)
        rows = self._rows.scan(Selection(EXPOSURES, ("trajectory_id", "max:at"), where))
        moments = [(trajectory_id, at) for trajectory_id, at in rows if trajectory_id is not None]
        return dict(sorted(moments, key=lambda row: (-row[1], row[0]))[:limit])


def _exposures_of(ids: Sequence[str]) -> Selection:
    where = (*any_of("memory_id", ids), *equal(withheld=False))
    return Selection(EXPOSURES, ("memory_id", "count"), where, joins=(OF_NOW,))


def _flags(values: dict[str, Any]) -> dict[str, bool]:
    return {"withheld": bool(values["withheld"])} if "withheld" in values else {}
