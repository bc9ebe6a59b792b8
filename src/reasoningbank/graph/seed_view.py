"""Writes nodes, edges and lessons in the field names of the memory graph: what `graph.drafts` reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.types import EVERY_NAMESPACE, Edge, EdgeKind, Memory, Node
from reasoningbank.graph.moments import iso_time
from reasoningbank.graph.node_fields import FIELDS
from reasoningbank.graph.subgraph import LESSON, Subgraph, Vertex
from reasoningbank.graph.vertices import find_vertices
from reasoningbank.graph.weights import band_of
from reasoningbank.guard.trust import revoked_origins
from reasoningbank.ports import Reader


def node_view(node: Node, lessons: Iterable[str] = ()) -> dict[str, Any]:
    """`lessons` are the names of those that it taught. Its vector is found by its id."""
    return {
        "id": node.name,
        "label": node.label.value,
        "conv_id": node.conv_id,
        "text": node.text,
        "ingestion_time": iso_time(node.created_at),
        "update_time": iso_time(node.updated_at),
        "embedding_id": node.id,
        "tags": list(node.tags),
        "reasoning_pointer_ids": list(lessons),
        **{name: node.fields[name] for name in FIELDS[node.label] if name in node.fields},
    }


def lesson_view(memory: Memory, nodes: Iterable[str] = ()) -> dict[str, Any]:
    """`nodes` are the names of those that taught it."""
    return {
        "rb_id": memory.key or memory.id,
        "key_lesson": memory.content,
        "context_to_prefer": memory.description,
        "tags": list(memory.tags),
        "link_nodes": list(nodes),
        "title": memory.title,
        "outcome": memory.outcome.value,
    }


def edge_view(edge: Edge, names: Mapping[str, str]) -> dict[str, Any]:
    """`names` are those of its ends, by their ids."""
    return {
        "id": edge.name or edge.id,
        "source": names.get(edge.source_id, edge.source_id),
        "target": names.get(edge.target_id, edge.target_id),
        "kind": edge.kind.value,
        "text": edge.text,
        "weight": edge.weight,
        "band": band_of(edge.weight),
        "tags": list(edge.tags),
        "created_time": iso_time(edge.created_at),
        "evidence": edge.evidence,
    }


def vertex_views(reader: Reader, vertices: Iterable[Vertex]) -> list[dict[str, Any]]:
    """Nodes and lessons, each with the names of what it points at."""
    vertices = list(vertices)
    pointers = pointers_of(reader, [vertex.id for vertex in vertices])
    return [
        node_view(vertex.record, pointers.get(vertex.id, ()))
        if isinstance(vertex.record, Node)
        else lesson_view(vertex.record, pointers.get(vertex.id, ()))
        for vertex in vertices
    ]


def subgraph_view(reader: Reader, subgraph: Subgraph) -> dict[str, list[dict[str, Any]]]:
    """A subgraph as `bank.graph.add` takes it back: nodes, edges and lessons."""
    views = vertex_views(reader, subgraph.vertices)
    names = {vertex.id: vertex.name for vertex in subgraph.vertices}
    return {
        "nodes": [view for view in views if "rb_id" not in view],
        "edges": [edge_view(edge, names) for edge in subgraph.edges],
        "lessons": [view for view in views if "rb_id" in view],
    }


def pointers_of(reader: Reader, ids: list[str]) -> dict[str, list[str]]:
    """For each node the names of the lessons that it taught, and for each lesson those of its nodes."""
    if not ids:
        return {}
    where = {"kind": EdgeKind.TEACHES.value}
    outward, inward = reader.select_either(Edge, ("source_id", "target_id"), ids, where)
    hidden_origins = revoked_origins(reader)
    pairs = {(edge.source_id, edge.target_id) for edge in outward if edge.origin not in hidden_origins}
    pairs |= {(edge.target_id, edge.source_id) for edge in inward if edge.origin not in hidden_origins}
    ends = find_vertices(reader, sorted({far for _, far in pairs}))
    pointers: dict[str, list[str]] = {}
    for near, far in pairs:
        if far in ends:
            pointers.setdefault(near, []).append(ends[far].name)
    return {near: sorted(names) for near, names in pointers.items()}


def lessons_of(context: BankContext, namespace: str | None = None) -> list[dict[str, Any]]:
    """The memories that nodes taught, in the order of their names."""
    with context.read_for_output() as reader:
        lesson_ids = {edge.target_id for edge in reader.select(Edge, {"kind": EdgeKind.TEACHES.value})}
        vertices = find_vertices(reader, sorted(lesson_ids)).values()
        scope = None if namespace == EVERY_NAMESPACE else namespace or context.namespace
        own = [vertex for vertex in vertices if vertex.label == LESSON and scope in (None, vertex.record.namespace)]
        return vertex_views(reader, sorted(own, key=lambda vertex: (vertex.name, vertex.id)))
