"""Decides about trust: approve, reject, revoke, give a peer its trust, and undo each of them.

Each is one append-only record that names every memory it touched and the state it found it in, so any of them can be
explained, rehearsed and undone. Nothing is erased here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reasoningbank.core.errors import Conflict, InvalidInput, NotFound
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import PEER, USER, PeerTrust, Trust, clean_origin, kind_of, level_of
from reasoningbank.core.types import Memory, Ruling, RulingKind, State
from reasoningbank.guard.peers import find_moved, settle_peer
from reasoningbank.guard.trust import PEER_RULINGS, descendants, in_force, refold, trust_in
from reasoningbank.ports import Reader, Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Author, time and id of a decision about trust."""

    id: str
    tenant: str
    source: str
    comment: str
    at: float


def approve(writer: Writer, target: str, memories: Sequence[Memory], decision: Decision) -> Ruling:
    """Vouch for memories. By the user they become trusted and leave quarantine; by agents it takes two."""
    if level_of(decision.source) is Trust.UNTRUSTED:
        raise InvalidInput(f"{decision.source} cannot vouch for a memory: only the user, or two agents, can.")
    ruling = _ruling(RulingKind.APPROVE, target, {m.id: m.state.value for m in memories}, decision)
    writer.add(ruling)
    refold(writer, list(ruling.memories))
    for memory in memories:
        if memory.state is State.QUARANTINED and trust_in(writer, memory) > Trust.UNTRUSTED:
            _put(writer, memory, State.ACTIVE, decision.at)
    return ruling


def reject(writer: Writer, memory: Memory, decision: Decision) -> Ruling:
    """Forget a memory for a reason that is written down."""
    ruling = _ruling(RulingKind.REJECT, memory.id, {memory.id: memory.state.value}, decision)
    _by_the_user(decision)
    writer.add(ruling)
    _put(writer, memory, State.FORGOTTEN, decision.at)
    return ruling


def revoke(writer: Writer, origin: str, decision: Decision) -> Ruling:
    """Take all of an origin, and all that was made from it, out of every search. What comes later is quarantined."""
    origin = clean_origin(origin, is_stored=True)
    _by_the_user(decision)
    if kind_of(origin) == USER:
        raise InvalidInput("The user's own memories are not revoked as a whole: reject or delete them one by one.")
    before_it = writer.select(Ruling, {})
    rulings = in_force(before_it)
    if any(ruling.kind is RulingKind.REVOKE and ruling.target == origin for ruling in rulings):
        raise Conflict(f"{origin} is revoked already.")
    own = {memory.id: memory for memory in writer.select(Memory, {"origin": origin})}
    memories = {**own, **writer.get(Memory, descendants(writer, own))}
    # What another revocation took out comes back only when both are undone, and then to where it was before.
    before = {
        i: state for ruling in rulings if ruling.kind is RulingKind.REVOKE for i, state in ruling.memories.items()
    }
    states = {i: before.get(i, m.state.value) for i, m in memories.items() if m.state is State.ACTIVE or i in before}
    ruling = _ruling(RulingKind.REVOKE, origin, states, decision)
    writer.add(ruling)
    for i in states:
        _put(writer, memories[i], State.QUARANTINED, decision.at)
    if kind_of(origin) == PEER:
        settle_peer(writer, origin, before_it, decision.at)
    return ruling


def give_trust(writer: Writer, origin: str, level: PeerTrust, decision: Decision) -> Ruling:
    """Give a peer its trust: for what it has brought, unless somebody vouched for that, and for what it will bring."""
    origin = clean_origin(origin)
    _by_the_user(decision)
    if kind_of(origin) != PEER or origin == PEER:
        raise InvalidInput(f"{origin!r} is no peer: this trust is given to peer:FINGERPRINT.")
    before = writer.select(Ruling, {})
    if any(ruling.kind is RulingKind.REVOKE and ruling.target == origin for ruling in in_force(before)):
        raise Conflict(f"{origin} is revoked: undo that first, with `trust undo`.")
    memories = writer.get(Memory, [memory.id for memory in find_moved(writer, origin, level)])
    kind = next(kind for kind, trust in PEER_RULINGS.items() if trust is level)
    ruling = _ruling(kind, origin, {i: memory.state.value for i, memory in memories.items()}, decision)
    writer.add(ruling)
    settle_peer(writer, origin, before, decision.at)
    return ruling


def undo(writer: Writer, ruling_id: str, decision: Decision) -> Ruling:
    """Take a ruling back: the memories it moved return to where they were, unless somebody moved them since."""
    _by_the_user(decision)
    rulings = writer.select(Ruling, {})
    ruling = next((r for r in rulings if r.id == ruling_id and r.kind is not RulingKind.UNDO), None)
    if ruling is None:
        raise NotFound(f"There is no ruling {ruling_id!r} that could be taken back.")
    if ruling not in in_force(rulings):
        raise Conflict(f"{ruling_id} was taken back already.")
    remaining = [r for r in in_force(rulings) if r is not ruling]
    changes = _returning(writer, ruling, remaining)
    taken_back = _ruling(RulingKind.UNDO, ruling.id, {m.id: m.state.value for m, _ in changes}, decision)
    writer.add(taken_back)
    for memory, state in changes:
        _put(writer, memory, state, decision.at)
    if ruling.kind is RulingKind.APPROVE:
        refold(writer, list(ruling.memories))
    if kind_of(ruling.target) == PEER:
        settle_peer(writer, ruling.target, rulings, decision.at)
    return taken_back


def touching(reader: Reader, memory: Memory) -> list[Ruling]:
    """Every ruling that names a memory or its origin, the undone ones and their undoing too."""
    rulings = reader.select(Ruling, {})
    ids = {r.id for r in rulings if memory.id in r.memories or r.target in (memory.id, memory.origin)}
    return [r for r in rulings if r.id in ids or r.target in ids]


_SETS = {
    RulingKind.QUARANTINE: State.QUARANTINED,
    RulingKind.QUOTE: State.ACTIVE,
    RulingKind.BELIEVE: State.ACTIVE,
    RulingKind.APPROVE: State.ACTIVE,
    RulingKind.REJECT: State.FORGOTTEN,
    RulingKind.REVOKE: State.QUARANTINED,
}


def _returning(reader: Reader, ruling: Ruling, remaining: Sequence[Ruling]) -> list[tuple[Memory, State]]:
    revoked_ids = {i for other in remaining if other.kind is RulingKind.REVOKE for i in other.memories}
    memories = reader.get(Memory, list(ruling.memories))
    return [
        (memory, State(ruling.memories[i]))
        for i, memory in memories.items()
        if memory.state is _SETS[ruling.kind] and memory.state.value != ruling.memories[i] and i not in revoked_ids
    ]


def _put(writer: Writer, memory: Memory, state: State, now: float) -> None:
    if memory.state is not state:
        writer.revise(
            replace(memory, state=state, revision=memory.revision + 1, updated_at=max(now, memory.updated_at))
        )


def _by_the_user(decision: Decision) -> None:
    if kind_of(decision.source) != USER:
        raise InvalidInput(f"Only the user decides this, not {decision.source}.")


def _ruling(kind: RulingKind, target: str, memories: Mapping[str, str], decision: Decision) -> Ruling:
    return Ruling(
        id=decision.id,
        tenant=decision.tenant,
        kind=kind,
        target=target,
        memories=memories,
        source=decision.source,
        comment=decision.comment,
        at=decision.at,
    )
