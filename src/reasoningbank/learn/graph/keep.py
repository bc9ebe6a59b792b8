"""Ingests a conversation into the memory graph: drawn by rules or by a model, kept in one transaction, once.

A node has the same id whenever the same conversation is drawn, so that a second time adds nothing and a longer version
only what is new. What was erased does not come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_name, clean_namespace, optional_name
from reasoningbank.core.errors import InvalidInput, LLMError
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.ids import derived_id
from reasoningbank.core.origins import AGENT, USER, clean_origin, level_of
from reasoningbank.core.types import Edge, Node, NodeLabel
from reasoningbank.graph.node_fields import valid_node
from reasoningbank.learn.graph.bridges import EarlierConversations
from reasoningbank.learn.graph.draw import Speakers, draw, is_quoted
from reasoningbank.learn.graph.drawing import Drawing, DrawnEdge, DrawnNode, PassedOver
from reasoningbank.learn.graph.lessons import teach_known
from reasoningbank.learn.graph.model import SPINE, draw_with_model
from reasoningbank.learn.graph.turns import Done, Happened, Said, Turn
from reasoningbank.ports import LLM, Writer

RULES = "rules"
BY_MODEL = "by_model"
"""The tag of what was drawn by a model: the next time it is looked at whether there is more, not drawn anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSource:
    """Origin of a conversation: where it came from, and who asked in it."""

    conv_id: str
    namespace: str | None = None
    user_role: str = "user"
    user_id: str | None = None
    origin: str = USER
    """The most that what was said in it may be believed; of the agent's words, what an agent's are."""
    session: str | None = None
    """The session of the bank that it is."""
    day: date | None = None
    """Day on which it took place, where its messages say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestedConversation:
    conv_id: str
    nodes: tuple[str, ...]
    """Ids of all nodes of the conversation as it is told now, in its order; those that were known included."""
    edges: tuple[str, ...]
    bridges: tuple[str, ...]
    """Edges to earlier conversations that were found now."""
    lessons: tuple[str, ...]
    """Memories that are joined to the nodes they were learned from."""
    passed_over: tuple[PassedOver, ...]
    nodes_added: int
    edges_added: int
    """Number of new edges within the conversation."""
    drawn_by: str
    """`rules`, or the name of the model."""
    note: str
    """Why a model that was asked did not draw it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedConversation:
    """A conversation that is drawn and not kept yet."""

    source: ConversationSource
    drawing: Drawing
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    bridges: tuple[Edge, ...]
    drawn_by: str
    note: str


def ingest_conversations(
    context: BankContext,
    conversations: Sequence[tuple[Sequence[Turn], ConversationSource]],
    earlier: EarlierConversations,
    *,
    model: LLM | None = None,
    empty_too: bool = False,
) -> list[IngestedConversation]:
    """Conversations with what they touch of those before them, kept together in one transaction. One with nothing to
    keep is an error, unless `empty_too`.
    """
    drafts = [prepare(context, turns, source, earlier, model) for turns, source in conversations]
    for draft in drafts:
        if not draft.nodes and not empty_too:
            why = draft.drawing.passed_over[0].why if draft.drawing.passed_over else "nothing is said or done in it"
            raise InvalidInput(f"There is nothing to keep in the conversation {draft.source.conv_id!r}: {why}.")

    def change(writer: Writer) -> list[IngestedConversation]:
        return [_keep(context, writer, draft) for draft in drafts]

    return context.store.write(context.tenant, change)


def prepare(
    context: BankContext,
    turns: Sequence[Turn],
    source: ConversationSource,
    earlier: EarlierConversations,
    model: LLM | None,
) -> PreparedConversation:
    namespace = context.namespace if source.namespace is None else clean_namespace(source.namespace)
    conv_id = context.scrubber.scrub(clean_name(source.conv_id, "conv_id")).text
    source = replace(source, conv_id=conv_id, namespace=namespace)
    # Before anything is cut to a few words: half a secret is not known as one.
    clean = [_scrub(context, turn, whole=model is not None) for turn in turns]
    speakers = _speakers(context, source)
    drawing, drawn_by, note = draw(clean, speakers), RULES, ""
    with context.store.read(context.tenant) as reader:
        before = reader.select(Node, {"conv_id": conv_id, "namespace": namespace})
    was_model = any(BY_MODEL in node.tags for node in before)
    nodes, edges = _records(context, drawing, source, before if was_model else ())
    old_ids = {node.id for node in before}
    if was_model and not _has_grown(nodes, old_ids):
        drawing, nodes, edges = replace(drawing, nodes=(), edges=()), before, []
    elif model is not None and (was_model or any(node.id not in old_ids for node in nodes)):
        try:
            drawing = draw_with_model(model, clean, drawing, (speakers.user_origin, speakers.agent_origin))
            drawn_by = model.name
            nodes, edges = _records(context, drawing, source, before, tag=BY_MODEL)
        except LLMError as error:
            note = f"{model.name} did not draw this conversation, so the rules did: {error}"
    bridges = earlier.bridges_from(context, [node for node in nodes if node.id not in old_ids])
    origins = {node.id: node.origin for node in nodes}
    return PreparedConversation(
        source=source,
        drawing=drawing,
        nodes=tuple(nodes),
        edges=tuple(edges),
        bridges=tuple(_edge(context, bridge, bridge.source, bridge.target, origins) for bridge in bridges),
        drawn_by=drawn_by,
        note=note,
    )


