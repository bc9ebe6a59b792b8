"""Finds memories that contradict each other.

Knows between whom a contradiction means something: two projects may well do things differently, and what nobody vouches
for takes no part, or a stranger could make anything look contested.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.core.origins import Trust
from reasoningbank.core.types import EdgeKind
from reasoningbank.core.wording import counted
from reasoningbank.learn.consolidate.agreement import contradiction
from reasoningbank.learn.consolidate.edges import Web, day_of
from reasoningbank.learn.consolidate.pairs import Pair
from reasoningbank.learn.consolidate.plan import Link
from reasoningbank.learn.consolidate.pool import FACT, Member

LEAST_WEIGHT = 0.85


def conflicts_among(members: Sequence[Member], pairs: Iterable[Pair], web: Web) -> list[Link]:
    found: list[Link] = []
    for a, b, cosine in sorted(pairs, key=lambda pair: -pair[2]):
        one, other = members[a], members[b]
        if not may_disagree(one, other):
            continue
        why = contradiction(one.wording, other.wording)
        if why is None:
            continue
        newer, older = (one, other) if one.memory.created_at > other.memory.created_at else (other, one)
        link = Link(
            source=newer.id,
            target=older.id,
            kind=EdgeKind.CONFLICTS,
            weight=round(LEAST_WEIGHT + (1.0 - LEAST_WEIGHT) * min(1.0, max(0.0, cosine)), 3),
            text=f"These contradict each other: {why.why}. The first is the newer one.",
            evidence=f"{why.kind}; cosine {cosine:.2f}; {_of(newer)} and {_of(older)}",
            titles=(newer.memory.title, older.memory.title),
        )
        if web.take(link):
            found.append(link)
    return found


def may_disagree(one: Member, other: Member) -> bool:
    if Trust.UNTRUSTED in (one.trust, other.trust) or FACT in one.memory.tags or FACT in other.memory.tags:
        return False
    return one.memory.namespace == other.memory.namespace


def _of(member: Member) -> str:
    return f"{day_of(member.memory.created_at)} (confidence {member.confidence:.2f}, {counted(member.used, 'use')})"
