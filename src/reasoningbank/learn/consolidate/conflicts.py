"""Finds memories that contradict each other.

Only within a project, since two projects may well do things differently. What nobody vouches for takes no part, or a
stranger could make anything look contested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from reasoningbank.core.origins import Trust
from reasoningbank.core.types import EdgeKind
from reasoningbank.core.wording import counted
from reasoningbank.learn.consolidate.agreement import contradiction
from reasoningbank.learn.consolidate.edges import Web, day_of
from reasoningbank.learn.consolidate.opposition import marks_of, opposed
from reasoningbank.learn.consolidate.pairs import Pair
from reasoningbank.learn.consolidate.plan import Link
from reasoningbank.learn.consolidate.pool import FACT, Member

LEAST_WEIGHT = 0.85
MOST_OF_ONE_SUBJECT = 12
"""Claims with the same two words, beyond which these say nothing; what is near in meaning is compared all the same."""


def conflicts_among(members: Sequence[Member], pairs: Iterable[Pair], web: Web) -> list[Link]:
    links: list[Link] = []
    for a, b, cosine in sorted(pairs, key=lambda pair: -pair[2]):
        member, other = members[a], members[b]
        if not _may_disagree(member, other):
            continue
        why = contradiction(member.wording, other.wording)
        if why is None:
            continue
        newer, older = (member, other) if member.memory.created_at > other.memory.created_at else (other, member)
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
            links.append(link)
    return links


def pairs_by_claim(members: Sequence[Member]) -> set[tuple[int, int]]:
    """Rows of memories of which two claims exclude each other, however little the texts resemble each other.

    Claims meet by pairs of their words: two words that many claims share say nothing of their subject.
    """
    holders: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for row, member in enumerate(members):
        for claim in member.wording.claims:
            for mark in marks_of(claim):
                holders[member.namespace, mark].add(row)
    common = (rows for rows in holders.values() if 1 < len(rows) <= MOST_OF_ONE_SUBJECT)
    candidates = {pair for rows in common for pair in combinations(sorted(rows), 2)}
    return {(a, b) for a, b in candidates if opposed(members[a].wording.claims, members[b].wording.claims)}


def _may_disagree(member: Member, other: Member) -> bool:
    if Trust.UNTRUSTED in (member.trust, other.trust) or FACT in member.memory.tags or FACT in other.memory.tags:
        return False
    return member.memory.namespace == other.memory.namespace


def _of(member: Member) -> str:
    return f"{day_of(member.memory.created_at)} (confidence {member.confidence:.2f}, {counted(member.used, 'use')})"
