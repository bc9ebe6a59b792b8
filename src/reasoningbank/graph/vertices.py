"""Finds vertices of the memory graph: nodes and memories, by id, name or key, as far as they may be shown.

What came from a revoked origin is not shown, nor is a memory that is not active.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.context import LIVE_STATES, BankContext, full_id
from reasoningbank.core.drafts import MAX_TITLE_CHARS, required_text
from reasoningbank.core.errors import NotFound
from reasoningbank.core.origins import Trust, level_of
from reasoningbank.core.types import Memory, Node, State
from reasoningbank.graph.subgraph import LESSON, Vertex
from reasoningbank.guard.trust import levels_of, revoked_origins, trust_of
from reasoningbank.ports import Reader


def find_vertices(reader: Reader, ids: Iterable[str]) -> dict[str, Vertex]:
    """The vertices with these ids that may be shown."""
    unique_ids = list(dict.fromkeys(ids))
    if not unique_ids:
        return {}
    nodes = reader.get(Node, [vertex_id for vertex_id in unique_ids if not vertex_id.startswith("mem_")])
    lacking = [vertex_id for vertex_id in unique_ids if vertex_id not in nodes]
    memories = reader.get(Memory, lacking) if lacking else {}
    return {vertex.id: vertex for vertex in make_vertices(reader, [*nodes.values(), *memories.values()])}


def make_vertices(reader: Reader, records: Sequence[Node | Memory]) -> list[Vertex]:
    """Records as vertices, without those that may not be shown."""
    hidden_origins = revoked_origins(reader) if any(record.origin != "user" for record in records) else frozenset()
    memories = [record for record in records if isinstance(record, Memory)]
    levels = levels_of(reader, memories)
    vertices: list[Vertex] = []
    for record in records:
        if record.origin in hidden_origins:
            continue
        if isinstance(record, Node):
            vertices.append(_node_vertex(record))
        elif record.state is State.ACTIVE:
            vertices.append(_lesson_vertex(record, is_trusted=trust_of(record, levels) > Trust.UNTRUSTED))
    return vertices


def _node_vertex(node: Node) -> Vertex:
    return Vertex(
        id=node.id,
        name=node.name,
        label=node.label.value,
        text=node.text,
        tags=node.tags,
        conv_id=node.conv_id,
        trusted=level_of(node.origin) > Trust.UNTRUSTED,
        record=node,
    )


def _lesson_vertex(memory: Memory, *, is_trusted: bool) -> Vertex:
    return Vertex(
        id=memory.id,
        name=memory.key or memory.id,
        label=LESSON,
        text=memory.content,
        tags=memory.tags,
        conv_id="",
        trusted=is_trusted,
        record=memory,
    )


def find_record(context: BankContext, reader: Reader, reference: str, namespace: str | None = None) -> Node | Memory:
    """A node by its name in a namespace or by its id, or a memory by its id or key; a piece of an id is enough."""
    reference = required_text(reference, "An id or name", MAX_TITLE_CHARS)
    where = namespace or context.namespace
    record = find_records(context, reader, [reference], where).get(reference)
    if record is not None:
        return record
    if (whole := full_id(reader, Node, reference)) is not None:
        return reader.get(Node, [whole])[whole]
    if (whole := full_id(reader, Memory, reference)) is not None:
        return reader.get(Memory, [whole])[whole]
    raise NotFound(f"There is no node or lesson {reference!r} in namespace {where!r}.")


def find_records(
    context: BankContext, reader: Reader, references: Sequence[str], namespace: str
) -> dict[str, Node | Memory]:
    """For each reference that is a whole name, id or key, what it names; a node before a memory."""
    # Names and keys are kept without secrets, so they are looked for without.
    name_by_reference = {reference: context.scrubber.scrub(reference).text for reference in dict.fromkeys(references)}
    names = sorted(set(name_by_reference.values()))
    by_name: dict[str, Node | Memory] = {}
    if names:
        by_name = {node.name: node for node in reader.select(Node, {"namespace": namespace, "name": names})}
    if lacking := [name for name in names if name not in by_name]:
        by_name.update(reader.get(Node, lacking))
    if lacking := [name for name in lacking if name not in by_name]:
        by_name.update(reader.get(Memory, lacking))
    if lacking := [name for name in lacking if name not in by_name]:
        where = {"namespace": namespace, "key": lacking, "state": LIVE_STATES}
        by_name.update({memory.key or "": memory for memory in reader.select(Memory, where)})
    return {reference: by_name[name] for reference, name in name_by_reference.items() if name in by_name}
