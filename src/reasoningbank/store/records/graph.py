"""What a walk over the memory graph asks of the records: strong edges, degrees, windows in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from reasoningbank.core.types import Edge, Node, Scope, State
from reasoningbank.ports import Tie, VertexRow
from reasoningbank.store.coding import table_of
from reasoningbank.store.records.reading import RecordRows, conditions, pairs
from reasoningbank.store.selection import Selection, any_of, equal
from reasoningbank.store.tables import EDGES, MEMORIES, NODES, NUM

_COUNTED = 1_000
"""Edges of a vertex that are counted each way: beyond that, one more makes no difference to a walk."""


class GraphRows(RecordRows):
    def strongest_edges(
        self,
        ids: Sequence[str],
        limit: int,
        fields: Sequence[str] = ("source_id", "target_id"),
        where: Mapping[str, Any] = MappingProxyType({}),
    ) -> list[list[Edge]]:
        if not ids:
            return [[] for _ in fields]
        coding = table_of(Edge)
        columns, narrowed = (*coding.row, NUM), conditions(coding, where)
        asked = [
            Selection(EDGES, columns, (*any_of(field, ids), *narrowed), latest=limit, latest_by="weight")
            for field in fields
        ]
        strongest = []
        for rows in self._rows.scan_each(asked):
            found = [(number, self._decode(coding, row)) for *row, number in rows]
            strongest.append([edge for _, edge in sorted(found, key=lambda pair: (-pair[1].weight, -pair[0]))])
        return strongest

    def strongest_ties(self, ids: Sequence[str], limit: int) -> dict[str, list[Tie]]:
        found: dict[str, list[Tie]] = {one: [] for one in ids}
        if not ids:
            return found
        asked = [
            Selection(
                EDGES,
                (near, "id", far, "weight", "kind", "tags", "origin"),
                any_of(near, ids),
                latest=limit,
                latest_by="weight",
            )
            for near, far in (("source_id", "target_id"), ("target_id", "source_id"))
        ]
        for forward, rows in zip((True, False), self._rows.scan_each(asked), strict=True):
            for one, edge_id, other, weight, kind, tags, origin in rows:
                found[one].append(Tie(edge_id, other, weight, forward, kind, tags, origin))
        return found

    def vertex_rows(self, ids: Sequence[str]) -> dict[str, VertexRow]:
        found = {}
        if nodes := [one for one in ids if not one.startswith("mem_")]:
            asked = Selection(NODES, ("id", "namespace", "origin", "label", "conv_id"), any_of("id", nodes))
            found = {one: VertexRow(*rest) for one, *rest in self._rows.scan(asked)}
        if memories := [one for one in ids if one not in found]:
            asked = Selection(MEMORIES, ("id", "namespace", "origin", "state", "scope"), any_of("id", memories))
            for one, namespace, origin, state, scope in self._rows.scan(asked):
                found[one] = VertexRow(namespace, origin, "", "", State(state), Scope(scope))
        return found

    def node_ids(self, namespace: str, names: Sequence[str]) -> dict[str, str]:
        where = (*equal(namespace=namespace), *any_of("name", names))
        return pairs(self._rows.scan(Selection(NODES, ("name", "id"), where)))

    def degrees(self, ids: Sequence[str], most: int = _COUNTED) -> dict[str, int]:
        counted: Counter[str] = Counter()
        asked = [
            Selection(EDGES, (field, "count"), any_of(field, ids), latest=most, latest_by="weight")
            for field in ("source_id", "target_id")
        ]
        for rows in self._rows.scan_each(asked) if ids else ():
            counted.update(pairs(rows))
        return {one: number for one, number in counted.items() if number}

    def nodes_between(self, since: float, until: float, limit: int | None = None) -> list[Node]:
        coding = table_of(Node)
        where = (("start_at", "<=", until), ("end_at", ">=", since))
        asked = Selection(NODES, coding.row, where, order=("start_at", "end_at", "id"), limit=limit)
        return [self._decode(coding, row) for row in self._rows.scan(asked)]
