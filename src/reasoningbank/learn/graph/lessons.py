"""Joins lessons to the nodes of the conversation that they were learned from, by `teaches` edges.

When a conversation is ingested, with the lessons that its session has taught already; when a session is distilled
later, with the nodes that are there by then.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.ids import derived_id
from reasoningbank.core.origins import level_of
from reasoningbank.core.text import terms
from reasoningbank.core.types import Edge, EdgeKind, Memory, Node, NodeLabel, State, Trajectory
from reasoningbank.guard.speakers import without_witness
from reasoningbank.learn.graph.described import gist_of
from reasoningbank.learn.graph.drawing import as_sentence
from reasoningbank.ports import Reader, Writer

TEACHES_WEIGHT = 0.85
CHAT = "chat:"
"""Before the id of a conversation, in what a session says that it came from."""
MOST_NODES = 2
_LEAST_SHARED = 3


def _session_ids_of(context: BankContext, namespace: str, conv_id: str) -> list[str]:
    """The sessions under which a conversation may have been kept: by its id, or as the chat of that id."""
    session_id = derived_id("trj", f"{context.tenant}\n{namespace}\n{CHAT}{conv_id}")
    return [conv_id, session_id] if conv_id.startswith("trj_") else [session_id]


def teach_known(
    context: BankContext, writer: Writer, nodes: Sequence[Node], conv_id: str, session: str | None
) -> tuple[str, ...]:
    """Join nodes of a conversation to what its session has taught; the ids of those lessons."""
    if not nodes:
        return ()
    sessions = [*([session] if session else []), *_session_ids_of(context, nodes[0].namespace, conv_id)]
    memories = writer.select(Memory, {"source": sorted(set(sessions)), "state": State.ACTIVE})
    return tuple(memory.id for memory in memories if _teach(context, writer, nodes, memory))


def teach_distilled(context: BankContext, writer: Writer, session: str | None, memory_ids: Sequence[str]) -> None:
    """Join what was just distilled from a session to the nodes of its conversation, if that is in the graph."""
    if not session or not memory_ids:
        return
    trajectory = writer.get(Trajectory, [session]).get(session)
    came_from = str(trajectory.metadata.get("came_from", "")) if trajectory else ""
    places = [session, came_from.removeprefix(CHAT)] if came_from.startswith(CHAT) else [session]
    nodes = writer.select(Node, {"conv_id": places})
    nodes = [node for node in nodes if trajectory is None or node.namespace == trajectory.namespace]
    if nodes:
        for memory in writer.get(Memory, list(dict.fromkeys(memory_ids))).values():
            _teach(context, writer, sorted(nodes, key=lambda node: node.created_at), memory)


def _teach(context: BankContext, writer: Writer, nodes: Sequence[Node], memory: Memory) -> bool:
    taught_by = _nodes_behind(nodes, memory)
    how = "warned of what the lesson says" if memory.outcome.value == "failure" else "taught the lesson"
    for node in taught_by:
        edge = Edge(
            id=derived_id("edg", f"{node.id}\n{memory.id}\n{EdgeKind.TEACHES}"),
            tenant=context.tenant,
            source_id=node.id,
            target_id=memory.id,
            kind=EdgeKind.TEACHES,
            text=as_sentence(f"{gist_of(node)} {how}: {memory.title}."),
            weight=TEACHES_WEIGHT,
            tags=("lesson", memory.outcome.value),
            evidence="",
            created_at=context.clock(),
            origin=min(node.origin, without_witness(memory.origin), key=level_of),
        )
        if not _is_there(writer, edge):
            writer.add(edge)
    return bool(taught_by)


def _nodes_behind(nodes: Sequence[Node], memory: Memory) -> list[Node]:
    """The nodes that a lesson was learned from: those that say what it quotes, or share most of its words."""
    evidence = memory.metadata.get("evidence")
    if evidence == memory.content:
        # A sentence that was kept as it was said.
        quote = " ".join(memory.content.casefold().split())
        matches = [node for node in nodes if " ".join(node.text.casefold().split()) == quote]
        matches += [node for node in nodes if node.label is NodeLabel.USER_REQUEST and quote in node.text.casefold()]
        return matches[:1]
    lesson_terms = frozenset(terms(f"{memory.title} {memory.content} {evidence if isinstance(evidence, str) else ''}"))
    node_terms = [terms(f"{node.text} {node.fields.get('parameter_field', '')}") for node in nodes]
    ranking = [(len(lesson_terms.intersection(node_terms[number])), -number, node) for number, node in enumerate(nodes)]
    actions = [entry for entry in ranking if entry[2].label is NodeLabel.AGENT_ACTION and entry[0] >= _LEAST_SHARED]
    best = sorted(actions, key=lambda entry: entry[:2], reverse=True)[:MOST_NODES]
    if best:
        return [node for _, _, node in best]
    requests = [entry for entry in ranking if entry[2].label is NodeLabel.USER_REQUEST]
    return [max(requests, key=lambda entry: entry[:2])[2]] if requests else []


def _is_there(reader: Reader, edge: Edge) -> bool:
    if reader.get(Edge, [edge.id]) or reader.erased([edge.id]):
        return True
    where = {"source_id": edge.source_id, "target_id": edge.target_id, "kind": edge.kind.value}
    return bool(reader.select(Edge, where, limit=1))
