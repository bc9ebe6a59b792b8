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
_TIES = 24
"""Of each vertex, so many of its strongest edges each way lead on."""
_NEAREST_STEPS, _FURTHEST_STEPS = 2, 6
_ENOUGH = 60
"""Where fewer lie within the nearest steps, one looks further."""


def newest_part(context: BankContext, limit: int, namespace: str | None = None) -> Subgraph:
    """The vertices that the newest edges join, then the newest nodes, as many as there is room for."""
    most, where = _checked(limit), namespace or context.namespace
    with context.read_for_output() as reader:
        edges = reader.select(Edge, {}, newest_first=True, limit=most)
        ends = list(dict.fromkeys(end for edge in edges for end in (edge.source_id, edge.target_id)))
        joined = _of_namespace(find_vertices(reader, ends).values(), where)[:most]
        nodes = reader.select(Node, {"namespace": where}, newest_first=True, limit=most)
        there = {vertex.id: vertex for vertex in joined}
        for vertex in make_vertices(reader, nodes):
            if len(there) < most:
                there.setdefault(vertex.id, vertex)
        return _subgraph(reader, there.values())


def part_around(context: BankContext, reference: str, limit: int, namespace: str | None = None) -> Subgraph:
    """A vertex with its strongest neighbours, and theirs; further on where they are few."""
    most = _checked(limit)
    with context.read_for_output() as reader:
        middle = find_record(context, reader, reference, namespace)
        reached = {middle.id: None}
        border: Sequence[str] = [middle.id]
        for steps in range(_FURTHEST_STEPS):
            if not border or (steps >= _NEAREST_STEPS and len(reached) >= _ENOUGH):
                break
            ties = reader.strongest_ties(border, _TIES)
            further = dict.fromkeys(tie.far for one in border for tie in ties.get(one, ()) if tie.far not in reached)
            border = list(further)[: most - len(reached)]
            reached |= dict.fromkeys(border)
        found = find_vertices(reader, reached)
        return _subgraph(reader, found.values())


def _of_namespace(vertices: Iterable[Vertex], namespace: str) -> list[Vertex]:
    return [vertex for vertex in vertices if vertex.record.namespace == namespace]


def _subgraph(reader: Reader, vertices: Iterable[Vertex]) -> Subgraph:
    """With every edge that joins two of them."""
    listed = tuple(vertices)
    ids = {vertex.id for vertex in listed}
    [outward] = reader.select_either(Edge, ("source_id",), sorted(ids), {}) if ids else [[]]
    revoked = revoked_origins(reader)
    within = [edge for edge in outward if edge.target_id in ids and edge.origin not in revoked]
    return Subgraph(vertices=listed, edges=tuple(sorted(within, key=lambda edge: (edge.created_at, edge.id))))


def _checked(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_VERTICES:
        raise InvalidInput(f"limit must be a whole number from 1 to {MOST_VERTICES:,}, not {limit!r}.")
    return limit
