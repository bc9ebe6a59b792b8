"""Adds nodes and edges to the memory graph in one transaction: all of them, or none.

A name that is there already is the same node or edge: it is left as it is where nothing differs, and revised where
something does. What a node points at as its lessons becomes `teaches` edges from the node to the memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_namespace, optional_name
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.origins import USER, clean_origin, level_of
from reasoningbank.core.types import Edge, EdgeKind, Memory, Node
from reasoningbank.graph.drafts import EdgeDraft, NodeDraft, read_edges, read_nodes
from reasoningbank.graph.vertices import find_records
from reasoningbank.guard.trust import check_may_revise
from reasoningbank.ports import Writer

TEACHES_WEIGHT = 0.85
"""Of the edge from a node to a lesson that was learned from it: core logic."""
_TEACHES_TEXT = "This taught the lesson."


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of everything that was handed over, by the names that it has now."""

    nodes: tuple[str, ...]
    """Ids of the nodes, in the order in which they were given."""
    edges: tuple[str, ...]
    """Ids of the edges, in the order in which they were given; those to lessons after them."""
    counts: Mapping[str, int]
    """How many were added, revised and unchanged: `nodes added`, `edges revised` …"""


def add(
    context: BankContext,
    *,
    nodes: Sequence[Mapping[str, Any]] = (),
    edges: Sequence[Mapping[str, Any]] = (),
    namespace: str | None = None,
    origin: str = USER,
    source: str | None = None,
) -> Added:
    """`source` is the session that the nodes came from."""
    drafts, lines = read_nodes(nodes), read_edges(edges)
    where = context.namespace if namespace is None else context.scrubber.scrub(clean_namespace(namespace)).text
    speaker, session = clean_origin(origin), optional_name(source, "source")
    now = context.clock()
    coming = [context.clean(_node(context, draft, where, speaker, session, now))[0] for draft in drafts]

    def change(writer: Writer) -> Added:
        unit = _Unit(context, writer, where, speaker, now)
        kept = unit.put_nodes(drafts, coming)
        return Added(nodes=kept, edges=unit.put_edges(drafts, kept, lines), counts=dict(unit.counts))

    return context.store.write(context.tenant, change)


def _node(context: BankContext, draft: NodeDraft, namespace: str, origin: str, source: str | None, now: float) -> Node:
    node_id = context.ids.new("nod")
    created = now if draft.created_at is None else draft.created_at
    return Node(
        id=node_id,
        tenant=context.tenant,
        namespace=namespace,
        label=draft.label,
        name=draft.name or node_id,
        conv_id=draft.conv_id,
        text=draft.text,
        tags=draft.tags,
        fields=draft.fields,
        start_at=draft.start_at,
        end_at=draft.end_at,
        origin=origin,
        source=source,
        created_at=created,
        updated_at=max(created, draft.updated_at or created),
    )


