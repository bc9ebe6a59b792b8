"""Exports the memory graph, or a part of it, as GraphML, Cypher or JSON nodes and links: lines, one after the other.

The whole graph of a namespace is read page by page, all of one moment: its nodes, the lessons that an edge joins to
them, and the edges among those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_name
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import EVERY_NAMESPACE, Edge, EdgeKind, Memory, Node, NodeLabel, Record
from reasoningbank.exchange.graph_files.cypher_writer import cypher_lines
from reasoningbank.exchange.graph_files.fields import Entry
from reasoningbank.exchange.graph_files.graphml_writer import graphml_lines
from reasoningbank.exchange.graph_files.node_link_writer import count_links, node_link_lines
from reasoningbank.graph.graph_entries import edge_entry, subgraph_entries, teaching, vertex_entry
from reasoningbank.graph.subgraph import Subgraph, Vertex
from reasoningbank.graph.vertices import make_vertices
from reasoningbank.guard.trust import revoked_origins
from reasoningbank.ports import Reader

_ROWS_PER_PAGE = 1_000
R = TypeVar("R", bound=Record)
V = TypeVar("V")
GRAPH_FORMATS = ("graphml", "cypher", "json")

Writing = Callable[[Iterable[Entry], Iterable[Entry], Callable[[], Counter[str]]], Iterator[str]]
_WRITERS: dict[str, Writing] = {
    "graphml": lambda nodes, edges, _: graphml_lines(nodes, edges),
    "cypher": lambda nodes, edges, _: cypher_lines(nodes, edges, NodeLabel),
    "json": lambda nodes, edges, sizes: node_link_lines(nodes, edges, sizes()),
}


def export_part(part: Subgraph, form: str) -> Generator[str, None, None]:
    """A conversation, what a walk has found, or another selection."""
    write = writing(form)
    nodes, edges = subgraph_entries(part)

    def lines() -> Generator[str, None, None]:
        yield from write(nodes, edges, lambda: count_links(edges))

    return lines()


def export_graph(context: BankContext, form: str, namespace: str | None) -> Generator[str, None, None]:
    write = writing(form)
    """`namespace` "*" is every one; None is the bank's own."""
    return _export(context, write, clean_name(namespace or context.namespace, "namespace"))


def writing(form: str) -> Writing:
    if form not in _WRITERS:
        raise InvalidInput(f"format {form!r} is unknown: use one of {', '.join(GRAPH_FORMATS)}.")
    return _WRITERS[form]


def _export(context: BankContext, write: Writing, namespace: str) -> Generator[str, None, None]:
    with context.read_for_output() as reader:
        graph = StoredGraph(reader, namespace)
        yield from write(graph.nodes(), graph.edges(), lambda: count_links(graph.edges()))


class StoredGraph:
    """The graph of one namespace, or of all, as it stands in the store. Names are gathered first: edges tell them."""

    def __init__(self, reader: Reader, namespace: str) -> None:
        self._reader = reader
        self._where = {} if namespace == EVERY_NAMESPACE else {"namespace": namespace}
        self._revoked = revoked_origins(reader)
        self._names: dict[str, str] = {}
        # Ids of the memories at the ends of edges.
        prefix = f"{kind_of(Memory).prefix}_"
        ends = (end for edge in self._said({}) for end in (edge.source_id, edge.target_id))
        self._lessons = list(dict.fromkeys(end for end in ends if end.startswith(prefix)))
        names: set[str] = set()
        for vertex in self._vertices():
            # A name that is taken already, in another namespace or by a node, names nothing any more.
            self._names[vertex.id] = vertex.id if vertex.name in names else vertex.name
            names.add(vertex.name)
        self._taught = teaching(self._said({"kind": EdgeKind.TEACHES.value}), self._names)

    def nodes(self) -> Iterator[Entry]:
        for vertex in self._vertices():
            yield {**vertex_entry(vertex, self._taught.get(vertex.id, ())), "id": self._names[vertex.id]}

    def edges(self) -> Iterator[Entry]:
        for edge in self._said({}):
            if edge.source_id in self._names and edge.target_id in self._names:
                yield edge_entry(edge, self._names)

    def _vertices(self) -> Iterator[Vertex]:
        """Every node, and the lessons that an edge touches."""
        for nodes in batched(self._rows(Node, self._where)):
            yield from make_vertices(self._reader, nodes)
        for ids in batched(self._lessons):
            memories = self._reader.get(Memory, ids).values()
            lessons = [memory for memory in memories if self._where.items() <= {"namespace": memory.namespace}.items()]
            yield from make_vertices(self._reader, lessons)

    def _said(self, where: dict[str, Any]) -> Iterator[Edge]:
        """Edges whose origin was not revoked."""
        return (edge for edge in self._rows(Edge, where) if edge.origin not in self._revoked)

    def _rows(self, kind: type[R], where: dict[str, Any]) -> Iterator[R]:
        after: str | None = None
        while page := self._reader.select(kind, where, after=after, limit=_ROWS_PER_PAGE):
            yield from page
            after = page[-1].id


def batched(values: Iterable[V]) -> Iterator[list[V]]:
    iterator = iter(values)
    while batch := list(islice(iterator, _ROWS_PER_PAGE)):
        yield batch
