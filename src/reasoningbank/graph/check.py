"""Integrity check of the memory graph: what its nodes and edges say holds together, or is listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeVar

from reasoningbank.context import BankContext
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Edge, EdgeKind, Memory, Node
from reasoningbank.graph.node_fields import valid_node
from reasoningbank.graph.seed_view import pointers_of
from reasoningbank.ports import Damage, Reader

LINK_NODES = "link_nodes"
"""In the metadata of a lesson that was imported: the names of its nodes, as they came."""
_ROWS_PER_PAGE = 2_000

R = TypeVar("R", Node, Edge, Memory)


def check_graph(context: BankContext) -> list[Damage]:
    with context.read_for_output() as reader:
        return [*_wrong_nodes(reader), *_wrong_edges(reader), *_lost_pointers(reader)]


def _wrong_nodes(reader: Reader) -> Iterator[Damage]:
    names: Counter[tuple[str, str]] = Counter()
    for page in _pages(reader, Node):
        for node in page:
            names[node.namespace, node.name] += 1
            if names[node.namespace, node.name] == 2:
                yield Damage(kind="node", id=node.id, problem=f"the name {node.name!r} stands twice")
            try:
                valid = valid_node(node)
            except InvalidInput as error:
                yield Damage(kind="node", id=node.id, problem=f"{node.name}.{error}")
                continue
            if (valid.start_at, valid.end_at) != (node.start_at, node.end_at):
                yield Damage(kind="node", id=node.id, problem=f"{node.name}: its window is not that of its dates")


def _wrong_edges(reader: Reader) -> Iterator[Damage]:
    names: Counter[tuple[str, str]] = Counter()
    for page in _pages(reader, Edge):
        ends = sorted({end for edge in page for end in (edge.source_id, edge.target_id)})
        nodes, memories = reader.get(Node, ends), reader.get(Memory, ends)
        for edge in page:
            for problem in _problems(edge, nodes, memories):
                yield Damage(kind="edge", id=edge.id, problem=problem)
            source = nodes.get(edge.source_id) or memories.get(edge.source_id)
            if edge.name and source is not None:
                names[source.namespace, edge.name] += 1
                if names[source.namespace, edge.name] == 2:
                    yield Damage(kind="edge", id=edge.id, problem=f"the name {edge.name!r} stands twice")


def _problems(edge: Edge, nodes: dict[str, Node], memories: dict[str, Memory]) -> Iterator[str]:
    for field, end in (("source_id", edge.source_id), ("target_id", edge.target_id)):
        if end not in nodes and end not in memories:
            yield f"{field} {end} leads to nothing"
    if edge.source_id == edge.target_id:
        yield "it joins its end to itself"
    if not 0.0 <= edge.weight <= 1.0:
        yield f"weight {edge.weight!r} is not from 0 to 1"
    if edge.kind is EdgeKind.TEACHES and edge.target_id in nodes:
        yield "it teaches a node: only a lesson can be taught"


def _lost_pointers(reader: Reader) -> Iterator[Damage]:
    """Nodes that a lesson from elsewhere names and that are not joined with it."""
    for page in _pages(reader, Memory):
        references = {memory.id: memory.metadata.get(LINK_NODES) for memory in page if LINK_NODES in memory.metadata}
        pointers = pointers_of(reader, sorted(references))
        for lesson_id, names in references.items():
            for name in names if isinstance(names, list) else ():
                if name not in pointers.get(lesson_id, ()):
                    yield Damage(kind="memory", id=lesson_id, problem=f"{LINK_NODES}: {name!r} leads to nothing")


def _pages(reader: Reader, kind: type[R]) -> Iterator[list[R]]:
    after: str | None = None
    while page := reader.select(kind, {}, after=after, limit=_ROWS_PER_PAGE):
        yield page
        after = page[-1].id