class _Unit:
    """One transaction that adds to the graph."""

    def __init__(self, context: BankContext, writer: Writer, namespace: str, origin: str, now: float) -> None:
        self._context, self._writer = context, writer
        self._namespace, self._origin, self._now = namespace, origin, now
        self._ends: dict[str, str] = {}
        """Ids by the names under which edges may refer to them."""
        self.counts: Counter[str] = Counter()

    # ------------------------------------------------------------ nodes

    def put_nodes(self, drafts: Sequence[NodeDraft], coming: Sequence[Node]) -> tuple[str, ...]:
        named = sorted(node.name for draft, node in zip(drafts, coming, strict=True) if draft.name)
        where = {"namespace": self._namespace, "name": named}
        there = {node.name: node for node in self._writer.select(Node, where)} if named else {}
        kept = []
        for draft, node in zip(drafts, coming, strict=True):
            kept.append(self._put_node(draft, there.get(node.name), node))
            self._ends[draft.name or node.id] = kept[-1]
        return tuple(kept)

    def _put_node(self, draft: NodeDraft, there: Node | None, node: Node) -> str:
        if there is None:
            self._writer.add(node)
            self.counts["nodes added"] += 1
            return node.id
        updated = max(there.updated_at, self._now if draft.updated_at is None else draft.updated_at)
        after = replace(
            node,
            id=there.id,
            source=node.source or there.source,
            created_at=there.created_at if draft.created_at is None else draft.created_at,
            updated_at=updated,
            revision=there.revision + 1,
        )
        if _says_the_same(there, after):
            self.counts["nodes unchanged"] += 1
            return there.id
        check_may_revise(there, level_of(there.origin), self._origin)
        self._writer.revise(after)
        self.counts["nodes revised"] += 1
        return there.id

    # ------------------------------------------------------------ edges

    def put_edges(
        self, drafts: Sequence[NodeDraft], kept: Sequence[str], lines: Sequence[EdgeDraft]
    ) -> tuple[str, ...]:
        self._find_ends(drafts, lines)
        coming = [self._edge(line) for line in lines]
        for draft, node_id in zip(drafts, kept, strict=True):
            coming += [self._pointer(draft, node_id, lesson) for lesson in draft.pointers]
        coming = [self._context.clean(edge)[0] for edge in coming]
        there = self._edges_there(coming)
        return tuple(self._put_edge(there, edge) for edge in coming)

    def _find_ends(self, drafts: Sequence[NodeDraft], lines: Sequence[EdgeDraft]) -> None:
        wanted = [end for line in lines for end in (line.source, line.target) if end not in self._ends]
        wanted += [lesson for draft in drafts for lesson in draft.pointers]
        found = find_records(self._context, self._writer, wanted, self._namespace) if wanted else {}
        self._ends |= {name: record.id for name, record in found.items() if name not in self._ends}
        self._lessons = {name: record.id for name, record in found.items() if isinstance(record, Memory)}

    def _edge(self, line: EdgeDraft) -> Edge:
        for field, end in (("source", line.source), ("target", line.target)):
            if end not in self._ends:
                raise InvalidInput(
                    f"{line.place}.{field}: there is no node or lesson {end!r} in namespace {self._namespace!r}."
                )
        source, target = self._ends[line.source], self._ends[line.target]
        if source == target:
            raise InvalidInput(f"{line.place}.target: {line.target} cannot be joined to itself.")
        return Edge(
            id=self._context.ids.new("edg"),
            tenant=self._context.tenant,
            source_id=source,
            target_id=target,
            kind=line.kind,
            text=line.text,
            weight=line.weight,
            tags=line.tags,
            evidence=line.evidence,
            created_at=self._now if line.created_at is None else line.created_at,
            name=line.name,
        )

    def _pointer(self, draft: NodeDraft, node_id: str, lesson: str) -> Edge:
        if lesson not in self._lessons:
            raise InvalidInput(
                f"{draft.place}.reasoning_pointer_ids: there is no lesson {lesson!r} in namespace {self._namespace!r}."
            )
        return Edge(
            id=self._context.ids.new("edg"),
            tenant=self._context.tenant,
            source_id=node_id,
            target_id=self._lessons[lesson],
            kind=EdgeKind.TEACHES,
            text=_TEACHES_TEXT,
            weight=TEACHES_WEIGHT,
            tags=(),
            evidence="",
            created_at=self._now,
        )

    def _edges_there(self, coming: Sequence[Edge]) -> dict[tuple[str, ...], Edge]:
        """Edges that are here already under the names, or between the ends, of those that come."""
        found: list[Edge] = []
        if names := sorted({edge.name for edge in coming if edge.name}):
            found += self._in_namespace(self._writer.select(Edge, {"name": names}))
        unnamed = [edge for edge in coming if not edge.name]
        if unnamed:
            where = {
                "source_id": sorted({edge.source_id for edge in unnamed}),
                "target_id": sorted({edge.target_id for edge in unnamed}),
                "name": "",
            }
            found += self._writer.select(Edge, where)
        return {_identity(edge): edge for edge in found}

    def _in_namespace(self, edges: Sequence[Edge]) -> list[Edge]:
        """Names of edges belong to the namespace of what they come from."""
        if not edges:
            return []
        ends = sorted({edge.source_id for edge in edges})
        sources: list[Node | Memory] = [
            *self._writer.get(Node, ends).values(),
            *self._writer.get(Memory, ends).values(),
        ]
        own = {record.id for record in sources if record.namespace == self._namespace}
        return [edge for edge in edges if edge.source_id in own]

    def _put_edge(self, there: dict[tuple[str, ...], Edge], edge: Edge) -> str:
        before = there.get(_identity(edge))
        if before is None:
            self._writer.add(edge)
            self.counts["edges added"] += 1
            return edge.id
        after = replace(edge, id=before.id, created_at=before.created_at, revision=before.revision)
        if after == before:
            self.counts["edges unchanged"] += 1
            return before.id
        self._writer.revise(replace(after, revision=before.revision + 1))
        self.counts["edges revised"] += 1
        return before.id


def _identity(edge: Edge) -> tuple[str, ...]:
    return (edge.name,) if edge.name else (edge.source_id, edge.target_id, edge.kind.value)


def _says_the_same(there: Node, after: Node) -> bool:
    return replace(after, revision=there.revision, updated_at=there.updated_at, origin=there.origin) == there
