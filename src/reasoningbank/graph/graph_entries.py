"""Nodes, lessons and edges of the memory graph as entries of one list of nodes and one of edges.

The field names are those of `graph.seed_view`. A lesson is a node here, with the label Lesson and its `rb_id` as `id`;
`reasoning_pointer_ids` and `link_nodes` are read off the `teaches` edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reasoningbank.core.types import Edge, EdgeKind, Memory
from reasoningbank.graph.moments import iso_time
from reasoningbank.graph.seed_view import edge_view, lesson_view, node_view
from reasoningbank.graph.subgraph import GraphPath, Subgraph, Vertex, Walk

SeedEntry = dict[str, Any]


def vertex_entry(vertex: Vertex, pointers: Iterable[str] = ()) -> SeedEntry:
    """Entry of a vertex; `pointers` names the lessons that a node taught, or the nodes that a lesson was learned
    from.
    """
    record = vertex.record
    view = lesson_view(record, pointers) if isinstance(record, Memory) else node_view(record, pointers)
    return {
        "id": vertex.name,
        "label": vertex.label,
        **{name: value for name, value in view.items() if name not in ("rb_id", "embedding_id")},
        "ingestion_time": iso_time(record.created_at),
        "update_time": iso_time(record.updated_at),
        "origin": record.origin,
    }


def edge_entry(edge: Edge, names: Mapping[str, str]) -> SeedEntry:
    """`names` has the names of the vertices by their ids."""
    return {**edge_view(edge, names), "text": edge.text or reason_in_words(edge.kind.value, edge.evidence)}


def reason_in_words(kind: str, evidence: str) -> str:
    """For an edge without a sentence."""
    return evidence or kind.replace("_", " ")


def subgraph_entries(subgraph: Subgraph) -> tuple[list[SeedEntry], list[SeedEntry]]:
    """Nodes with lessons, and edges."""
    names = {vertex.id: vertex.name for vertex in subgraph.vertices}
    pointers = teaching(subgraph.edges, names)
    nodes = [vertex_entry(vertex, pointers.get(vertex.id, ())) for vertex in subgraph.vertices]
    return nodes, [edge_entry(edge, names) for edge in subgraph.edges]


def teaching(edges: Iterable[Edge], names: Mapping[str, str]) -> dict[str, list[str]]:
    """For each node the names of its lessons, for each lesson those of its nodes."""
    pointers: dict[str, list[str]] = {}
    for edge in edges:
        if edge.kind is EdgeKind.TEACHES and edge.source_id in names and edge.target_id in names:
            pointers.setdefault(edge.source_id, []).append(names[edge.target_id])
            pointers.setdefault(edge.target_id, []).append(names[edge.source_id])
    return pointers


def walk_subgraph(walk: Walk) -> Subgraph:
    """Everything on the paths of a walk, and the seeds beside them, each once."""
    return _union_of([hit.vertex for hit in walk.seeds if hit.vertex is not None], walk.paths)


def paths_subgraph(paths: Iterable[GraphPath]) -> Subgraph:
    return _union_of([], paths)


def _union_of(seeds: Iterable[Vertex], paths: Iterable[GraphPath]) -> Subgraph:
    vertices = {vertex.id: vertex for vertex in seeds}
    edges: dict[str, Edge] = {}
    for path in paths:
        vertices.setdefault(path.seed.id, path.seed)
        for hop in path.hops:
            vertices.setdefault(hop.vertex.id, hop.vertex)
            edges.setdefault(hop.edge.id, hop.edge)
    return Subgraph(vertices=tuple(vertices.values()), edges=tuple(edges.values()))
