"""Queries of a walk over the memory graph: strong edges, degrees, windows in time."""

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
        columns, restrictions = (*coding.row, NUM), conditions(coding, where)
        selections = [
            Selection(EDGES, columns, (*any_of(field, ids), *restrictions), latest=limit, latest_by="weight")
            for field in fields
        ]
        strongest = []
        for rows in self._rows.scan_each(selections):
            edges = [(number, self._decode(coding, row)) for *row, number in rows]
            strongest.append([edge for _, edge in sorted(edges, key=lambda pair: (-pair[1].weight, -pair[0]))])
        return strongest

    def strongest_ties(self, ids: Sequence[str], limit: int) -> dict[str, list[Tie]]:
        ties: dict[str, list[Tie]] = {vertex_id: [] for vertex_id in ids}
        if not ids:
            return ties
        selections = [
            Selection(
                EDGES,
                (near, "id", far, "weight", "kind", "tags", "origin"),
                any_of(near, ids),
                latest=limit,
                latest_by="weight",
            )
            for near, far in (("source_id", "target_id"), ("target_id", "source_id"))
        ]
        for forward, rows in zip((True, False), self._rows.scan_each(selections), strict=True):
            for vertex_id, edge_id, other, weight, kind, tags, origin in rows:
                ties[vertex_id].append(Tie(edge_id, other, weight, forward, kind, tags, origin))
        return ties

    def vertex_rows(self, ids: Sequence[str]) -> dict[str, VertexRow]:
        vertices = {}
        if nodes := [node_id for node_id in ids if not node_id.startswith("mem_")]:
            selection = Selection(NODES, ("id", "namespace", "origin", "label", "conv_id"), any_of("id", nodes))
            vertices = {node_id: VertexRow(*rest) for node_id, *rest in self._rows.scan(selection)}
        if memories := [memory_id for memory_id in ids if memory_id not in vertices]:
            selection = Selection(MEMORIES, ("id", "namespace", "origin", "state", "scope"), any_of("id", memories))
            for memory_id, namespace, origin, state, scope in self._rows.scan(selection):
                vertices[memory_id] = VertexRow(namespace, origin, "", "", State(state), Scope(scope))
        return vertices

    def node_ids(self, namespace: str, names: Sequence[str]) -> dict[str, str]:
        where = (*equal(namespace=namespace), *any_of("name", names))
        return pairs(self._rows.scan(Selection(NODES, ("name", "id"), where)))

    def degrees(self, ids: Sequence[str], most: int = _COUNTED) -> dict[str, int]:
        totals: Counter[str] = Counter()
        selections = [
            Selection(EDGES, (field, "count"), any_of(field, ids), latest=most, latest_by="weight")
            for field in ("source_id", "target_id")
        ]
        for rows in self._rows.scan_each(selections) if ids else ():
            totals.update(pairs(rows))
        return {vertex_id: number for vertex_id, number in totals.items() if number}

    def nodes_between(self, since: float, until: float, limit: int | None = None) -> list[Node]:
        coding = table_of(Node)
        where = (("start_at", "<=", until), ("end_at", ">=", since))
        selection = Selection(NODES, coding.row, where, order=("start_at", "end_at", "id"), limit=limit)
        return [self._decode(coding, row) for row in self._rows.scan(selection)]
