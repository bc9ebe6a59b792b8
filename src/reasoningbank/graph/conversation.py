"""The snapshot of one conversation, and its erasure."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.errors import NotFound
from reasoningbank.core.types import EVERY_NAMESPACE, Edge, EdgeKind, Node
from reasoningbank.graph.subgraph import Subgraph
from reasoningbank.graph.vertices import find_vertices, make_vertices
from reasoningbank.guard.trust import revoked_origins
from reasoningbank.ports import Reader, Writer


def snapshot(context: BankContext, conv_id: str, namespace: str | None = None) -> Subgraph:
    """A conversation's nodes as they came, the lessons learned from them, and every edge that joins two of these."""
    with context.read_for_output() as reader:
        nodes = sorted(nodes_of(context, reader, conv_id, namespace), key=lambda node: (node.created_at, node.id))
        own = make_vertices(reader, nodes)
        ids = [vertex.id for vertex in own]
        outward, inward = reader.select_either(Edge, ("source_id", "target_id"), ids, {}) if ids else ([], [])
        hidden_origins = revoked_origins(reader)
        edges = {edge.id: edge for edge in (*outward, *inward) if edge.origin not in hidden_origins}
        lesson_ids = [edge.target_id for edge in edges.values() if edge.kind is EdgeKind.TEACHES]
        lessons = find_vertices(reader, sorted(set(lesson_ids) - set(ids)))
    vertex_ids = {*ids, *lessons}
    within = [edge for edge in edges.values() if {edge.source_id, edge.target_id} <= vertex_ids]
    return Subgraph(
        vertices=(*own, *lessons.values()),
        edges=tuple(sorted(within, key=lambda edge: (edge.created_at, edge.id))),
    )


def nodes_of(context: BankContext, reader: Reader, conv_id: str, namespace: str | None) -> list[Node]:
    where = {"conv_id": context.scrubber.scrub(conv_id).text}
    if namespace != EVERY_NAMESPACE:
        where["namespace"] = namespace or context.namespace
    return reader.select(Node, where)


def existing_nodes(context: BankContext, reader: Reader, conv_id: str, namespace: str | None) -> list[Node]:
    nodes = nodes_of(context, reader, conv_id, namespace)
    if not nodes:
        raise NotFound(f"There is no conversation {conv_id!r} in namespace {namespace or context.namespace!r}.")
    return nodes


def tally(context: BankContext, namespace: str | None = None) -> dict[str, int]:
    """Number of nodes of each conversation in a namespace."""
    where = {} if namespace == EVERY_NAMESPACE else {"namespace": namespace or context.namespace}
    with context.read_for_output() as reader:
        counts = reader.tally(Node, "conv_id", where)
    return {str(conv_id): count for conv_id, count in sorted(counts.items())}


def count_with_edges(reader: Reader, nodes: Sequence[Node]) -> dict[str, int]:
    """Number of these nodes, and of the edges that go when they go."""
    ids = [node.id for node in nodes]
    joining = reader.select_either(Edge, ("source_id", "target_id"), ids, {}) if ids else []
    return {"nodes": len(ids), "edges": len({edge.id for edges in joining for edge in edges})}


def erase(context: BankContext, conv_id: str, namespace: str | None = None) -> int:
    def change(writer: Writer) -> int:
        nodes = existing_nodes(context, writer, conv_id, namespace)
        for node in nodes:
            writer.remove(Node, node.id)
        return len(nodes)

    return context.store.write(context.tenant, change)
