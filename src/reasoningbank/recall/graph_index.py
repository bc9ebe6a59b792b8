"""Index of the memory graph's nodes and edge sentences, as rows like those of memories.

A node or an edge is found by its words and its marks. The marks are tags without a word in them: a filter can ask for a
label or a conversation before anything is compared, and no question meets them by its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.digest import blake2b
from reasoningbank.core.types import Edge, Memory, Node, NodeLabel, Scope
from reasoningbank.graph.graph_query import EDGE
from reasoningbank.ports import Reader, Store
from reasoningbank.recall.index_follower import Follower
from reasoningbank.recall.side_index import make_row

INDEXED = (*(label.value for label in NodeLabel), EDGE)
MOST_FIELD_CHARS = 2_000
_FIRST_PRIVATE = 0xE000
_ROLE = "user_role"


class GraphFollower(Follower):
    """Keeps the index of nodes and edge sentences in step. An edge without a sentence has no row."""

    kinds = frozenset({"node", "edge"})
    facet = "content"
    weighs_evidence = False

    @staticmethod
    def rows_of(store: Store, ids: Sequence[str]) -> dict[str, Memory]:
        nodes = store.unscoped(Node, [record_id for record_id in ids if record_id.startswith("nod_")])
        edges = store.unscoped(Edge, [record_id for record_id in ids if record_id.startswith("edg_")])
        sentences = {i: edge for i, edge in edges.items() if edge.text}
        ends = sorted({end for edge in sentences.values() for end in (edge.source_id, edge.target_id)})
        vertices: dict[str, Node | Memory] = (
            {**store.unscoped(Node, ends), **store.unscoped(Memory, ends)} if ends else {}
        )
        rows = {i: _node_row(node) for i, node in nodes.items()}
        for i, edge in sentences.items():
            if edge.source_id in vertices and edge.target_id in vertices:
                rows[i] = _edge_row(edge, [vertices[edge.source_id], vertices[edge.target_id]])
        return rows


def has_nodes(reader: Reader) -> bool:
    return bool(reader.select(Node, {}, limit=1))


def _node_row(node: Node) -> Memory:
    role = node.fields.get(_ROLE)
    marks = (make_mark("label", node.label.value), make_mark("conv_id", node.conv_id))
    words = " ".join(_words_in(node.fields))[:MOST_FIELD_CHARS]
    return make_row(
        node.id,
        node.tenant,
        node.namespace,
        node.text,
        node.created_at,
        key=node.name if node.name != node.id else None,
        tags=(*node.tags, *marks, *((words,) if words else ())),
        agent=str(role) if role else None,
    )


def _edge_row(edge: Edge, ends: Sequence[Node | Memory]) -> Memory:
    """An edge is found where its nodes are. One between memories is found everywhere and shown where they are: they may
    move to another namespace, and nothing would tell the index.
    """
    nodes = [end for end in ends if isinstance(end, Node)]
    talks = sorted({node.conv_id for node in nodes})
    return make_row(
        edge.id,
        edge.tenant,
        nodes[0].namespace if nodes else "",
        edge.text,
        edge.created_at,
        scope=Scope.PROJECT if nodes else Scope.ORG,
        key=edge.name or None,
        tags=(*edge.tags, make_mark("label", EDGE), *(make_mark("conv_id", talk) for talk in talks)),
    )


def _words_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (word for item in value.values() for word in _words_in(item))
    elif isinstance(value, Iterable):
        yield from (word for item in value for word in _words_in(item))
    elif value is not None:
        yield str(value)


def make_mark(kind: str, value: str) -> str:
    """A tag that stands for what a node is, of characters that no word is made of."""
    digest = blake2b(f"{kind} {value}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return "".join(chr(_FIRST_PRIVATE + byte) for byte in digest)
