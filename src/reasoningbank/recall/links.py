"""Adds links to hits: which memories contradict them, and what else is worth a look.

Knows where links are kept (as edges), that whoever reads one side of a contradiction should know of the other, and that
a strong link is worth naming though its other end was not found. A stranger's title is not quoted outside of its
envelope.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import TypeVar

from reasoningbank.core.frozen import replace
from reasoningbank.core.origins import Trust
from reasoningbank.core.types import Edge, EdgeKind, Memory, Scope, State
from reasoningbank.guard.trust import levels_of, trust_of
from reasoningbank.ports import Filter, Reader
from reasoningbank.recall.query import Clash, Recalled, SeeAlso
from reasoningbank.recall.reach import is_in_reach, is_referred_to

T = TypeVar("T")

MOST_NAMED = 3
STRONG_FROM = 0.55
"""The weight from which a link is a strong bridge; below it is of the same topic at best."""
_MOST_LOOKED_UP = 60
"""Other ends that one search reads, the strongest links first."""
_LINEAGE = (EdgeKind.SUPERSEDES, EdgeKind.DERIVED_FROM)
"""Lead to what a memory was made from, which says the same."""


def with_links(reader: Reader, hits: Sequence[Recalled], where: Filter) -> list[Recalled]:
    ids = [hit.id for hit in hits]
    edges = [*reader.select(Edge, {"source_id": ids}), *reader.select(Edge, {"target_id": ids})] if ids else []
    told = [edge for edge in edges if edge.kind is EdgeKind.CONFLICTS or _is_strong(edge)]
    if not told:
        return list(hits)
    # Contradictions first: they are named however weak they are.
    told = nlargest(_MOST_LOOKED_UP, told, key=lambda edge: (edge.kind is EdgeKind.CONFLICTS, edge.weight, edge.id))
    by_hit: dict[str, dict[str, Edge]] = {memory_id: {} for memory_id in ids}
    for edge in told:
        for one, other in ((edge.source_id, edge.target_id), (edge.target_id, edge.source_id)):
            if one in by_hit:
                by_hit[one].setdefault(other, edge)
    others = _known_memories(reader, hits, {other for found in by_hit.values() for other in found})
    return _side_by_side([_with_links(hit, by_hit[hit.id], others, where) for hit in hits])


def _is_strong(edge: Edge) -> bool:
    return edge.weight >= STRONG_FROM and edge.kind not in _LINEAGE


def _with_links(hit: Recalled, edges: Mapping[str, Edge], others: Mapping[str, Memory], where: Filter) -> Recalled:
    there = [(edge, others[other]) for other, edge in edges.items() if other in others]
    clashes = (memory for edge, memory in there if edge.kind is EdgeKind.CONFLICTS and _concerns(memory, hit, where))
    bonds = (pair for pair in there if pair[0].kind is not EdgeKind.CONFLICTS and is_referred_to(pair[1], where))
    return replace(
        hit,
        conflicts=tuple(Clash(id=memory.id, title=memory.title) for memory in _first(clashes)),
        see_also=tuple(
            SeeAlso(
                id=memory.id,
                title=memory.title,
                namespace=memory.namespace,
                kind=edge.kind.value,
                weight=edge.weight,
            )
            for edge, memory in _first(bonds)
        ),
    )


def _first(found: Iterable[T]) -> list[T]:
    return list(found)[:MOST_NAMED]


def _known_memories(reader: Reader, hits: Sequence[Recalled], ids: set[str]) -> Mapping[str, Memory]:
    there = {hit.id: hit.memory for hit in hits if hit.id in ids and hit.trust > Trust.UNTRUSTED}
    unseen = ids - {hit.id for hit in hits}
    rest = reader.get(Memory, sorted(unseen)) if unseen else {}
    levels = levels_of(reader, rest.values())
    return there | {i: m for i, m in rest.items() if m.state is State.ACTIVE and trust_of(m, levels) > Trust.UNTRUSTED}


def _concerns(other: Memory, hit: Recalled, where: Filter) -> bool:
    near = other.namespace == hit.memory.namespace or other.scope is not Scope.PROJECT
    return near and is_in_reach(other, where)


def _side_by_side(hits: Sequence[Recalled]) -> list[Recalled]:
    """Each in its place, followed at once by those that contradict it."""
    by_id = {hit.id: hit for hit in hits}
    placed: dict[str, Recalled] = {}
    for hit in hits:
        placed.setdefault(hit.id, hit)
        for clash in hit.conflicts:
            if clash.id in by_id:
                placed.setdefault(clash.id, by_id[clash.id])
    return list(placed.values())
