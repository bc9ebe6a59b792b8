"""Consolidate a bank: read, plan, and unless it is a rehearsal, carry out.

    pool → the very same → near pairs → the same advice → what proved wrong → contradictions → links → promotions

Each step sees the bank as the steps before will leave it, so that a second run finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import USER, Trust
from reasoningbank.core.types import EVERY_NAMESPACE, ConsolidationKind, Edge, EdgeKind, Memory
from reasoningbank.guard.trust import levels_of, trust_of
from reasoningbank.learn.consolidate import schedule
from reasoningbank.learn.consolidate.applying import Order, carry_out
from reasoningbank.learn.consolidate.conflicts import conflicts_among, pairs_by_claim
from reasoningbank.learn.consolidate.edges import Web, edges_in
from reasoningbank.learn.consolidate.fading import Faded, list_faded
from reasoningbank.learn.consolidate.inheriting import inherit
from reasoningbank.learn.consolidate.links import links_among
from reasoningbank.learn.consolidate.merging import merges_among
from reasoningbank.learn.consolidate.pairs import Pair, Space, crowded_rows, near_pairs
from reasoningbank.learn.consolidate.plan import Consolidated, Link, Merge, Plan, Promotion, Reweighing, Unlinking
from reasoningbank.learn.consolidate.pool import Member, UndoneDecisions, member_of, members, read_settled
from reasoningbank.learn.consolidate.promoting import promotions_among
from reasoningbank.learn.consolidate.pruning import archivals_among
from reasoningbank.learn.consolidate.reweighing import weigh_again
from reasoningbank.learn.consolidate.use import NO_FACTS, Uses, read_task_facts

if TYPE_CHECKING:
    from reasoningbank.learn.jobs import Learning

PARTS = ("merge", "conflicts", "links", "prune", "promote")
MOST_ROUNDS = 4
Rewrite = Callable[[Sequence[Merge], Mapping[str, Memory]], list[Merge]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidateOptions:
    """Options of a consolidation."""

    namespace: str | None = None
    """None is the context's own, "*" is every one."""
    only: tuple[str, ...] = ()
    """Some of `PARTS`; nothing is all of them."""
    dry_run: bool = False
    if_due: bool = False
    """Do nothing unless enough has changed, or enough time has passed, since the last time."""
    source: str = USER
    """Who asks."""


def wish_of(options: Mapping[str, Any]) -> ConsolidateOptions:
    names = [f.name for f in fields(ConsolidateOptions)]
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise InvalidInput(f"Consolidating has no option {', '.join(unknown)}: use {', '.join(names)}.")
    only = options.get("only", ())
    return ConsolidateOptions(**{**options, "only": (only,) if isinstance(only, str) else tuple(only)})


