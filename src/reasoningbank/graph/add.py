"""Adds nodes and edges to the memory graph in one transaction: all of them, or none.

A name that is there already is the same node or edge: it is left as it is where nothing differs, and revised where
something does. Without a name a node goes by what it says, and an edge by its ends and kind. What a node points at as
its lessons, and a lesson as its nodes, becomes `teaches` edges from the node to the memory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from reasoningbank.context import BankContext
from reasoningbank.core.errors import Conflict, InvalidInput
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.ids import derived_id, is_own
from reasoningbank.core.origins import Trust, level_of
from reasoningbank.core.types import Edge, EdgeKind, Memory, Node
from reasoningbank.graph.drafts import EdgeDraft, NodeDraft, refuse_twice
from reasoningbank.graph.vertices import find_records
from reasoningbank.graph.weights import CORE
from reasoningbank.guard.trust import check_may_revise, levels_of, trust_of
from reasoningbank.ports import Writer

_ISO_S = 1e-5
"""Largest error of a moment that was written down to the microsecond and read again, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A lesson that was learned from a node, by their names, and where that was said."""

    place: str
    node: str
    lesson: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """Checked additions to the graph that come together, and who says so."""

    nodes: Sequence[NodeDraft]
    edges: Sequence[EdgeDraft]
    pointers: Sequence[Pointer]
    """Pointers of lessons; those of nodes stand in the nodes."""
    namespace: str
    origin: str
    source: str | None
    """The session that the nodes came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    nodes: tuple[str, ...]
    """Ids of the nodes, in the order in which they were given."""
    edges: tuple[str, ...]
    """Ids of the edges, in the order in which they were given; then those between nodes and lessons."""
    counts: Mapping[str, int]
    """Number of records added, revised and unchanged: `nodes added`, `edges revised` …"""
    lessons: tuple[str, ...] = ()


def add(context: BankContext, additions: Additions) -> Added:
    now = context.clock()
    coming = [context.clean(_node(context, draft, additions, now))[0] for draft in additions.nodes]
    occurrences: Counter[str] = Counter()
    coming = [
        node if draft.name else _known_by_content(node, occurrences)
        for draft, node in zip(additions.nodes, coming, strict=True)
    ]
    # Two names may differ by a secret alone.
    refuse_twice(additions.nodes, [(node.name,) for node in coming], "id")

    def change(writer: Writer) -> Added:
        unit = _Unit(context, writer, additions, now)
        node_ids = unit.put_nodes(coming)
        return Added(nodes=node_ids, edges=unit.put_edges(node_ids), counts=dict(unit.counts))

    return context.store.write(context.tenant, change)


def _node(context: BankContext, draft: NodeDraft, additions: Additions, now: float) -> Node:
    node_id = context.ids.new("nod")
    created_at = now if draft.created_at is None else draft.created_at
    return Node(
        id=node_id,
        tenant=context.tenant,
        namespace=additions.namespace,
        label=draft.label,
        name=draft.name or node_id,
        conv_id=draft.conv_id,
        text=draft.text,
        tags=draft.tags,
        fields=draft.fields,
        start_at=draft.start_at,
        end_at=draft.end_at,
        origin=additions.origin,
        source=additions.source,
        created_at=created_at,
        updated_at=max(created_at, draft.updated_at or created_at),
    )


def _known_by_content(node: Node, occurrences: Counter[str]) -> Node:
    """A node that nobody named, under an id derived from its content and its speaker.

    `occurrences` counts how often each content came.
    """
    fields = json.dumps(node.fields, sort_keys=True, default=dict)
    place = f"{node.tenant}\n{node.namespace}\n{node.origin}\n{node.conv_id}"
    content = f"{place}\n{node.label}\n{node.text}\n{fields}"
    occurrences[content] += 1
    node_id = derived_id("nod", f"{content}\n{occurrences[content]}")
    return replace(node, id=node_id, name=node_id)


