"""Applies a batch of arrived records in one transaction of the bank: erasures, memories and nodes, edges, signals.

Which version of a record counts follows from its versions alone, whatever came first. What the user of this bank has
decided stands above that: a state that was given here stays, a text that is trusted here is changed by no peer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reasoningbank.context import LIVE_STATES
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.origins import PEER, PeerTrust, Trust, kind_of
from reasoningbank.core.types import Edge, Memory, Node, Scope, Signal, SignalKind, State, Tombstone
from reasoningbank.guard.admission import put_back
from reasoningbank.guard.peers import weight_from_peer
from reasoningbank.guard.rulings import Decision, give_trust
from reasoningbank.guard.trust import levels_of, peer_trust, refold, revoked_origins, trust_of
from reasoningbank.ports import VertexRow, Writer
from reasoningbank_bus.exchange.applied import UnitOutcome
from reasoningbank_bus.exchange.incoming import IncomingRecord, ids_of_erased
from reasoningbank_bus.exchange.judging import PeerJudge
from reasoningbank_bus.exchange.naming import KnownRecord, changed_at, origin_of_author
from reasoningbank_bus.exchange.owed import OwedErasure
from reasoningbank_bus.refusal_tally import refusal_of
from reasoningbank_bus.wire.entry import Entry, reaches_everywhere

_TYPES: Mapping[str, Any] = {"memory": Memory, "node": Node, "edge": Edge, "signal": Signal}
VOUCHED = "trusted here: its text is changed by no peer"
OWN_ENDS = "joins two memories of this bank, and its author is not believed"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitSetting:
    """Surroundings of a unit."""

    own: bytes
    default: PeerTrust
    lookup: Callable[[Iterable[str]], Mapping[str, KnownRecord]]
    """Finds what the bus knows of records, by their ids."""
    judge: PeerJudge
    """Judges by the rulings from just before."""
    decide: Callable[[], Decision]
    """Who rules here, and when."""


class ApplyUnit:
    def __init__(self, writer: Writer, about: UnitSetting) -> None:
        self._writer, self._about, self._own = writer, about, about.own
        self._judge = about.judge
        self._gone: set[str] = set()
        self._known_before: Mapping[str, KnownRecord] = {}
        self.outcome = UnitOutcome()

    def run(self, records: Sequence[IncomingRecord], erasures: Sequence[Entry]) -> UnitOutcome:
        by_noun: dict[str, list[IncomingRecord]] = {noun: [] for noun in _TYPES}
        for incoming in records:
            by_noun[incoming.entry.kind].append(incoming)
        self._meet_authors({incoming.entry.author for incoming in records})
        for entry in erasures:
            self._erase(entry)
        self._gone |= self._writer.erased(sorted({incoming.id for incoming in records}))
        self._memories(self._standing(by_noun["memory"]))
        self._nodes_or_edges(self._standing(by_noun["node"]))
        self._edges(self._standing(by_noun["edge"]))
        self._signals(self._standing(by_noun["signal"]))
        return self.outcome

    def _meet_authors(self, authors: Iterable[bytes]) -> None:
        """Whoever has a right to write here and of whom the user has not spoken gets the default, as a ruling."""
        peers, blocklist = peer_trust(self._writer), revoked_origins(self._writer)
        for author in sorted(authors):
            origin = origin_of_author(author)
            if author != self._own and origin not in peers:
                give_trust(self._writer, origin, self._about.default, self._about.decide())
                peers[origin] = self._about.default
        self._judge = self._about.judge.under(peers, blocklist)

    def _standing(self, records: Sequence[IncomingRecord]) -> list[IncomingRecord]:
        """Records that were not erased here. What is this bank's own and comes again is erased everywhere, what is a
        peer's in this bank's log.
        """
        remaining = []
        for incoming in records:
            if incoming.id not in self._gone:
                remaining.append(incoming)
                continue
            entry = incoming.entry
            self.outcome.tally.refused.note("erased", refusal_of(entry))
            if entry.kind == "signal":
                continue
            if entry.record.author != self._own:
                self.outcome.unwanted.append(entry.record)
            else:
                self.outcome.owed.append(
                    OwedErasure(entry.record, entry.kind, entry.namespace, entry.scope, entry.revision)
                )
        return remaining

    # ------------------------------------------------------------ erasing

    def _erase(self, entry: Entry) -> None:
        for noun, record_id in ids_of_erased(entry.record, self._own).items():
            kind = _TYPES[noun]
            here: Any = self._writer.get(kind, [record_id]).get(record_id)
            is_reached = reaches_everywhere(entry) or getattr(here, "namespace", entry.namespace) == entry.namespace
            if here is not None and is_reached:
                self._writer.remove(kind, record_id)
                self.outcome.tally.erased += 1
            elif reaches_everywhere(entry):
                tombstone = Tombstone(id=record_id, tenant=self._about.decide().tenant, kind=noun, at=entry.at / 1000.0)
                self._writer.add_side_records([tombstone])

    # ------------------------------------------------------------ memories

    def _memories(self, records: Sequence[IncomingRecord]) -> None:
        if not records:
            return
        best, older = _latest(records)
        there = self._look_at(Memory, best)
        levels = levels_of(self._writer, there.values())
        family: set[str] = set()
        for record_id, incoming in best.items():
            current = there.get(record_id)
            if current is None:
                self._add_memory(incoming)
            elif not self._revise_memory(current, incoming, trust_of(current, levels)):
                continue
            self.outcome.arrived.add(record_id)
            if incoming.record.parents:  # type: ignore[union-attr]
                family.add(record_id)
        self._keep_older(older)
        if self.outcome.arrived:
            family.update(self._writer.derived_ids(sorted(self.outcome.arrived)))
        if family:
            refold(self._writer, sorted(family))

    def _add_memory(self, incoming: IncomingRecord) -> None:
        memory: Any = incoming.record
        if incoming.entry.author == self._own:
            memory = self._without_taken_key(memory)
            put_back(self._writer, memory)
        else:
            memory, level, marks = self._judge.judge(incoming)
            self._writer.add(memory)
            self._writer.keep_trust(memory, level, marks)
        self.outcome.tally.added["memory"] += 1
        self._note(incoming, memory, memory.state)

    def _revise_memory(self, current: Memory, incoming: IncomingRecord, level: Trust) -> bool:
        prior = self._credible(current)
        if not self._is_later(current, prior, incoming):
            return False
        coming: Any = incoming.record
        is_own = incoming.entry.author == self._own
        marks: Sequence[int] = ()
        if not is_own:
            if level is Trust.TRUSTED and not _says_the_same(current, coming):
                self._hold(incoming, VOUCHED)
                return False
            coming, level, marks = self._judge.judge(incoming)
        state = coming.state
        if (current.state.value != prior.state) if prior is not None else current.state is not State.ACTIVE:
            coming = replace(coming, state=current.state)
        if is_own:
            coming = self._without_taken_key(replace(coming, origin=current.origin))
        coming = replace(coming, revision=_revision(current, prior, incoming))
        self._writer.revise(coming)
        if not is_own:
            self._writer.keep_trust(coming, level, marks)
        self.outcome.tally.revised += 1
        self._note(incoming, coming, state)
        return True

    def _without_taken_key(self, memory: Memory) -> Memory:
        """A key is taken from whoever comes later; only this node's own have any."""
        if memory.key is None or memory.state not in LIVE_STATES:
            return memory
        where = {"namespace": memory.namespace, "key": memory.key, "state": LIVE_STATES}
        holders = [other for other in self._writer.select(Memory, where, limit=1) if other.id != memory.id]
        return replace(memory, key=None) if holders else memory

    # ------------------------------------------------------------ nodes and edges

    def _nodes_or_edges(self, records: Sequence[IncomingRecord]) -> None:
        if not records:
            return
        best, older = _latest(records)
        noun = records[0].entry.kind
        there = self._look_at(_TYPES[noun], best)
        for record_id, incoming in best.items():
            current: Any = there.get(record_id)
            if current is None:
                if self._is_name_taken(incoming):
                    self._hold(incoming, "its name is taken here")
                    continue
                self._writer.add(incoming.record)
                self.outcome.tally.added[noun] += 1
            else:
                prior = self._credible(current)
                if not self._is_later(current, prior, incoming):
                    continue
                coming: Any = incoming.record
                self._writer.revise(replace(coming, revision=_revision(current, prior, incoming)))
                self.outcome.tally.revised += 1
            self._note(incoming, incoming.record)
            if noun == "node":
                self.outcome.arrived.add(record_id)
        self._keep_older(older)

    def _is_name_taken(self, incoming: IncomingRecord) -> bool:
        """Only names of this node's own are as they were at home; others' cannot meet."""
        record = incoming.record
        if incoming.entry.author != self._own:
            return False
        if isinstance(record, Node):
            return bool(self._writer.node_ids(record.namespace, [record.name]))
        assert isinstance(record, Edge)
        same = {name: getattr(record, name) for name in ("source_id", "target_id", "kind", "name")}
        return bool(self._writer.select(Edge, same, limit=1))

    def _edges(self, records: Sequence[IncomingRecord]) -> None:
        ends = {end for incoming in records for end in _ends(incoming)}
        there = self._writer.vertex_rows(sorted(ends)) if ends else {}
        ready = []
        for incoming in records:
            missing = [end for end in _ends(incoming) if not _is_shared(there.get(end))]
            source = there.get(_ends(incoming)[0])
            if missing or source is None or source.namespace != incoming.entry.namespace:
                self._wait(incoming, missing[0] if missing else _ends(incoming)[0])
            elif self._joins_own(incoming, there):
                self._hold(incoming, OWN_ENDS)
            else:
                ready.append(incoming)
        self._nodes_or_edges(ready)

    def _joins_own(self, incoming: IncomingRecord, there: Mapping[str, VertexRow]) -> bool:
        """True if its sentence would be read to a model as said of two memories that are believed more than it."""
        if incoming.entry.author == self._own or self._trust_in(incoming) is PeerTrust.WORKING:
            return False
        return not any(kind_of(there[end].origin) == PEER for end in _ends(incoming))

    # ------------------------------------------------------------ evidence

    def _signals(self, records: Sequence[IncomingRecord]) -> None:
        if not records:
            return
        coming = {incoming.id: incoming for incoming in records}
        there = self._writer.get(Signal, list(coming))
        memories = self._writer.vertex_rows(sorted({incoming.record.memory_id for incoming in records}))  # type: ignore[union-attr]
        for signal_id, incoming in coming.items():
            signal: Any = incoming.record
            memory = memories.get(signal.memory_id)
            if signal_id in there:
                self.outcome.tally.unchanged += 1
            elif not _is_shared(memory) or memory.namespace != incoming.entry.namespace:  # type: ignore[union-attr]
                self._wait(incoming, signal.memory_id)
            else:
                if incoming.entry.author != self._own:
                    weight = weight_from_peer(signal.kind, signal.weight, self._trust_in(incoming))
                    signal = replace(signal, kind=SignalKind.PEER, weight=weight)
                self._writer.add(signal)
                self.outcome.tally.added["signal"] += 1

    # ------------------------------------------------------------ versions

    def _look_at(self, kind: Any, ids: Iterable[str]) -> dict[str, Any]:
        """The records that are here; what the bus knows of them is looked up at once."""
        there: dict[str, Any] = self._writer.get(kind, list(ids))
        self._known_before = self._about.lookup(there)
        return there

    def _credible(self, current: Any) -> KnownRecord | None:
        """The record as the bus knows it, unless the bank was put back to before that."""
        prior = self.outcome.known.get(current.id) or self._known_before.get(current.id)
        if prior is None or (current.revision, changed_at(current)) < (prior.revision, prior.updated_at):
            return None
        return prior

    def _is_later(self, current: Any, prior: KnownRecord | None, incoming: IncomingRecord) -> bool:
        """True if a version counts more than what is here; if not, it is kept among the earlier ones."""
        here = (current.revision, changed_at(current))
        if prior is None:
            coming: Any = incoming.record
            is_later = (incoming.entry.revision, changed_at(coming)) > here
            if not is_later:
                self._note(incoming, current, getattr(current, "state", ""))
        else:
            is_later = incoming.version > prior.version
            if is_later and here != (prior.revision, prior.updated_at):
                # Edited here since.
                is_later = incoming.version > (here[0], int(here[1] * 1000), self._own)
        if not is_later:
            self.outcome.tally.unchanged += 1
            if incoming.entry.revision < current.revision:
                self._writer.add_earlier(incoming.record)
        return is_later

    def _keep_older(self, older: Iterable[IncomingRecord]) -> None:
        for incoming in older:
            self.outcome.tally.unchanged += 1
            prior = self.outcome.known.get(incoming.id)
            if prior is not None and incoming.entry.revision < prior.revision:
                self._writer.add_earlier(incoming.record)

    def _note(self, incoming: IncomingRecord, record: Any, state: Any = "") -> None:
        self.outcome.known[incoming.id] = KnownRecord(
            incoming.entry.record,
            incoming.entry.namespace,
            incoming.entry.scope,
            incoming.version,
            record.revision,
            changed_at(record),
            str(state),
            incoming.entry.intent,
        )

    def _trust_in(self, incoming: IncomingRecord) -> PeerTrust:
        return self._judge.peers.get(origin_of_author(incoming.entry.author), PeerTrust.QUARANTINED)

    def _wait(self, incoming: IncomingRecord, record_id: str) -> None:
        self.outcome.waiting.setdefault(record_id, []).append(incoming.number)
        self.outcome.tally.waiting += 1

    def _hold(self, incoming: IncomingRecord, reason: str) -> None:
        self.outcome.held.append(incoming.number)
        self.outcome.tally.held[reason] += 1


