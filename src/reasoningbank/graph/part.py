"""A part of the memory graph to look at: the newest of a namespace, or what lies around a vertex."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Edge, Node
from reasoningbank.graph.subgraph import Subgraph, Vertex
from reasoningbank.graph.vertices import find_record, find_vertices, make_vertices
from reasoningbank.guard.trust import revoked_origins
from reasoningbank.ports import Reader

MOST_VERTICES = 5_000
DEFAULT_VERTICES = 1_000
_NEAREST_STEPS, _FURTHEST_STEPS = 2, 6


def newest_part(context: BankContext, limit: int, namespace: str | None = None) -> Subgraph:
    """The vertices that the newest edges join, then the newest nodes, as many as there is room for."""
    most, where = _check_limit(limit), namespace or context.namespace
    with context.read_for_output() as reader:
        edges = reader.select(Edge, {}, newest_first=True, limit=most)
        ends = list(dict.fromkeys(end for edge in edges for end in (edge.source_id, edge.target_id)))
        candidates = find_vertices(reader, ends).values()
        vertices = [vertex for vertex in candidates if vertex.record.namespace == where][:most]
        nodes = reader.select(Node, {"namespace": where}, newest_first=True, limit=most)
        by_id = {vertex.id: vertex for vertex in vertices}
        for vertex in make_vertices(reader, nodes):
            if len(by_id) < most:
                by_id.setdefault(vertex.id, vertex)
        return _subgraph(reader, by_id.values())


def part_around(context: BankContext, reference: str, limit: int, namespace: str | None = None) -> Subgraph:
    """A vertex with its strongest neighbours, and theirs; further on where they are few."""
    most = _check_limit(limit)
    with context.read_for_output() as reader:
        middle = find_record(context, reader, reference, namespace)
        ids = {middle.id: None}
        border: Sequence[str] = [middle.id]
        for steps in range(_FURTHEST_STEPS):
            # Where few lie within the nearest steps, the search goes further.
            if not border or (steps >= _NEAREST_STEPS and len(ids) >= 60):
                break
            # The 24 strongest edges of each vertex, each way.
            ties = reader.strongest_ties(border, 24)
            further = dict.fromkeys(
                tie.far for vertex_id in border for tie in ties.get(vertex_id, ()) if tie.far not in ids
            )
            border = list(further)[: most - len(ids)]
            ids |= dict.fromkeys(border)
        vertices = find_vertices(reader, ids)
        return _subgraph(reader, vertices.values())


def _subgraph(reader: Reader, vertices: Iterable[Vertex]) -> Subgraph:
    """The vertices with every edge that joins two of them."""
    vertices = tuple(vertices)
    ids = {vertex.id for vertex in vertices}
    [outward] = reader.select_either(Edge, ("source_id",), sorted(ids), {}) if ids else [[]]
    hidden_origins = revoked_origins(reader)
    within = [edge for edge in outward if edge.target_id in ids and edge.origin not in hidden_origins]
    return Subgraph(vertices=vertices, edges=tuple(sorted(within, key=lambda edge: (edge.created_at, edge.id))))


def _check_limit(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_VERTICES:
        raise InvalidInput(f"limit must be a whole number from 1 to {MOST_VERTICES:,}, not {limit!r}.")
    return limit