def consolidate(
    context: BankContext,
    space: Space,
    wish: ConsolidateOptions,
    *,
    rewrite: Rewrite | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Consolidated:
    namespace, parts = _namespace(context, wish.namespace), _parts(wish.only)
    if wish.if_due and not schedule.due(context, namespace, every_s=context.settings.confidence.decay_interval_s):
        nothing = Plan(namespace=namespace, at=context.clock(), considered=0)
        return Consolidated(plan=nothing, run=None, applied=0, due=False)
    plan = _make_plan(context, space, namespace, parts)
    if wish.dry_run:
        return Consolidated(plan=plan, run=None, applied=0)
    act_count, leftovers, run = 0, list[str](), context.ids.new("con")
    if rewrite is not None and plan.merges:
        plan = replace(plan, merges=tuple(rewrite(plan.merges, _learned_memories(context, plan.merges))))
    if plan.acts:
        order = Order(run=run, kind=_kind(parts), namespace=namespace, source=wish.source)
        act_count, leftovers = carry_out(context, plan, order, progress)
    if parts == frozenset(PARTS):
        schedule.note(context, namespace)
    return Consolidated(plan=plan, run=run if act_count else None, applied=act_count, left=tuple(leftovers))


def rewriting(learning: Learning) -> Rewrite:
    """Rewrites merged texts with the configured model; an error that says what to set when there is none."""
    from reasoningbank.learn.consolidate.rewriting import rewritten

    llm = learning.model()
    return lambda merges, memories: rewritten(merges, memories, llm, learning.scrub)


def _learned_memories(context: BankContext, merges: Sequence[Merge]) -> dict[str, Memory]:
    """Merged memories that agents of ours have learned: neither the user's words nor a stranger's."""
    ids = [memory_id for merge in merges for memory_id in (merge.kept, *merge.merged)]
    with context.store.read(context.tenant) as reader:
        memories = reader.get(Memory, ids)
        levels = levels_of(reader, memories.values())
    return {i: memory for i, memory in memories.items() if trust_of(memory, levels) is Trust.WORKING}


def faded_in(context: BankContext, namespace: str | None) -> list[Faded]:
    """Memories that have lost confidence to age alone."""
    return list_faded(context, _namespace(context, namespace))


def _make_plan(context: BankContext, space: Space, namespace: str, parts: frozenset[str]) -> Plan:
    with context.store.read(context.tenant) as reader:
        pool = members(context, reader, namespace)
        before, edges = read_settled(reader), edges_in(reader)
        facts = read_task_facts(reader, pool) if "links" in parts else NO_FACTS
    whole = Plan(
        namespace=namespace,
        at=context.clock(),
        considered=len(pool),
        revisions={member.id: member.memory.revision for member in pool},
    )
    merges: list[Merge] = []
    # Where there is only one project, nobody else can know the same.
    by_meaning = {"merge", "conflicts", "links"} | ({"promote"} if namespace == EVERY_NAMESPACE else set())
    near = _Near(pool, space, is_needed=bool(parts & by_meaning))
    if "merge" in parts:
        merges = _plan_merges(pool, near, before)
        pool = _as_merged(context, pool, merges)
    archivals = (
        archivals_among(pool, before, context.clock(), context.settings.confidence.prune_threshold)
        if "prune" in parts
        else []
    )
    archive_ids = {archival.id for archival in archivals}
    pool = [member for member in pool if member.id not in archive_ids]
    conflicts: list[Link] = []
    links: list[Link] = []
    reweighings: list[Reweighing] = []
    unlinkings: list[Unlinking] = []
    uses = Uses(pool, facts, context.clock())
    if "links" in parts:
        reweighings, unlinkings = weigh_again(pool, edges, uses, before)
        edge_ids = {act.edge for act in unlinkings}
        edges = [edge for edge in edges if edge.id not in edge_ids]
    web = Web(edges, before, {other: merge.kept for merge in merges for other in merge.merged})
    if "conflicts" in parts:
        conflicts = conflicts_among(pool, near.with_rows(pool, near.least.opposed, pairs_by_claim(pool)), web)
    if "links" in parts:
        pairs, across = near.within(pool, near.least.opposed), near.across(pool, near.least.analogous)
        links = links_among(pool, pairs, across, web, uses)
    promotions: list[Promotion] = []
    if "promote" in parts:
        promotions = _plan_promotions(context, pool, near, edges, conflicts, before)
    return replace(
        whole,
        merges=tuple(merges),
        archivals=tuple(archivals),
        conflicts=tuple(conflicts),
        links=tuple(links),
        reweighed=tuple(reweighings),
        unlinked=tuple(unlinkings),
        promotions=tuple(promotions),
    )


class _Near:
    """Pairs of near memories, with the vectors fetched once."""

    def __init__(self, pool: Sequence[Member], space: Space, *, is_needed: bool) -> None:
        self._row = {member.id: row for row, member in enumerate(pool)}
        self.least = space.nearness
        self._vectors = space.vectors([member.id for member in pool]) if pool and is_needed else None
        self._known: dict[tuple[bool, float, tuple[str, ...]], list[Pair]] = {}

    def within(self, pool: Sequence[Member], least: float) -> list[Pair]:
        return self._pairs(pool, least, within=True)

    def with_rows(self, pool: Sequence[Member], least: float, rows: set[tuple[int, int]]) -> list[Pair]:
        """The near pairs, and these."""
        near = self.within(pool, least)
        more = sorted(rows - {(row, other) for row, other, _ in near})
        if self._vectors is None or not more:
            return near
        vectors = self._vectors[[self._row[member.id] for member in pool]]
        return [*near, *((row, other, float(vectors[row] @ vectors[other])) for row, other in more)]

    def across(self, pool: Sequence[Member], least: float) -> list[Pair]:
        return self._pairs(pool, least, within=False)

    def _pairs(self, pool: Sequence[Member], least: float, *, within: bool) -> list[Pair]:
        if self._vectors is None or len(pool) < 2:
            return []
        import numpy as np

        key = (within, least, tuple(member.id for member in pool))
        if key not in self._known:
            numbers = {name: number for number, name in enumerate({member.memory.namespace for member in pool})}
            groups = np.array([numbers[member.memory.namespace] for member in pool], np.int64)
            rows = self._vectors[[self._row[member.id] for member in pool]]
            one_project = len(numbers) == 1
            self._known[key] = (
                [] if one_project and not within else near_pairs(rows, least, groups=groups, within=within)
            )
        return self._known[key]


def _plan_merges(pool: Sequence[Member], near: _Near, before: UndoneDecisions) -> list[Merge]:
    """Merges in rounds: first the very same, which need no vector and would crowd out the others, then the near
    ones, since of a memory with very many near ones only some are seen in each.
    """
    merges: dict[str, Merge] = {}
    remaining, pairs = list(pool), list[Pair]()
    for number in range(MOST_ROUNDS):
        fresh = merges_among(remaining, pairs, before)
        for merge in fresh:
            _absorb(merges, merge)
        merged_ids = {other for merge in fresh for other in merge.merged}
        again = crowded_rows(pairs) if number else range(len(remaining))
        remaining = [remaining[row] for row in sorted(again) if remaining[row].id not in merged_ids]
        if number and not fresh:
            break
        pairs = near.within(remaining, near.least.same)
    return [merges[memory_id] for memory_id in sorted(merges)]


def _absorb(merges: dict[str, Merge], merge: Merge) -> None:
    """Adds a merge with what its merged ones had taken in before, under the one that is kept in the end."""
    parts = [merge, *(merges.pop(other) for other in merge.merged if other in merges)]
    if merge.kept in merges:
        parts.append(merges.pop(merge.kept))
    merges[merge.kept] = replace(
        merge,
        merged=tuple(other for part in parts for other in part.merged),
        likeness=tuple(pair for part in parts for pair in part.likeness),
    )


def _as_merged(context: BankContext, pool: Sequence[Member], merges: Sequence[Merge]) -> list[Member]:
    by_id = {member.id: member for member in pool}
    merged_ids = {other for merge in merges for other in merge.merged}
    for merge in merges:
        survivor, duplicates = by_id[merge.kept], [by_id[other] for other in merge.merged]
        signals = {member.id: member.signals for member in (survivor, *duplicates)}
        fresh = map("sig_{}".format, count())
        copies = inherit(survivor.memory, [other.memory for other in duplicates], signals, fresh.__next__)
        evidence = (*survivor.signals, *(copy.signal for copy in copies))
        by_id[merge.kept] = member_of(
            context, survivor.memory, survivor.wording, survivor.trust, evidence, survivor.all_uses
        )
    return [member for member in by_id.values() if member.id not in merged_ids]


def _plan_promotions(
    context: BankContext,
    pool: Sequence[Member],
    near: _Near,
    edges: Sequence[Edge],
    conflicts: Sequence[Link],
    before: UndoneDecisions,
) -> list[Promotion]:
    conflict_ids = {end for link in conflicts for end in (link.source, link.target)}
    conflict_ids |= {
        end for edge in edges if edge.kind is EdgeKind.CONFLICTS for end in (edge.source_id, edge.target_id)
    }
    across = near.across(pool, near.least.analogous)
    with context.store.read(context.tenant) as reader:
        return promotions_among(pool, across, reader, conflict_ids, before)


def _namespace(context: BankContext, namespace: str | None) -> str:
    if namespace is None or namespace == EVERY_NAMESPACE:
        return namespace or context.namespace
    return context.scrubber.scrub(clean_namespace(namespace)).text


def _parts(only: Sequence[str]) -> frozenset[str]:
    unknown = sorted(set(only) - set(PARTS))
    if isinstance(only, str) or unknown:
        raise InvalidInput(f"There is nothing called {only!r} to consolidate: use some of {', '.join(PARTS)}.")
    return frozenset(only or PARTS)


def _kind(parts: frozenset[str]) -> ConsolidationKind:
    if parts == {"prune"}:
        return ConsolidationKind.PRUNE
    return ConsolidationKind.PROMOTE if parts == {"promote"} else ConsolidationKind.CONSOLIDATE
