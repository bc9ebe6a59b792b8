"""Joins a lesson that is imported with the nodes that it names as its `link_nodes`."""

from __future__ import annotations

from reasoningbank.core.ids import derived_id
from reasoningbank.core.types import Edge, EdgeKind, Memory, Node, Record
from reasoningbank.exchange.plain_memory import LINKS
from reasoningbank.graph.weights import CORE
from reasoningbank.ports import Reader


def link_edges(reader: Reader, record: Record) -> list[Edge]:
    """A `teaches` edge from each of the nodes that is here; the names of others stay in the metadata of the lesson."""
    if not isinstance(record, Memory):
        return []
    links = record.metadata.get(LINKS)
    names = [name for name in links if isinstance(name, str)] if isinstance(links, list) else []
    nodes = reader.select(Node, {"namespace": record.namespace, "name": names}) if names else []
    return [
        Edge(
            id=derived_id("edg", f"{node.id}\x1f{record.id}\x1f{EdgeKind.TEACHES}"),
            tenant=record.tenant,
            source_id=node.id,
            target_id=record.id,
            kind=EdgeKind.TEACHES,
            text="This is where the lesson was learned.",
            weight=CORE,
            tags=(),
            evidence="",
            created_at=record.created_at,
            origin=record.origin,
        )
        for node in nodes
    ]