def _has_grown(nodes: Sequence[Node], old_ids: set[str]) -> bool:
    """True if more was asked, done or answered since a model has drawn a conversation."""
    answers = [node for node in nodes if node.label is NodeLabel.AGENT_ANSWER][-1:]
    return any(node.id not in old_ids for node in (*answers, *(node for node in nodes if node.label in SPINE)))


def _keep(context: BankContext, writer: Writer, coming: PreparedConversation) -> IngestedConversation:
    there = writer.get(Node, [node.id for node in coming.nodes])
    tombstones = writer.erased([node.id for node in coming.nodes if node.id not in there])
    nodes = [node for node in coming.nodes if node.id not in tombstones]
    for node in nodes:
        before = there.get(node.id)
        if before is None:
            writer.add(node)
        elif (revision := _grow(before, node)) is not None:
            writer.revise(revision)
    ends = {node.id for node in nodes}
    beyond = writer.get(Node, sorted({edge.target_id for edge in coming.bridges})) if coming.bridges else {}
    edges = _add_edges(writer, coming.edges, ends, there.keys())
    bridges = _add_edges(writer, coming.bridges, ends | beyond.keys(), there.keys())
    return IngestedConversation(
        conv_id=coming.source.conv_id,
        nodes=tuple(node.id for node in nodes),
        edges=tuple(edge.id for edge in coming.edges if {edge.source_id, edge.target_id} <= ends),
        bridges=tuple(bridges),
        lessons=teach_known(context, writer, nodes, coming.source.conv_id, coming.source.session),
        passed_over=coming.drawing.passed_over,
        nodes_added=sum(node.id not in there for node in nodes),
        edges_added=len(edges),
        drawn_by=coming.drawn_by,
        note=coming.note,
    )


def _add_edges(writer: Writer, edges: Sequence[Edge], ends: AbstractSet[str], old_ids: AbstractSet[str]) -> list[str]:
    """Add the edges whose ends are there and that are not; where both ends were known, somebody may have joined them
    by hand meanwhile.
    """
    candidates = [edge for edge in edges if edge.source_id in ends and edge.target_id in ends]
    ids = [edge.id for edge in candidates]
    there = writer.get(Edge, ids)
    tombstones = writer.erased([edge_id for edge_id in ids if edge_id not in there])
    fresh = [edge for edge in candidates if edge.id not in there and edge.id not in tombstones]
    old = [edge for edge in fresh if edge.source_id in old_ids]
    if old:
        where = {"source_id": sorted({edge.source_id for edge in old}), "name": ""}
        existing = {(edge.source_id, edge.target_id, edge.kind) for edge in writer.select(Edge, where)}
        fresh = [edge for edge in fresh if (edge.source_id, edge.target_id, edge.kind) not in existing]
    for edge in fresh:
        writer.add(edge)
    return [edge.id for edge in fresh]


def _grow(before: Node, now: Node) -> Node | None:
    """A source of which more parts were named since; None where nothing is new."""
    if now.label is not NodeLabel.DATA_SOURCE:
        return None
    parts = list(before.fields.get("relevant_parts", ()))
    fresh = [part for part in now.fields.get("relevant_parts", ()) if part not in parts]
    if not fresh:
        return None
    fields = {**before.fields, "relevant_parts": [*parts, *fresh]}
    return replace(before, fields=fields, updated_at=now.updated_at, revision=before.revision + 1)


# ---------------------------------------------------------------- records


def _speakers(context: BankContext, source: ConversationSource) -> Speakers:
    origin = clean_origin(source.origin)
    return Speakers(
        user_role=clean_name(source.user_role, "user_role"),
        user_id=optional_name(source.user_id, "user_id"),
        user_origin=origin,
        agent_origin=origin if level_of(origin) < level_of(AGENT) else AGENT,
        today=source.day or datetime.fromtimestamp(context.clock(), UTC).date(),
        is_dated=source.day is not None,
    )


