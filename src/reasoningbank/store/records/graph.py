"""What a walk over the memory graph asks of the records: strong edges, degrees, windows in time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reasoningbank.core.types import Edge, Node, Scope, State
from reasoningbank.ports import Tie, VertexRow
from reasoningbank.store.coding import table_of
from reasoningbank.store.records.reading import RecordRows, pairs
from reasoningbank.store.selection import Selection, any_of, equal
from reasoningbank.store.tables import EDGES, MEMORIES, NODES, NUM

_COUNTED = 1_000
"""Edges of a vertex that are counted each way: beyond that, one more makes no difference to a walk."""


class GraphRows(RecordRows):
    def strongest_edges(self, ids: Sequence[str], limit: int, field: str = "source_id") -> dict[str, list[Edge]]:
        coding = table_of(Edge)
        asked = Selection(EDGES, (*coding.row, NUM), any_of(field, ids), latest=limit, latest_by="weight")
        found: dict[str, list[tuple[int, Edge]]] = {}
        for *row, number in self._rows.scan(asked) if ids else ():
            edge = self._decode(coding, row)
            found.setdefault(getattr(edge, field), []).append((number, edge))
        strongest = {one: sorted(edges, key=lambda pair: (-pair[1].weight, -pair[0])) for one, edges in found.items()}
        return {one: [edge for _, edge in edges] for one, edges in strongest.items()}

    def strongest_ties(self, ids: Sequence[str], limit: int) -> dict[str, list[Tie]]:
        found: dict[str, list[Tie]] = {one: [] for one in ids}
        for forward, near, far in ((True, "source_id", "target_id"), (False, "target_id", "source_id")):
            columns = (near, "id", far, "weight", "kind", "tags", "origin")
            asked = Selection(EDGES, columns, any_of(near, ids), latest=limit, latest_by="weight")
            for one, edge_id, other, weight, kind, tags, origin in self._rows.scan(asked) if ids else ():
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
        for field in ("source_id", "target_id") if ids else ():
            asked = Selection(EDGES, (field, "count"), any_of(field, ids), latest=most, latest_by="weight")
            counted.update(pairs(self._rows.scan(asked)))
        return {one: number for one, number in counted.items() if number}

    def nodes_between(self, since: float, until: float, limit: int | None = None) -> list[Node]:
        coding = table_of(Node)
        where = (("start_at", "<=", until), ("end_at", ">=", since))
        asked = Selection(NODES, coding.row, where, order=("start_at", "end_at", "id"), limit=limit)
        return [self._decode(coding, row) for row in self._rows.scan(asked)]
