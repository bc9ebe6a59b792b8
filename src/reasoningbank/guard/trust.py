"""Trust of a memory: the least of its origin and all it was made from, unless somebody vouches.

Outcomes never come into it: a poisoned memory that works gains confidence, not trust. Levels follow from origins,
parents and rulings. `guard.admission` uses it at every write, `guard.rulings` at every decision; who may claim which
origin is decided by `guard.speakers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from reasoningbank.core.errors import Conflict
from reasoningbank.core.origins import PEER, USER, PeerTrust, Trust, kind_of, level_of
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import Edge, Memory, Node, Ruling, RulingKind
from reasoningbank.ports import Reader, Writer

WARNINGS = "warnings"
"""The name in the metadata; only the guard writes it."""
DISGUISED, RISKY, BORROWED = "disguised text", "risky", "borrowed"
"""How a warning begins that makes a memory untrusted by itself, until the user vouches for it."""
_DOUBT = pattern(rf"(?:{RISKY}|{BORROWED}): [a-z ]{{1,60}}")
INDEPENDENT_VOICES = 2
"""Agents that make a memory a working one, none of them its own origin. Tools, peers and files have no voice."""


PEER_RULINGS: Mapping[RulingKind, PeerTrust] = MappingProxyType(
    {
        RulingKind.QUARANTINE: PeerTrust.QUARANTINED,
        RulingKind.QUOTE: PeerTrust.UNTRUSTED,
        RulingKind.BELIEVE: PeerTrust.WORKING,
    }
)
"""The rulings by which the user gives a peer its trust; the latest of a peer counts."""
_ABOUT_ORIGINS = tuple(kind.value for kind in (RulingKind.REVOKE, RulingKind.UNDO, *PEER_RULINGS))


def _own_level(memory: Memory, peers: Mapping[str, PeerTrust]) -> Trust:
    """Highest level of a memory by itself: as its origin, unless it is disguised, risky or borrowed."""
    return Trust.UNTRUSTED if is_doubted(memory) else level_given(peers, memory.origin)


def is_doubted(memory: Memory) -> bool:
    """True if only the user can vouch for a memory that is not the user's.

    Judged by its text as well as by its warnings: one that was admitted by an earlier version has none.
    """
    if kind_of(memory.origin) == USER:
        return False
    if any(warning.startswith((DISGUISED, RISKY, BORROWED)) for warning in warnings_of(memory)):
        return True
    from reasoningbank.guard.risky import risks_of_memory

    return bool(risks_of_memory(memory))


def approvals_awaited(memory: Memory) -> list[str]:
    """Why a memory waits for the user's approval, in words that may stand outside of its envelope."""
    return [warning for warning in warnings_of(memory) if _DOUBT.fullmatch(warning)]


# Loaded with the first memory that is not the user's: most starts meet none.
def trust_of(memory: Memory, levels: Mapping[str, int]) -> Trust:
    """Trust level of a memory, given the stored levels. One without a stored level is worth its origin and no more."""
    level = Trust(levels.get(memory.id, level_of(memory.origin)))
    return Trust.UNTRUSTED if level is Trust.WORKING and is_doubted(memory) else level


def doubtful_ids(memories: Iterable[Memory]) -> list[str]:
    """Ids that may have a stored trust level."""
    return [memory.id for memory in memories if memory.parents or kind_of(memory.origin) != USER]


def levels_of(reader: Reader, memories: Iterable[Memory]) -> dict[str, int]:
    """The kept levels, asking only for memories that can have one."""
    doubtful = doubtful_ids(memories)
    return reader.trust_levels(doubtful) if doubtful else {}


def trust_in(reader: Reader, memory: Memory) -> Trust:
    return trust_of(memory, levels_of(reader, [memory]))


def check_may_revise(memory: Memory | Node | Edge, level: Trust, editor: str) -> None:
    """A text may be changed by whoever is believed more than it, or by its own origin while nobody vouched for it."""
    own = level_of(editor)
    if kind_of(editor) == USER or own > level or (own == level and editor == memory.origin):
        return
    raise Conflict(
        f"{memory.id} comes from {memory.origin} and is {level}: {editor} may not change it. Store one of its own."
    )


def least(reader: Reader, origin: str, parents: Sequence[str]) -> Trust:
    """The trust of something new, made by `origin` from `parents`. A parent that nobody knows vouches for nothing."""
    level = level_given(peer_trust(reader), origin) if kind_of(origin) == PEER else level_of(origin)
    if not parents or level is Trust.UNTRUSTED:
        return level
    by_id = reader.get(Memory, parents)
    levels = levels_of(reader, by_id.values())
    for parent in parents:
        level = min(level, trust_of(by_id[parent], levels) if parent in by_id else Trust.WORKING)
    return level


def descendants(reader: Reader, roots: Iterable[str]) -> list[str]:
    """Everything made from `roots`, at any remove, without the roots themselves."""
    ids = set(roots)
    result: list[str] = []
    frontier = sorted(ids)
    while frontier:
        frontier = sorted(set(reader.derived_ids(frontier)) - ids)
        ids.update(frontier)
        result.extend(frontier)
    return result


def in_force(rulings: Sequence[Ruling]) -> list[Ruling]:
    """Rulings that nobody took back."""
    undone = {ruling.target for ruling in rulings if ruling.kind is RulingKind.UNDO}
    return [ruling for ruling in rulings if ruling.kind is not RulingKind.UNDO and ruling.id not in undone]


