"""Nodes, lessons and edges of the memory graph in the field names in which callers write them down.

    node     id label conv_id text tags reasoning_pointer_ids ingestion_time update_time origin + those of its label
    lesson   id label key_lesson context_to_prefer title outcome tags link_nodes ingestion_time update_time origin
    edge     id source target kind text weight tags evidence created_time

`reasoning_pointer_ids` and `link_nodes` are read off the `teaches` edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reasoningbank.core.types import Edge, EdgeKind, Memory, Node
from reasoningbank.graph.moments import iso_time
from reasoningbank.graph.subgraph import GraphPath, Subgraph, Vertex, Walk

SeedEntry = dict[str, Any]


def vertex_entry(vertex: Vertex, joined: Iterable[str] = ()) -> SeedEntry:
    """`joined` names the lessons that a node taught, or the nodes that a lesson was learned from."""
    record = vertex.record
    entry = {"id": vertex.name, "label": vertex.label}
    entry |= _lesson_fields(record, joined) if isinstance(record, Memory) else _node_fields(record, joined)
    return {
        **entry,
        "ingestion_time": iso_time(record.created_at),
        "update_time": iso_time(record.updated_at),
        "origin": record.origin,
    }


def _node_fields(node: Node, lessons: Iterable[str]) -> SeedEntry:
    return {
        "conv_id": node.conv_id,
        "text": node.text,
        "tags": list(node.tags),
        "reasoning_pointer_ids": list(lessons),
        **node.fields,
    }


def _lesson_fields(memory: Memory, nodes: Iterable[str]) -> SeedEntry:
    return {
        "key_lesson": memory.content,
        "context_to_prefer": memory.description,
        "title": memory.title,
        "outcome": memory.outcome.value,
        "tags": list(memory.tags),
        "link_nodes": list(nodes),
    }


def edge_entry(edge: Edge, names: Mapping[str, str]) -> SeedEntry:
    """`names` has the names of the vertices by their ids."""
    return {
        "id": edge.name or edge.id,
        "source": names.get(edge.source_id, edge.source_id),
        "target": names.get(edge.target_id, edge.target_id),
        "kind": edge.kind.value,
        "text": edge.text or reason_in_words(edge.kind.value, edge.evidence),
        "weight": edge.weight,
        "tags": list(edge.tags),
        "evidence": edge.evidence,
        "created_time": iso_time(edge.created_at),
    }


def reason_in_words(kind: str, evidence: str) -> str:
    """For an edge without a sentence."""
    return evidence or kind.replace("_", " ")


def subgraph_entries(subgraph: Subgraph) -> tuple[list[SeedEntry], list[SeedEntry]]:
    """Nodes with lessons, and edges."""
    names = {vertex.id: vertex.name for vertex in subgraph.vertices}
    taught = teaching(subgraph.edges, names)
    nodes = [vertex_entry(vertex, taught.get(vertex.id, ())) for vertex in subgraph.vertices]
    return nodes, [edge_entry(edge, names) for edge in subgraph.edges]


def teaching(edges: Iterable[Edge], names: Mapping[str, str]) -> dict[str, list[str]]:
    """For each node the names of its lessons, for each lesson those of its nodes."""
    joined: dict[str, list[str]] = {}
    for edge in edges:
        if edge.kind is EdgeKind.TEACHES and edge.source_id in names and edge.target_id in names:
            joined.setdefault(edge.source_id, []).append(names[edge.target_id])
            joined.setdefault(edge.target_id, []).append(names[edge.source_id])
    return joined


def walk_subgraph(walk: Walk) -> Subgraph:
    """Everything on the paths of a walk, and the seeds beside them, each once."""
    return _united([hit.vertex for hit in walk.seeds if hit.vertex is not None], walk.paths)


def paths_subgraph(paths: Iterable[GraphPath]) -> Subgraph:
    return _united([], paths)


def _united(seeds: Iterable[Vertex], paths: Iterable[GraphPath]) -> Subgraph:
    vertices = {vertex.id: vertex for vertex in seeds}
    edges: dict[str, Edge] = {}
    for path in paths:
        vertices.setdefault(path.seed.id, path.seed)
        for hop in path.hops:
            vertices.setdefault(hop.vertex.id, hop.vertex)
            edges.setdefault(hop.edge.id, hop.edge)
    return Subgraph(vertices=tuple(vertices.values()), edges=tuple(edges.values()))
