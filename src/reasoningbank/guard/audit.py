"""Audits trust: whether any memory is believed more than its origin, its parents and the rulings allow.

Checks the one law that a view of trust must obey against the records. Repairs nothing: a level that nobody can explain
is for a person to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasoningbank.core.origins import USER, Trust, kind_of
from reasoningbank.core.types import Memory, Ruling, RulingKind
from reasoningbank.guard.trust import level_given, levels_of, peer_trust, trust_of, vouched_trust
from reasoningbank.ports import Damage, Reader, Store

ROWS_PER_PAGE = 500
PROBLEM = "believed more than its origin, its parents and the rulings allow"


def believed_without_reason(store: Store, tenant: str) -> list[Damage]:
    damages: list[Damage] = []
    for page in _pages(store, tenant):
        doubtful = [memory for memory in page if memory.parents or kind_of(memory.origin) != USER]
        if doubtful:
            with store.read(tenant) as reader:
                damages += [Damage(kind="trust", id=i, problem=PROBLEM) for i in _too_high(reader, doubtful)]
    return damages


def _pages(store: Store, tenant: str) -> Iterator[Sequence[Memory]]:
    after: str | None = None
    while True:
        with store.read(tenant) as reader:
            page = reader.select(Memory, {}, after=after, limit=ROWS_PER_PAGE)
        if not page:
            return
        yield page
        after = page[-1].id


def _too_high(reader: Reader, memories: Sequence[Memory]) -> Iterator[str]:
    parents = reader.get(Memory, sorted({parent for memory in memories for parent in memory.parents}))
    levels = {**levels_of(reader, memories), **levels_of(reader, parents.values())}
    approvals = reader.select(Ruling, {"kind": (RulingKind.APPROVE.value, RulingKind.UNDO.value)})
    peers = peer_trust(reader)
    for memory in memories:
        bounds = [trust_of(parents[parent], levels) for parent in memory.parents if parent in parents]
        ceiling = max(
            min([level_given(peers, memory.origin), *bounds]), vouched_trust(approvals, memory) or Trust.UNTRUSTED
        )
        if trust_of(memory, levels) > ceiling:
            yield memory.id