def revoked_origins(reader: Reader) -> frozenset[str]:
    """Origins of which nothing is shown: revoked ones, and peers that the user put into quarantine."""
    counting = in_force(reader.select(Ruling, {"kind": _ABOUT_ORIGINS}))
    peers = {peer for peer, trust in _latest_given(counting).items() if trust is PeerTrust.QUARANTINED}
    return frozenset(peers.union(ruling.target for ruling in counting if ruling.kind is RulingKind.REVOKE))


def revoked_peers(reader: Reader) -> dict[str, float]:
    """Peers that the user revoked, by origin, and when last."""
    counting = in_force(reader.select(Ruling, {"kind": _ABOUT_ORIGINS}))
    revocations = [ruling for ruling in counting if ruling.kind is RulingKind.REVOKE and kind_of(ruling.target) == PEER]
    return {ruling.target: ruling.at for ruling in sorted(revocations, key=lambda ruling: ruling.at)}


def peer_trust(reader: Reader) -> dict[str, PeerTrust]:
    """The trust that the user gave each peer, by origin. A revoked one is in quarantine, as is one nobody spoke of."""
    return peer_trust_among(reader.select(Ruling, {"kind": _ABOUT_ORIGINS}))


def peer_trust_among(rulings: Sequence[Ruling]) -> dict[str, PeerTrust]:
    counting = in_force(rulings)
    origins = {ruling.target for ruling in counting if ruling.kind is RulingKind.REVOKE}
    return {**_latest_given(counting), **dict.fromkeys(origins, PeerTrust.QUARANTINED)}


def _latest_given(counting: Sequence[Ruling]) -> dict[str, PeerTrust]:
    grants = sorted((ruling for ruling in counting if ruling.kind in PEER_RULINGS), key=lambda r: (r.at, r.id))
    return {ruling.target: PEER_RULINGS[ruling.kind] for ruling in grants}


def level_given(peers: Mapping[str, PeerTrust], origin: str) -> Trust:
    """The level of an origin, for a peer the one that the user gave it."""
    if kind_of(origin) != PEER:
        return level_of(origin)
    return peers.get(origin, PeerTrust.QUARANTINED).level


def vouched_trust(rulings: Sequence[Ruling], memory: Memory) -> Trust | None:
    """Trust that approvals give a memory: the user's word alone is enough, agents must be two."""
    voices = {r.source for r in in_force(rulings) if r.kind is RulingKind.APPROVE and memory.id in r.memories}
    if any(kind_of(voice) == USER for voice in voices):
        return Trust.TRUSTED
    independent = [voice for voice in voices if level_of(voice) is Trust.WORKING and voice != memory.origin]
    return Trust.WORKING if len(independent) >= INDEPENDENT_VOICES and not is_doubted(memory) else None


def refold(writer: Writer, roots: Sequence[str]) -> int:
    """Fold the levels of `roots` and of all that was made from them anew; says how many changed.

    Starts from what each could be at most and lowers until nothing moves, so a circle of parents does no harm.
    """
    memories = writer.get(Memory, [*roots, *descendants(writer, roots)])
    outside = {parent for memory in memories.values() for parent in memory.parents} - memories.keys()
    parents = writer.get(Memory, sorted(outside))
    stored_levels = writer.trust_levels([*memories, *parents])
    rulings = writer.select(Ruling, {"kind": (RulingKind.APPROVE.value, *_ABOUT_ORIGINS)})
    peers = peer_trust_among(rulings)
    approvals = {i: vouched_trust(rulings, memory) for i, memory in memories.items()}
    levels = {i: _at_most(memory, stored_levels, parents, memories, peers) for i, memory in memories.items()}
    for i, level in approvals.items():
        levels[i] = max(levels[i], level) if level is not None else levels[i]
    stale_ids = {
        i for i, m in memories.items() if any(p in memories and _has_changed(writer, memories[p], m) for p in m.parents)
    }
    moving = True
    while moving:
        moving = False
        for i, memory in memories.items():
            limit = min((levels[p] for p in memory.parents if p in levels), default=Trust.TRUSTED)
            if i in stale_ids:
                limit = min(limit, trust_of(memory, stored_levels))
            level = max(min(levels[i], limit), approvals[i] or Trust.UNTRUSTED)
            moving |= level != levels[i]
            levels[i] = level
    changes = [i for i, memory in memories.items() if trust_of(memory, stored_levels) != levels[i]]
    for i in changes:
        writer.keep_trust(memories[i], levels[i])
    return len(changes)


def _has_changed(reader: Reader, parent: Memory, child: Memory) -> bool:
    """True if a parent says something else now than when the child was made: then its new trust is not the child's."""
    if parent.revision == 1 or parent.updated_at < child.created_at:
        return False
    versions = [*reader.revisions(Memory, parent.id), parent]
    ends = [later.updated_at for later in versions[1:]]
    now = (parent.title, parent.description, parent.content)
    return any(
        end >= child.created_at and (version.title, version.description, version.content) != now
        for version, end in zip(versions, ends, strict=False)
    )


def _at_most(
    memory: Memory,
    stored_levels: Mapping[str, int],
    outside: Mapping[str, Memory],
    inside: Mapping[str, Memory],
    peers: Mapping[str, PeerTrust],
) -> Trust:
    level = _own_level(memory, peers)
    for parent in memory.parents:
        if parent in outside:
            level = min(level, trust_of(outside[parent], stored_levels))
        elif parent not in inside:
            # It is gone: what was lowered by it stays low.
            level = min(level, trust_of(memory, stored_levels))
    return level


def warnings_of(memory: Memory) -> list[str]:
    """Warnings of the guard about a memory, from when it was admitted."""
    values = memory.metadata.get(WARNINGS, ())
    return [str(warning) for warning in values] if isinstance(values, (list, tuple)) else []
