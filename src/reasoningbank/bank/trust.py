"""`bank.trust`: decide about memories and origins, and see why each stands where it stands.

The effect of a decision is the business of `guard.rulings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from reasoningbank.bank.memories import checked_limit
from reasoningbank.context import BankContext, full_id
from reasoningbank.core.drafts import MAX_DESCRIPTION_CHARS, clean_text, one_of
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import LEVELS, PEER, USER, PeerTrust, Trust, clean_origin, kind_of
from reasoningbank.core.types import DEFAULT_LIST_LIMIT, Edge, Memory, Node, Remembered, Ruling, RulingKind, State
from reasoningbank.guard import rulings
from reasoningbank.guard.rulings import Decision
from reasoningbank.guard.trust import (
    descendants,
    in_force,
    level_given,
    levels_of,
    peer_trust,
    trust_of,
)
from reasoningbank.ports import Reader, Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    remembered: Remembered
    parents: tuple[tuple[Memory, Trust], ...]
    missing_parents: tuple[str, ...]
    """Named as parents and not here (any more)."""
    descendants: int
    rulings: tuple[Ruling, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An origin, its trust, and how much came from it."""

    origin: str
    trust: Trust | PeerTrust
    """How far it is believed; `quarantined` for a peer of which nothing is shown."""
    memories: int
    quarantined: int
    approved: int
    """Memories that somebody vouched for: they are believed more than their origin."""
    revoked: bool
    nodes: int = 0
    """Nodes of the memory graph that came from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """How much came from an origin."""

    memories: int
    nodes: int
    edges: int


class TrustDecisions:
    """`bank.trust`: decides about memories and origins. Every decision is a ruling that another one can take back."""

    def __init__(self, context: BankContext) -> None:
        self._context = context

    def approve(self, target: str, *, comment: str = "", voice: str = USER, dry_run: bool = False) -> Ruling:
        """Vouch for a memory, or for everything an origin has brought so far; frees it from quarantine.

        The `voice` of the user is enough; an agent's counts when a second one says the same.
        """
        decision = _decision(self._context, comment, voice)

        def change(writer: Writer) -> Ruling:
            memories = _memories_meant(self._context, writer, target)
            name = memories[0].id if len(memories) == 1 and target != memories[0].origin else target
            return rulings.approve(writer, name, memories, decision)

        return _decide(self._context, change, dry_run=dry_run)

    def reject(self, reference: str, *, comment: str = "", dry_run: bool = False) -> Ruling:
        """Forget a memory and write down that the user wanted it gone."""
        context, decision = self._context, _decision(self._context, comment, USER)
        return _decide(context, lambda w: rulings.reject(w, context.memory(w, reference), decision), dry_run=dry_run)

    def revoke(self, origin: str, *, comment: str = "", dry_run: bool = False) -> Ruling:
        """Quarantine everything of an origin with all that was made from it, now and whatever it brings later."""
        decision = _decision(self._context, comment, USER)
        return _decide(self._context, lambda writer: rulings.revoke(writer, origin, decision), dry_run=dry_run)

    def give(self, peer: str, trust: str, *, comment: str = "", dry_run: bool = False) -> Ruling:
        """Give a peer its trust, `quarantined`, `untrusted` or `working`: for what it brought and for what it brings.

        `peer` is its origin, peer:FINGERPRINT. What you approved one by one stays approved.
        """
        decision, level = _decision(self._context, comment, USER), one_of(PeerTrust, trust, "trust")
        return _decide(self._context, lambda w: rulings.give_trust(w, peer, level, decision), dry_run=dry_run)

    def given(self) -> dict[str, PeerTrust]:
        """The trust that each peer has, by origin; a revoked one is quarantined."""
        with self._context.read_for_output() as reader:
            return {origin: level for origin, level in peer_trust(reader).items() if kind_of(origin) == PEER}

    def brought_by(self, origin: str) -> Brought:
        """How much came from an origin. Its nodes and edges are hidden while it is revoked."""
        where = {"origin": clean_origin(origin, is_stored=True)}
        with self._context.read_for_output() as reader:
            return Brought(
                memories=reader.count(Memory, where), nodes=reader.count(Node, where), edges=reader.count(Edge, where)
            )

    def undo(self, ruling_id: str, *, comment: str = "", dry_run: bool = False) -> Ruling:
        """Take a ruling back."""
        decision = _decision(self._context, comment, USER)

        def change(writer: Writer) -> Ruling:
            return rulings.undo(writer, full_id(writer, Ruling, ruling_id) or ruling_id, decision)

        return _decide(self._context, change, dry_run=dry_run)

    def rulings(self, *, limit: int = DEFAULT_LIST_LIMIT) -> list[Ruling]:
        """Newest first."""
        with self._context.read_for_output() as reader:
            return reader.select(Ruling, {}, newest_first=True, limit=checked_limit(limit))

    def why(self, reference: str) -> Provenance:
        """Why a memory is trusted as far as it is."""
        context = self._context
        with context.read_for_output() as reader:
            memory = context.memory(reader, reference)
            parents = reader.get(Memory, memory.parents) if memory.parents else {}
            levels = levels_of(reader, parents.values())
            return Provenance(
                remembered=context.weigh_memories(reader, [memory])[0],
                parents=tuple((p, trust_of(p, levels)) for i in memory.parents if (p := parents.get(i)) is not None),
                missing_parents=tuple(i for i in memory.parents if i not in parents),
                descendants=len(descendants(reader, [memory.id])),
                rulings=tuple(rulings.touching(reader, memory)),
            )

    def origins(self) -> list[Source]:
        """Every origin of this tenant, how far it is believed and how much came from it; the least believed first."""
        with self._context.read_for_output() as reader:
            memories = reader.tally(Memory, "origin")
            nodes = reader.tally(Node, "origin")
            quarantine = reader.tally(Memory, "origin", {"state": State.QUARANTINED.value})
            peers = peer_trust(reader)
            counting = in_force(reader.select(Ruling, {"kind": (RulingKind.REVOKE.value, RulingKind.UNDO.value)}))
            revocations = {ruling.target for ruling in counting}
            approvals = _approved_by_origin(reader)
        sources = [
            Source(
                origin=origin,
                trust=_standing(peers, origin),
                memories=memories.get(origin, 0),
                quarantined=quarantine.get(origin, 0),
                approved=approvals[origin],
                revoked=origin in revocations,
                nodes=nodes.get(origin, 0),
            )
            for origin in {*memories, *nodes, *revocations}
        ]
        return sorted(
            sources,
            key=lambda source: (
                source.trust is not PeerTrust.QUARANTINED,
                level_given(peers, source.origin),
                source.origin,
            ),
        )


def _standing(peers: Mapping[str, PeerTrust], origin: str) -> Trust | PeerTrust:
    is_peer = kind_of(origin) == PEER
    trust = peers.get(origin, PeerTrust.QUARANTINED)
    return trust if is_peer and trust is PeerTrust.QUARANTINED else level_given(peers, origin)


def _approved_by_origin(reader: Reader) -> Counter[str]:
    """How many memories of each origin are believed more than it, because somebody vouched for them."""
    decisions = in_force(reader.select(Ruling, {"kind": (RulingKind.APPROVE.value, RulingKind.UNDO.value)}))
    memory_ids = {
        memory_id for ruling in decisions if ruling.kind is RulingKind.APPROVE for memory_id in ruling.memories
    }
    memories = list(reader.get(Memory, sorted(memory_ids)).values())
    levels, peers = levels_of(reader, memories), peer_trust(reader)
    return Counter(memory.origin for memory in memories if trust_of(memory, levels) > level_given(peers, memory.origin))


def _memories_meant(context: BankContext, reader: Reader, target: str) -> Sequence[Memory]:
    """A memory by id or key, or everything of an origin."""
    try:
        return [context.memory(reader, target)]
    except NotFound:
        if kind_of(target) not in LEVELS:
            raise
    origin = clean_origin(target, is_stored=True)
    memories = reader.select(Memory, {"origin": origin})
    if not memories and reader.count(Node, {"origin": origin}):
        raise InvalidInput(
            f"Only nodes of the memory graph came from {target!r}: whoever vouches for them adds them again "
            "(`graph add`, or `graph import --restore`)."
        )
    if not memories:
        raise NotFound(f"Nothing here came from {target!r}.")
    if kind_of(target) == USER:
        raise InvalidInput("The user's own memories are trusted already.")
    return [memory for memory in memories if memory.state is not State.FORGOTTEN]


def _decision(context: BankContext, comment: str, source: str) -> Decision:
    return Decision(
        id=context.ids.new("rul"),
        tenant=context.tenant,
        source=clean_origin(source),
        comment=clean_text(comment, "comment", MAX_DESCRIPTION_CHARS),
        at=context.clock(),
    )


class _Rehearsed(Exception):
    """Takes a dry run back; never seen by a caller."""

    def __init__(self, ruling: Ruling) -> None:
        self.ruling = ruling


def _decide(context: BankContext, change: Callable[[Writer], Ruling], *, dry_run: bool) -> Ruling:
    if not dry_run:
        return context.store.write(context.tenant, change)

    def rehearse(writer: Writer) -> Ruling:
        raise _Rehearsed(change(writer))

    try:
        return context.store.write(context.tenant, rehearse, alone=True)
    except _Rehearsed as rehearsed:
        return rehearsed.ruling