def _latest(records: Sequence[IncomingRecord]) -> tuple[dict[str, IncomingRecord], list[IncomingRecord]]:
    """The version of each record that counts, and all others, each version once."""
    versions = {(incoming.id, incoming.version): incoming for incoming in records}
    best: dict[str, IncomingRecord] = {}
    for incoming in versions.values():
        current = best.get(incoming.id)
        if current is None or current.version < incoming.version:
            best[incoming.id] = incoming
    return best, [incoming for incoming in versions.values() if best[incoming.id] is not incoming]


def _revision(current: Any, prior: KnownRecord | None, incoming: IncomingRecord) -> int:
    """The number of a version here: its own, unless an edit made here has that already."""
    is_edited = prior is not None and (current.revision, changed_at(current)) != (prior.revision, prior.updated_at)
    return max(incoming.entry.revision, current.revision + 1) if is_edited else incoming.entry.revision


def _says_the_same(current: Memory, coming: Memory) -> bool:
    return all(getattr(current, name) == getattr(coming, name) for name in ("title", "description", "content"))


def _ends(incoming: IncomingRecord) -> tuple[str, str]:
    edge = incoming.record
    assert isinstance(edge, Edge)
    return edge.source_id, edge.target_id


def _is_shared(vertex: VertexRow | None) -> bool:
    """True if somebody else may speak of it: it is here, and not a project's alone."""
    return vertex is not None and (bool(vertex.label) or vertex.scope is not Scope.PROJECT)
