"""Applies a consolidation plan, a few acts to a transaction.

Every act looks again before it touches anything: a memory that somebody has changed since the plan was made is left
alone, so two runs at once do nothing twice. The unit's own record is written in the same transaction; a kill between
two units leaves a sound bank, and the next run does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.confidence import evidence_for
from reasoningbank.core.drafts import MAX_TAGS, MAX_TAGS_CHARS
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.link_meaning import DISCOVERED, FROM_USE
from reasoningbank.core.origins import AGENT, Trust, level_of
from reasoningbank.core.types import (
    Consolidation,
    ConsolidationKind,
    Edge,
    EdgeKind,
    Memory,
    Scope,
    Signal,
    State,
)
from reasoningbank.guard.admission import readmit
from reasoningbank.guard.trust import levels_of, trust_in, trust_of
from reasoningbank.learn.consolidate.inheriting import inherit
from reasoningbank.learn.consolidate.plan import Act, Archival, Link, Merge, Plan, Promotion, Reweighing, Unlinking
from reasoningbank.learn.consolidate.use import NAMED_TASKS
from reasoningbank.ports import Writer

ACTS_PER_UNIT = 100
MERGED_PER_UNIT = 500
MADE_FROM = "consolidated"
"""The name in the metadata of the run that made a memory out of several."""
_OWN_EDGES = frozenset({EdgeKind.SUPERSEDES, EdgeKind.DERIVED_FROM})


class _Changed(Exception):
    """Somebody was faster; never seen by a caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Run id, kind, namespace and source under which a plan is carried out."""

    run: str
    kind: ConsolidationKind
    namespace: str
    source: str


def carry_out(
    context: BankContext, plan: Plan, order: Order, progress: Callable[[int, int], None] | None = None
) -> tuple[int, list[str]]:
    """Carries out a plan, and returns how many acts were done, and what was left and why."""
    count, leftovers, first = 0, list[str](), True
    revisions, total = dict(plan.revisions), len(plan.acts)
    for chunk in _chunks(_whole_units(plan.acts)):
        unit_id = order.run if first else context.ids.new("con")
        changes = context.store.write(context.tenant, partial(_unit, context, order, unit_id, chunk, revisions))
        revisions.update((memory_id, after) for memory_id, (_, after) in changes.touched.items())
        first = first and not changes.acts
        count += len(changes.acts)
        leftovers += changes.left
        if progress is not None:
            progress(min(count + len(leftovers), total), total)
    return count, leftovers


def _whole_units(acts: Iterable[Act]) -> Iterator[Act]:
    """With merges of very many cut into several."""
    for act in acts:
        if isinstance(act, Merge) and len(act.merged) > MERGED_PER_UNIT:
            for start in range(0, len(act.merged), MERGED_PER_UNIT):
                part = slice(start, start + MERGED_PER_UNIT)
                yield replace(act, merged=act.merged[part], likeness=act.likeness[part])
        else:
            yield act


def _chunks(acts: Iterable[Act]) -> Iterator[list[Act]]:
    iterator = iter(acts)
    while chunk := list(islice(iterator, ACTS_PER_UNIT)):
        yield chunk


class _Changes:
    """The changes of a unit, gathered while it makes them."""

    def __init__(self, revisions: Mapping[str, int]) -> None:
        self._before = revisions
        self.acts: list[dict[str, Any]] = []
        self.touched: dict[str, list[int]] = {}
        self.signals: dict[str, str] = {}
        self.edges: list[str] = []
        self.reweighed: dict[str, list[int]] = {}
        self.left: list[str] = []

    def revision_of(self, memory_id: str) -> int:
        return self.touched[memory_id][1] if memory_id in self.touched else self._before[memory_id]

    def revised(self, before: Memory, after: Memory) -> None:
        earliest = self.touched.get(before.id, [before.revision])[0]
        self.touched[before.id] = [earliest, after.revision]

    def told(self) -> Mapping[str, Any]:
        return {
            "acts": self.acts,
            "touched": self.touched,
            "signals": self.signals,
            "edges": self.edges,
            "reweighed": self.reweighed,
        }


def _unit(
    context: BankContext,
    order: Order,
    unit_id: str,
    acts: Sequence[Act],
    revisions: Mapping[str, int],
    writer: Writer,
) -> _Changes:
    changes = _Changes(revisions)
    for act in acts:
        try:
            changes.acts.append(_do(context, writer, order, act, changes))
        except _Changed as changed:
            changes.left.append(str(changed))
    if changes.acts:
        writer.add(
            Consolidation(
                id=unit_id,
                tenant=context.tenant,
                run=order.run,
                kind=order.kind,
                namespace=order.namespace,
                changes=changes.told(),
                source=order.source,
                at=context.clock(),
            )
        )
    return changes


def _do(context: BankContext, writer: Writer, order: Order, act: Act, changes: _Changes) -> dict[str, Any]:
    match act:
        case Merge():
            return _merge(context, writer, order, act, changes)
        case Link():
            return _link(context, writer, act, changes)
        case Reweighing():
            return _reweigh(context, writer, act, changes)
        case Unlinking():
            return _unlink(writer, act)
        case Archival():
            memory = _require_unchanged(writer, changes, act.id)
            changes.revised(memory, put(context, writer, memory, state=State.ARCHIVED))
            return {"act": "archive", "id": act.id, "confidence": round(act.confidence, 4)}
        case Promotion():
            memory = _require_unchanged(writer, changes, act.id)
            if trust_in(writer, memory) is Trust.UNTRUSTED or memory.scope is not act.before:
                raise _Changed(f"{act.id} may not be promoted any more.")
            changes.revised(memory, put(context, writer, memory, scope=act.after))
            scopes: tuple[Scope, Scope] = (act.before, act.after)
            return {"act": "promote", "id": act.id, "from": scopes[0].value, "to": scopes[1].value}


def _merge(context: BankContext, writer: Writer, order: Order, act: Merge, changes: _Changes) -> dict[str, Any]:
    survivor = _require_unchanged(writer, changes, act.kept)
    duplicates = []
    for memory_id in act.merged:
        try:
            duplicates.append(_require_unchanged(writer, changes, memory_id))
        except _Changed as changed:
            changes.left.append(str(changed))
    levels = levels_of(writer, [survivor, *duplicates])
    duplicates = [other for other in duplicates if trust_of(other, levels) is trust_of(survivor, levels)]
    if not duplicates:
        raise _Changed(f"{act.kept} has nothing left to be merged with.")
    signals: dict[str, list[Signal]] = {memory.id: [] for memory in (survivor, *duplicates)}
    for signal in writer.select(Signal, {"memory_id": list(signals)}):
        signals[signal.memory_id].append(signal)
    evidence = {memory.id: evidence_for(memory, signals[memory.id]) for memory in (survivor, *duplicates)}
    for copy in inherit(survivor, duplicates, evidence, partial(context.ids.new, "sig")):
        writer.add(copy.signal)
        changes.signals[copy.signal.id] = copy.original
    changes.revised(survivor, _grow(context, writer, order, act, survivor, duplicates))
    cosines = {memory_id: cosine for memory_id, (cosine, _) in zip(act.merged, act.likeness, strict=True)}
    for other in duplicates:
        changes.revised(other, put(context, writer, other, state=State.SUPERSEDED))
        standing_for = Link(
            source=survivor.id,
            target=other.id,
            kind=EdgeKind.SUPERSEDES,
            weight=max(0.85, cosines[other.id]),
            text="The first says the same as the second and stands for both.",
            evidence="",
            titles=(survivor.title, other.title),
        )
        _join(context, writer, standing_for, changes)
    _take_over_edges(context, writer, survivor, duplicates, changes)
    return {
        "act": "merge",
        "kept": survivor.id,
        "merged": [other.id for other in duplicates],
        "likeness": [list(map(float, pair)) for pair in act.likeness],
    }


def _fitting_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The first of the tags that fit into a memory."""
    fitting: list[str] = []
    room = MAX_TAGS_CHARS
    for tag in tags:
        room -= len(tag)
        if room < 0 or len(fitting) == MAX_TAGS:
            break
        fitting.append(tag)
    return tuple(fitting)


