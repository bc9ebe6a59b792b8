"""Trust given to a peer: judges what it brings, weighs its evidence, and changes both when the user changes the trust.

The trust is a ruling (`guard.trust.PEER_RULINGS`), so it survives every refold, can be explained and be taken back. A
peer's evidence is `SignalKind.PEER` under the peer's own name: never the user's word, never a use in this bank. Weights
are halved for a peer that is only quoted. Below zero a weight is muted: no fold counts it, and it is there again when
the ruling is taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reasoningbank.core.frozen import replace
from reasoningbank.core.origins import PeerTrust, Trust
from reasoningbank.core.types import Memory, Ruling, Signal, SignalKind, State
from reasoningbank.guard.admission import doubts_of, examine, flag, known_again_by
from reasoningbank.guard.trust import (
    level_given,
    levels_of,
    peer_trust,
    peer_trust_among,
    refold,
    trust_of,
)
from reasoningbank.ports import Reader, Writer

PIECES: Mapping[SignalKind, float] = {
    SignalKind.FEEDBACK: 1.0,
    SignalKind.STABILITY: 0.75,
    SignalKind.COMPLETION: 0.5,
    SignalKind.PEER: 0.0,
}
"""Pieces of evidence in a peer's signal by what it was at home, in the proportions of `core.confidence.Bayes`. What
it heard from others is theirs to tell.
"""
_SHARE = {PeerTrust.QUARANTINED: 0.5, PeerTrust.UNTRUSTED: 0.5, PeerTrust.WORKING: 1.0}
"""Powers of two, so that nothing is lost when a weight is changed and changed back."""


def weight_from_peer(kind: SignalKind, weight: float, trust: PeerTrust) -> float:
    """The weight of a peer's signal here; one signal is one piece at most."""
    return _weight_under(PIECES[kind] * min(max(weight, 0.0), 1.0), trust)


def _weight_under(pieces: float, trust: PeerTrust) -> float:
    share = pieces * _SHARE[trust]
    return -share if trust is PeerTrust.QUARANTINED else share


def judge_peer_memory(
    memory: Memory, peers: Mapping[str, PeerTrust], bounds: Sequence[Trust], *, is_out: bool
) -> tuple[Memory, Trust, Sequence[int]]:
    """A peer's memory as it may be kept, its level, and marks to know its text again by.

    `bounds` are the levels of what it was made from; `is_out` says that something of that is revoked. Unlike an agent
    of ours, a peer is not asked whose text it repeats: that would depend on what came first.
    """
    trust = peers.get(memory.origin, PeerTrust.QUARANTINED)
    ways = doubts_of(memory)
    level = Trust.UNTRUSTED if ways else min([level_given(peers, memory.origin), *bounds])
    memory = examine(memory, ways) if level is Trust.UNTRUSTED else flag(memory, ())
    if memory.state is State.ACTIVE and (is_out or trust is PeerTrust.QUARANTINED):
        memory = replace(memory, state=State.QUARANTINED)
    return memory, level, known_again_by(memory, level)


def settle_peer(writer: Writer, origin: str, before: Sequence[Ruling], now: float) -> None:
    """Make states, levels and evidence of a peer's what the rulings say now; `before` are the rulings from before."""
    was = peer_trust_among(before).get(origin, PeerTrust.QUARANTINED)
    trust = peer_trust(writer).get(origin, PeerTrust.QUARANTINED)
    if was is trust:
        return
    for memory in find_moved(writer, origin, trust):
        writer.revise(replace(memory, revision=memory.revision + 1, updated_at=max(now, memory.updated_at)))
    refold(writer, [memory.id for memory in writer.select(Memory, {"origin": origin})])
    for signal in writer.select(Signal, {"source": origin}):
        weight = _weight_under(abs(signal.weight) / _SHARE[was], trust)
        if weight != signal.weight:
            writer.rewrite(replace(signal, weight=weight))


def find_moved(reader: Reader, origin: str, trust: PeerTrust) -> list[Memory]:
    """The memories of a peer that have another state once it is given this trust, as they will be then.

    What somebody vouched for, and what its own text speaks against, stays where it is.
    """
    memories = reader.select(Memory, {"origin": origin, "state": (State.ACTIVE.value, State.QUARANTINED.value)})
    levels = levels_of(reader, memories)
    changes = []
    for memory in memories:
        if trust is PeerTrust.QUARANTINED:
            state = State.QUARANTINED
        else:
            state = examine(replace(memory, state=State.ACTIVE)).state
        if state is not memory.state and trust_of(memory, levels) is not Trust.TRUSTED:
            changes.append(replace(memory, state=state))
    return changes