class _Unit:
    """One transaction that adds to the graph."""

    def __init__(self, context: BankContext, writer: Writer, additions: Additions, now: float) -> None:
        self._context, self._writer, self._additions, self._now = context, writer, additions, now
        self._ends: dict[str, str] = {}
        """Ids of what edges may join, by the names under which they refer to it."""
        self._kinds: dict[str, type[Node | Memory]] = {}
        self.counts: Counter[str] = Counter()

    # ------------------------------------------------------------ nodes

    def put_nodes(self, coming: Sequence[Node]) -> tuple[str, ...]:
        drafts = self._additions.nodes
        where = {"namespace": self._additions.namespace, "name": sorted(node.name for node in coming)}
        there = {node.name: node for node in self._writer.select(Node, where)} if coming else {}
        node_ids = []
        for draft, node in zip(drafts, coming, strict=True):
            node_ids.append(self._put_node(draft, there.get(node.name), node))
            self._note_end(draft.name or node.id, node_ids[-1], Node)
        return tuple(node_ids)

    def _note_end(self, name: str, record_id: str, kind: type[Node | Memory]) -> None:
        self._ends[name] = self._ends[record_id] = record_id
        self._kinds[record_id] = kind

    def _put_node(self, draft: NodeDraft, there: Node | None, node: Node) -> str:
        if there is None:
            self._writer.add(node)
            self.counts["nodes added"] += 1
            return node.id
        after = replace(
            node,
            id=there.id,
            source=node.source or there.source,
            created_at=_created_at(there, draft),
            updated_at=max(there.updated_at, self._now if draft.updated_at is None else draft.updated_at),
            revision=there.revision + 1,
        )
        if _says_the_same(there, after) and level_of(after.origin) <= level_of(there.origin):
            self.counts["nodes unchanged"] += 1
            return there.id
        try:
            check_may_revise(there, level_of(there.origin), after.origin)
        except Conflict as error:
            raise Conflict(f"{draft.place}: {there.name}, {error}") from None
        self._writer.revise(after)
        self.counts["nodes revised"] += 1
        return there.id

    # ------------------------------------------------------------ edges

    def put_edges(self, node_ids: Sequence[str]) -> tuple[str, ...]:
        drafts = self._additions.nodes
        pointers = [
            Pointer(place=f"{draft.place}.reasoning_pointer_ids", node=node_id, lesson=lesson)
            for draft, node_id in zip(drafts, node_ids, strict=True)
            for lesson in draft.pointers
        ]
        pointers += self._additions.pointers
        self._find_ends(pointers)
        coming = [self._edge(draft) for draft in self._additions.edges]
        coming += self._pointer_edges(pointers, coming)
        coming = [self._context.clean(edge)[0] for edge in coming]
        self._check_ends(coming)
        there = self._edges_there(coming)
        return tuple(self._put_edge(there, edge) for edge in coming)

    def _find_ends(self, pointers: Iterable[Pointer]) -> None:
        references = [end for edge in self._additions.edges for end in (edge.source, edge.target)]
        references += [end for pointer in pointers for end in (pointer.node, pointer.lesson)]
        unknown = [end for end in dict.fromkeys(references) if end not in self._ends]
        if not unknown:
            return
        # Most are names of nodes, and of those nothing but the ids is needed.
        for name, node_id in self._writer.node_ids(self._additions.namespace, unknown).items():
            self._note_end(name, node_id, Node)
        remaining = [end for end in unknown if end not in self._ends]
        for name, record in find_records(self._context, self._writer, remaining, self._additions.namespace).items():
            self._note_end(name, record.id, type(record))

    def _end_named(self, place: str, name: str, kind: type[Node | Memory] | None = None) -> str:
        end_id = self._ends.get(name)
        if end_id is None or (kind is not None and self._kinds[end_id] is not kind):
            noun = {None: "node or lesson", Node: "node", Memory: "lesson"}[kind]
            raise InvalidInput(f"{place}: there is no {noun} {name!r} in namespace {self._additions.namespace!r}.")
        return end_id

    def _edge(self, draft: EdgeDraft) -> Edge:
        source = self._end_named(f"{draft.place}.source", draft.source)
        target = self._end_named(f"{draft.place}.target", draft.target)
        if source == target:
            raise InvalidInput(f"{draft.place}.target: {draft.target} cannot be joined to itself.")
        return Edge(
            id=self._context.ids.new("edg"),
            tenant=self._context.tenant,
            source_id=source,
            target_id=target,
            kind=draft.kind,
            text=draft.text,
            weight=draft.weight,
            tags=draft.tags,
            evidence=draft.evidence,
            created_at=self._now if draft.created_at is None else draft.created_at,
            name=draft.name,
            origin=self._additions.origin,
        )

    def _pointer_edges(self, pointers: Sequence[Pointer], coming: Sequence[Edge]) -> list[Edge]:
        """A `teaches` edge for each pointer that has none, whatever that one says."""
        if not pointers:
            return []
        pairs = {
            (
                self._end_named(pointer.place, pointer.node, Node),
                self._end_named(pointer.place, pointer.lesson, Memory),
            ): None
            for pointer in pointers
        }
        where = {"source_id": [node for node, _ in pairs], "kind": EdgeKind.TEACHES.value}
        coming_too = {(edge.source_id, edge.target_id) for edge in coming if edge.kind is EdgeKind.TEACHES}
        there = {(edge.source_id, edge.target_id) for edge in self._writer.select(Edge, where)}
        if repeats := (there - coming_too) & pairs.keys():
            self.counts["edges unchanged"] += len(repeats)
        return [
            Edge(
                id=self._context.ids.new("edg"),
                tenant=self._context.tenant,
                source_id=node_id,
                target_id=lesson_id,
                kind=EdgeKind.TEACHES,
                text="This is where the lesson was learned.",
                weight=CORE,
                tags=(),
                evidence="",
                created_at=self._now,
                origin=self._additions.origin,
            )
            for node_id, lesson_id in pairs
            if (node_id, lesson_id) not in there | coming_too
        ]

    def _check_ends(self, coming: Sequence[Edge]) -> None:
        """An edge is believed as far as its less believed end, so a stranger's must hang on something of a stranger."""
        origin = self._additions.origin
        if level_of(origin) > Trust.UNTRUSTED:
            return
        records = self._ends_of(coming)
        levels = self._levels(records.values())
        for edge in coming:
            if min(levels[edge.source_id], levels[edge.target_id]) > Trust.UNTRUSTED:
                ends = " and ".join(_name_of(records[end]) for end in (edge.source_id, edge.target_id))
                raise Conflict(f"{origin} may not join {ends}, which are both believed more than it.")

    def _levels(self, records: Iterable[Node | Memory]) -> dict[str, Trust]:
        records = list(records)
        levels = levels_of(self._writer, [record for record in records if isinstance(record, Memory)])
        return {
            record.id: level_of(record.origin) if isinstance(record, Node) else trust_of(record, levels)
            for record in records
        }

    def _ends_of(self, edges: Iterable[Edge]) -> dict[str, Node | Memory]:
        """The ends of edges, as far as they are here."""
        ends = sorted({end for edge in edges for end in (edge.source_id, edge.target_id)})
        return {**self._writer.get(Node, ends), **self._writer.get(Memory, ends)}

    def _check_may_change(self, before: Edge) -> None:
        """Refuses to change what somebody else who is believed as much said, and what joins two that are believed
        more than the speaker.
        """
        ends = self._ends_of([before]).values()
        if level_of(self._additions.origin) < min(self._levels(ends).values(), default=Trust.UNTRUSTED):
            names = " and ".join(map(_name_of, ends))
            raise Conflict(
                f"The edge {before.name or before.id} joins {names}, which are both believed more than "
                f"{self._additions.origin}: it may not change it. Name another."
            )
        if before.origin:
            check_may_revise(before, level_of(before.origin), self._additions.origin)

    def _edges_there(self, coming: Sequence[Edge]) -> dict[tuple[str, ...], Edge]:
        """Edges that are here already under the names or ids, or between the ends, of those that come."""
        edges: list[Edge] = []
        names = sorted({edge.name for edge in coming if edge.name})
        if names:
            edges += self._in_namespace(self._writer.select(Edge, {"name": names}))
        own_ids = [name for name in names if is_own(name)]
        edges_by_id = self._writer.get(Edge, own_ids) if own_ids else {}
        ends = [(edge.source_id, edge.target_id) for edge in coming if not edge.name]
        if ends:
            where = {"source_id": [source for source, _ in ends], "target_id": [target for _, target in ends]}
            edges += self._writer.select(Edge, {**where, "name": ""})
        return {_identity(edge): edge for edge in edges} | {(name,): edge for name, edge in edges_by_id.items()}

    def _in_namespace(self, edges: Sequence[Edge]) -> list[Edge]:
        """Names of edges belong to the namespace of what they come from."""
        ends = self._ends_of(edges) if edges else {}
        own = {end_id for end_id, record in ends.items() if record.namespace == self._additions.namespace}
        return [edge for edge in edges if edge.source_id in own]

    def _put_edge(self, there: Mapping[tuple[str, ...], Edge], edge: Edge) -> str:
        before = there.get(_identity(edge))
        if before is None:
            self._writer.add(edge)
            self.counts["edges added"] += 1
            return edge.id
        after = replace(edge, id=before.id, name=before.name, created_at=before.created_at, revision=before.revision)
        same = replace(after, origin=before.origin) == before
        if same and (not before.origin or level_of(after.origin) <= level_of(before.origin)):
            self.counts["edges unchanged"] += 1
            return before.id
        self._check_may_change(before)
        self._writer.revise(replace(after, revision=before.revision + 1))
        self.counts["edges revised"] += 1
        return before.id


def _identity(edge: Edge) -> tuple[str, ...]:
    return (edge.name,) if edge.name else (edge.source_id, edge.target_id, edge.kind.value)


def _created_at(there: Node, draft: NodeDraft) -> float:
    """The moment when it was made: as it is said to be, unless that is the kept moment as ISO writes it."""
    if draft.created_at is None or abs(draft.created_at - there.created_at) < _ISO_S:
        return there.created_at
    return draft.created_at


def _name_of(record: Node | Memory) -> str:
    return record.name if isinstance(record, Node) else record.key or record.id


def _says_the_same(there: Node, after: Node) -> bool:
    same = replace(after, revision=there.revision, updated_at=there.updated_at, origin=there.origin)
    return same == there
