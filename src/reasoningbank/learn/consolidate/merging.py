"""Finds memories that say the same, and chooses the one that is kept.

Two may be merged that have the same project, scope, outcome, audience and trust, and give the same advice, to the
letter where letters count. The one with the most evidence is kept; the others are compared with that one, never with
each other, so a chain of small differences does not become a large one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reasoningbank.core.origins import HOOK, PEER, Trust, kind_of
from reasoningbank.core.wording import counted
from reasoningbank.learn.consolidate.agreement import says_the_same
from reasoningbank.learn.consolidate.pairs import Pair
from reasoningbank.learn.consolidate.plan import Merge
from reasoningbank.learn.consolidate.pool import FACT, PINNED, Member, UndoneDecisions

Kin = dict[str, dict[str, tuple[float, float]]]
"""Memories that say the same as another, by its id, with cosine and share of words."""


def merges_among(members: Sequence[Member], pairs: Iterable[Pair], before: UndoneDecisions) -> list[Merge]:
    """Merges of memories that say the same. `pairs` are those that are near enough for it."""
    kin = _kin(members, pairs, before)
    by_id = {member.id: member for member in members}
    busy: set[str] = set()
    merges: list[Merge] = []
    for leader in sorted((by_id[i] for i in kin), key=_standing, reverse=True):
        if leader.id in busy:
            continue
        copies = [i for i in sorted(kin[leader.id]) if i not in busy and _may_go_into(leader, by_id[i])]
        if not copies:
            continue
        busy.update((leader.id, *copies))
        likeness = tuple(kin[leader.id][i] for i in copies)
        cosines, shares = zip(*likeness, strict=True)
        evidence = (
            f"{counted(leader.used, 'use')}, confidence {leader.confidence:.2f}" if leader.signals else "the oldest"
        )
        merges.append(
            Merge(
                kept=leader.id,
                merged=tuple(copies),
                title=leader.memory.title,
                likeness=likeness,
                why=f"cosine {min(cosines):.2f}, {min(shares):.0%} of the words in common; kept: {evidence}",
            )
        )
    return merges


def _kin(members: Sequence[Member], pairs: Iterable[Pair], before: UndoneDecisions) -> Kin:
    kin: Kin = {}

    def join(member: Member, other: Member, likeness: tuple[float, float]) -> None:
        if frozenset((member.id, other.id)) not in before.apart:
            kin.setdefault(member.id, {})[other.id] = likeness
            kin.setdefault(other.id, {})[member.id] = likeness

    for leader, *copies in _the_very_same(members):
        for copy in copies:
            join(members[leader], members[copy], (1.0, 1.0))
    audiences = [audience(member) for member in members]
    for a, b, cosine in pairs:
        member, other = members[a], members[b]
        if audiences[a] != audiences[b] or (member.is_named and other.is_named):
            continue
        share = says_the_same(member.wording, other.wording)
        if share is not None:
            join(member, other, (cosine, share))
    return kin


def _the_very_same(members: Sequence[Member]) -> list[list[int]]:
    """Rows whose texts differ in nothing but case and spacing, and need no vector; the one to keep comes first."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for row, member in enumerate(members):
        if not member.is_named:
            groups.setdefault((audience(member), member.wording.whole), []).append(row)
    copies = [rows for rows in groups.values() if len(rows) > 1]
    return [sorted(rows, key=lambda row: _standing(members[row]), reverse=True) for rows in copies]


def audience(member: Member) -> tuple[object, ...]:
    """The properties that two memories must have in common to be one. Two strangers do not vouch for each other, and
    a peer's memory is its own to change and to take back: merged with another's, that would go with it when the
    peer is revoked.
    """
    memory = member.memory
    if FACT in memory.tags:
        return (memory.id,)
    stranger = memory.origin if member.trust is Trust.UNTRUSTED or kind_of(memory.origin) == PEER else ""
    return (
        memory.namespace,
        memory.scope,
        memory.outcome,
        memory.agent,
        memory.task_type,
        memory.cognitive_pattern,
        member.trust,
        stranger,
    )


def _may_go(member: Member) -> bool:
    return not member.is_named and PINNED not in member.memory.tags


def _may_go_into(leader: Member, member: Member) -> bool:
    """True unless what our own hooks saw would end as somebody's word."""
    return _may_go(member) and (_was_seen(leader) or not _was_seen(member))


def _was_seen(member: Member) -> bool:
    return kind_of(member.memory.origin) == HOOK


def _standing(member: Member) -> tuple[object, ...]:
    """Rank among those that say the same: one that is asked for by name, then what our own hooks saw, the most
    evidence, the oldest.
    """
    positive = sum(signal.weight for signal in member.signals if signal.positive)
    return (
        not _may_go(member),
        _was_seen(member),
        member.used,
        positive,
        round(member.confidence, 6),
        len(member.signals),
        -member.memory.created_at,
        member.id,
    )