def _grow(
    context: BankContext, writer: Writer, order: Order, act: Merge, survivor: Memory, duplicates: Sequence[Memory]
) -> Memory:
    tags = dict.fromkeys((*survivor.tags, *(tag for other in duplicates for tag in other.tags)))
    parents = dict.fromkeys((*survivor.parents, *(other.id for other in duplicates)))
    fields: dict[str, Any] = {
        "tags": _fitting_tags(tags),
        "parents": tuple(parent for parent in parents if parent != survivor.id),
        "metadata": {**survivor.metadata, MADE_FROM: order.run},
    }
    if act.text is not None:
        fields |= {"title": act.text.title, "description": act.text.description, "content": act.text.content}
        fields["metadata"]["rewritten_by"] = act.text.by
        after, _ = context.clean(_next(context, survivor, **fields))
        return readmit(writer, survivor, after, survivor.origin).memory
    return put(context, writer, survivor, **fields)


def _link(context: BankContext, writer: Writer, act: Link, changes: _Changes) -> dict[str, Any]:
    ends = writer.get(Memory, [act.source, act.target])
    if len(ends) < 2 or any(end.state is not State.ACTIVE for end in ends.values()):
        raise _Changed(f"{act.source} or {act.target} is not there to be linked any more.")
    edge = _join(context, writer, act, changes)
    if edge is None:
        raise _Changed(f"{act.source} and {act.target} are linked already.")
    return {"act": "link", "edge": edge.id, "source": act.source, "target": act.target, "kind": act.kind.value}


