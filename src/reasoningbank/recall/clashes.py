"""Hits that contradict another memory say so, and stand beside it.

Knows where contradictions are kept (as edges) and that whoever reads one side should know of the other. A stranger's
title is not quoted outside of its envelope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reasoningbank.core.origins import Trust
from reasoningbank.core.types import Edge, EdgeKind, Memory, Scope, State
from reasoningbank.core.values import replace
from reasoningbank.guard.trust import levels_of, trust_of
from reasoningbank.ports import Reader
from reasoningbank.recall.query import Clash, Recalled

MOST_NAMED = 3


def with_clashes(reader: Reader, hits: Sequence[Recalled]) -> list[Recalled]:
    ids = [hit.id for hit in hits]
    kind = EdgeKind.CONFLICTS.value
    edges = reader.select(Edge, {"source_id": ids, "kind": kind}) if ids else []
    edges += reader.select(Edge, {"target_id": ids, "kind": kind}) if ids else []
    if not edges:
        return list(hits)
    against: dict[str, dict[str, None]] = {memory_id: {} for memory_id in ids}
    for edge in edges:
        for one, other in ((edge.source_id, edge.target_id), (edge.target_id, edge.source_id)):
            if one in against:
                against[one][other] = None
    others = _known(reader, hits, {other for found in against.values() for other in found})
    told = [
        replace(
            hit,
            conflicts=tuple(
                Clash(id=other, title=others[other].title)
                for other in against[hit.id]
                if other in others and _concerns(others[other], hit.memory)
            )[:MOST_NAMED],
        )
        for hit in hits
    ]
    return _side_by_side(told)


def _known(reader: Reader, hits: Sequence[Recalled], ids: set[str]) -> Mapping[str, Memory]:
    there = {hit.id: hit.memory for hit in hits if hit.id in ids and hit.trust > Trust.UNTRUSTED}
    unseen = ids - {hit.id for hit in hits}
    rest = reader.get(Memory, sorted(unseen)) if unseen else {}
    levels = levels_of(reader, rest.values())
    return there | {i: m for i, m in rest.items() if m.state is State.ACTIVE and trust_of(m, levels) > Trust.UNTRUSTED}


def _concerns(other: Memory, memory: Memory) -> bool:
    return other.namespace == memory.namespace or other.scope is not Scope.PROJECT


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