def _scrub(context: BankContext, turn: Turn, *, whole: bool) -> Turn:
    def clean(text: str) -> str:
        return context.scrubber.scrub(text).text

    if isinstance(turn, Said):
        return replace(turn, text=clean(turn.text))
    if isinstance(turn, Done):
        # Of a result nothing is kept but what it failed with, and events that it tells in sentences.
        result = clean(turn.result) if whole or is_quoted(turn) else turn.result
        return replace(turn, action=clean(turn.action), result=result)
    return Happened(
        text=clean(turn.text), start_date=turn.start_date, end_date=turn.end_date, source_type=turn.source_type
    )


def _records(
    context: BankContext, drawing: Drawing, source: ConversationSource, before: Sequence[Node], *, tag: str = ""
) -> tuple[list[Node], list[Edge]]:
    """The nodes and edges of a drawing as records.

    `before` are the nodes that are there of this conversation: who draws it the next time may cut what is quoted
    otherwise, and it is the same node all the same.
    """
    now = context.clock()
    place = f"{context.tenant}\n{source.namespace}\n{source.conv_id}"
    ids = _free_ids(context, drawing, place, str(source.namespace))
    ids |= {draft.ref: there.id for draft in drawing.nodes if (there := _same_node(draft, ids[draft.ref], before))}
    nodes = [
        # A microsecond apart, so that they are listed in the order in which they came.
        valid_node(_node(context, draft, ids[draft.ref], source, now + number * 1e-6, tag))
        for number, draft in enumerate(drawing.nodes)
    ]
    origins = {node.id: node.origin for node in nodes}
    edges = [_edge(context, draft, ids[draft.source], ids[draft.target], origins) for draft in drawing.edges]
    return nodes, edges


def _free_ids(context: BankContext, drawing: Drawing, place: str, namespace: str) -> dict[str, str]:
    """The id of each drawn node, which is its name too: of one that came in under that name, such as by an import, its
    own if it says the same, and else another.
    """
    ids = {draft.ref: derived_id("nod", f"{place}\n{draft.ref}") for draft in drawing.nodes}
    with context.store.read(context.tenant) as reader:
        by_name = {node.name: node for node in reader.select(Node, {"namespace": namespace, "name": [*ids.values()]})}
    for draft in drawing.nodes:
        there = by_name.get(ids[draft.ref])
        if there is not None and there.id != there.name:
            same = (there.label, there.text) == (draft.label, draft.text)
            ids[draft.ref] = there.id if same else derived_id("nod", f"{place}\n{draft.ref}\nown")
    return ids


def _same_node(draft: DrawnNode, own_id: str, before: Sequence[Node]) -> Node | None:
    if draft.label in SPINE or any(node.id == own_id for node in before):
        return None
    alike = [node for node in before if node.label is draft.label]
    if draft.label is NodeLabel.DATA_SOURCE:
        pointer = str(draft.fields["doc_pointer"]).casefold()
        return next((node for node in alike if str(node.fields["doc_pointer"]).casefold() == pointer), None)
    return next((node for node in alike if draft.text in node.text or node.text in draft.text), None)


def _node(
    context: BankContext, draft: DrawnNode, node_id: str, source: ConversationSource, at: float, tag: str
) -> Node:
    fields: Mapping[str, Any] = {name: value for name, value in draft.fields.items() if value is not None}
    return Node(
        id=node_id,
        tenant=context.tenant,
        namespace=str(source.namespace),
        label=draft.label,
        name=node_id,
        conv_id=source.conv_id,
        text=draft.text,
        tags=(*draft.tags, tag) if tag else draft.tags,
        fields=fields,
        start_at=None,
        end_at=None,
        origin=clean_origin(draft.origin),
        source=source.session,
        created_at=at,
        updated_at=at,
    )


def _edge(context: BankContext, draft: DrawnEdge, source_id: str, target_id: str, origins: Mapping[str, str]) -> Edge:
    """The record of an edge: said by the less believed of its ends, as far as those are of this conversation."""
    speakers = [origins[end] for end in (source_id, target_id) if end in origins]
    return Edge(
        id=derived_id("edg", f"{source_id}\n{target_id}\n{draft.kind}"),
        tenant=context.tenant,
        source_id=source_id,
        target_id=target_id,
        kind=draft.kind,
        text=draft.text,
        weight=draft.weight,
        tags=draft.tags,
        evidence="",
        created_at=context.clock(),
        origin=min(speakers, key=level_of, default=AGENT),
    )