def _reweigh(context: BankContext, writer: Writer, act: Reweighing, changes: _Changes) -> dict[str, Any]:
    edge = _require_edge(writer, act.edge, act.revision)
    link = act.link
    after = replace(edge, weight=link.weight, text=link.text, evidence=link.evidence, revision=edge.revision + 1)
    writer.revise(context.clean(after)[0])
    changes.reweighed[edge.id] = [edge.revision, after.revision]
    return {"act": "reweigh", "edge": edge.id, "from": act.before, "to": link.weight}


def _unlink(writer: Writer, act: Unlinking) -> dict[str, Any]:
    edge = _require_edge(writer, act.edge, act.revision)
    writer.remove(Edge, edge.id)
    # By these it can be made again.
    details = {"way": act.way, "counts": list(act.counts), "tasks": list(act.tasks[:NAMED_TASKS])}
    ends = {"source": edge.source_id, "target": edge.target_id, "kind": edge.kind.value}
    return {"act": "unlink", "edge": edge.id, **ends, "weight": edge.weight, **details}


def _require_edge(writer: Writer, edge_id: str, revision: int) -> Edge:
    """An edge as the plan saw it."""
    edge = writer.get(Edge, [edge_id]).get(edge_id)
    if edge is None or edge.revision != revision:
        raise _Changed(f"the edge {edge_id} was changed meanwhile.")
    return edge


def _join(context: BankContext, writer: Writer, link: Link, changes: _Changes) -> Edge | None:
    where = {"source_id": link.source, "target_id": link.target, "kind": link.kind.value}
    if link.source == link.target or writer.select(Edge, where, limit=1):
        return None
    edge, _ = context.clean(
        Edge(
            id=context.ids.new("edg"),
            tenant=context.tenant,
            source_id=link.source,
            target_id=link.target,
            kind=link.kind,
            text=link.text,
            weight=min(1.0, round(link.weight, 3)),
            tags=(DISCOVERED, FROM_USE) if link.from_use else (DISCOVERED,),
            evidence=link.evidence,
            created_at=context.clock(),
            origin=AGENT,
        )
    )
    writer.add(edge)
    changes.edges.append(edge.id)
    return edge


def _take_over_edges(
    context: BankContext, writer: Writer, survivor: Memory, duplicates: Sequence[Memory], changes: _Changes
) -> None:
    """Links everything that was linked with a merged memory with the one that stands for it; the old edges stay too."""
    ids = [other.id for other in duplicates]
    inside = {survivor.id, *ids}
    edges = (*writer.select(Edge, {"source_id": ids}), *writer.select(Edge, {"target_id": ids}))
    for edge in edges:
        if edge.kind in _OWN_EDGES or {edge.source_id, edge.target_id} <= inside:
            continue
        ends = tuple(survivor.id if end in inside else end for end in (edge.source_id, edge.target_id))
        where = {"source_id": ends[0], "target_id": ends[1], "kind": edge.kind.value}
        if writer.select(Edge, where, limit=1):
            continue
        copy = replace(
            edge, id=context.ids.new("edg"), source_id=ends[0], target_id=ends[1], created_at=context.clock()
        )
        writer.add(copy)
        changes.edges.append(copy.id)


def _require_unchanged(writer: Writer, changes: _Changes, memory_id: str) -> Memory:
    """A memory as the plan saw it, or as this run has left it."""
    memory = writer.get(Memory, [memory_id]).get(memory_id)
    if memory is None or memory.state is not State.ACTIVE:
        raise _Changed(f"{memory_id} is not active any more.")
    if memory.revision != changes.revision_of(memory_id):
        raise _Changed(f"{memory_id} was changed meanwhile.")
    return memory


def put(context: BankContext, writer: Writer, memory: Memory, **fields: Any) -> Memory:
    """A new revision that says the same, by whoever may make one without making it more or less believed."""
    after = _next(context, memory, **fields)
    level = trust_in(writer, memory)
    editor = memory.origin if level is Trust.UNTRUSTED and level_of(memory.origin) is level else "user"
    return readmit(writer, memory, after, editor).memory


def _next(context: BankContext, memory: Memory, **fields: Any) -> Memory:
    return replace(memory, **fields, revision=memory.revision + 1, updated_at=max(context.clock(), memory.updated_at))
