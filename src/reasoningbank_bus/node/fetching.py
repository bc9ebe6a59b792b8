"""Fetching: entries that a peer has and we lack, asked for in pieces, each place from one peer at a time.

An exchange is one `Want` and one batch in answer; what did not fit into the batch is asked for again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from reasoningbank_bus.node.peer import Fetch, Peer
from reasoningbank_bus.node.shelf import parts_of
from reasoningbank_bus.node.state import NodeState
from reasoningbank_bus.sync.place_set import AUTHOR_PREFIX_BYTES
from reasoningbank_bus.wire.entry import decode_entry, id_of_encoded, place_of
from reasoningbank_bus.wire.frame import MEMORIES, EntryBatch, Offer, Want
from reasoningbank_bus.wire.refusals import BusRefusal

BATCH_BYTES = 192 * 1024
MOST_WANTED = 512
"""Places in one `Want`."""
MOST_OFFERED = 1_600
"""Places in one `Offer`: so many fit into a control frame."""
MOST_TO_FETCH = 10_000
"""Places that wait to be asked of one peer; what is beyond comes with a later reconciliation."""
MOST_GIVEN = 16
"""Most entries that are sent to a peer that lacks them without being asked for."""
MOST_FETCHED = 50_000
"""Places that all peers together may have us wait for."""
FETCHES_AT_ONCE = 4
UNHELPFUL_SECONDS = 5.0
LEAST_PATIENCE_SECONDS, MOST_PATIENCE_SECONDS = 0.4, 10.0
"""Between these, and by how long answers usually take, another peer may be asked for the same."""


class Fetching:
    def __init__(self, state: NodeState) -> None:
        self._state = state
        self._fetched: dict[bytes, float] = {}
        """Places that were asked for, and until when nobody else is asked for them."""
        self._average = 1024.0
        self._usual = 0.1
        """Seconds that an answer takes."""

    def _patience(self) -> float:
        return min(MOST_PATIENCE_SECONDS, max(LEAST_PATIENCE_SECONDS, 4 * self._usual))

    def want(self, peer: Peer, name: str, places: Iterable[bytes], now: float) -> None:
        """Ask a peer for what it says that it has, unless another one is being asked."""
        if now < peer.unhelpful_until:
            return
        queue = peer.to_fetch.setdefault(name, deque())
        room = min(MOST_TO_FETCH - sum(map(len, peer.to_fetch.values())), MOST_FETCHED - len(self._fetched))
        left_out = {author[:AUTHOR_PREFIX_BYTES] for author in self._state.shelf.left_out(name, now)}
        for place in places:
            if room <= 0:
                break
            if (
                not self._state.shelf.has(name, place)
                and self._fetched.get(place, 0.0) <= now
                and place[:AUTHOR_PREFIX_BYTES] not in left_out
            ):
                self._fetched[place] = now + self._patience()
                queue.append(place)
                room -= 1
        if not queue:
            del peer.to_fetch[name]
        self.pump(peer, now)

    def pump(self, peer: Peer, now: float) -> None:
        """Ask for as much as may be on its way at once."""
        size = max(8, min(MOST_WANTED, int(BATCH_BYTES / self._average)))
        while peer.to_fetch and len(peer.fetches) < FETCHES_AT_ONCE:
            name, queue = next(iter(peer.to_fetch.items()))
            places: list[bytes] = []
            while queue and len(places) < size:
                place = queue.popleft()
                if not self._state.shelf.has(name, place):
                    places.append(place)
                    self._fetched[place] = now + self._patience()
            if not queue:
                del peer.to_fetch[name]
            if places:
                channel = self._state.channel()
                peer.fetches[channel] = Fetch(now, name, tuple(places))
                self._state.send(peer, Want(name, tuple(places)), channel, last=True)

    def is_asked(self, peer: Peer, channel: int) -> bool:
        """True if an answer may come there, be it late: a busy machine is no liar."""
        return channel in peer.fetches or channel in peer.late_fetches

    def end(self, peer: Peer, channel: int, batch: EntryBatch | None, now: float) -> None:
        """An answer came, and its entries were looked at; what did not fit into it is asked for again."""
        fetch = peer.fetches.pop(channel, None) or peer.late_fetches.pop(channel)
        for place in fetch.places:
            self._fetched.pop(place, None)
        if batch is not None and batch.encoded:
            self._usual += 0.2 * (now - fetch.sent - self._usual)
            total = sum(map(len, batch.encoded))
            self._average += 0.2 * (total / len(batch.encoded) - self._average)
            rest = fetch.places[len(batch.encoded) :]
            if rest:
                self.want(peer, fetch.set_name, rest, now)
        elif not all(self._state.shelf.has(fetch.set_name, place) for place in fetch.places):
            peer.unhelpful_until = now + UNHELPFUL_SECONDS
            peer.to_fetch.clear()
        self.pump(peer, now)

    def expire(self, now: float) -> None:
        """Give up what was not answered in time."""
        for place in [place for place, until in self._fetched.items() if until <= now]:
            del self._fetched[place]
        for peer in self._state.peers.values():
            late = [channel for channel, fetch in peer.fetches.items() if now - fetch.sent > 5 * self._patience()]
            for channel in late:
                peer.give_up_fetch(channel)
                peer.unhelpful_until = now + UNHELPFUL_SECONDS
            peer.expire_flights(now)
            self.pump(peer, now)

    def is_idle(self, peer: Peer) -> bool:
        return not peer.fetches and not peer.to_fetch

    def serve(self, peer: Peer, channel: int, want: Want, now: float) -> None:
        """Answer with those of the wanted entries that fit into one batch, in the order asked for."""
        if len(want.places) > MOST_WANTED:
            raise BusRefusal("over_limit", f"{len(want.places):,} entries wanted at once")
        places = [place for place in want.places if self._state.shelf.has(want.namespace, place)]
        if not self._state.may_read(peer, want.namespace, now):
            # What it wrote itself it may always have again.
            own = peer.key[:AUTHOR_PREFIX_BYTES]
            places = [place for place in places if place[:AUTHOR_PREFIX_BYTES] == own]
            if not places:
                raise BusRefusal("no_right")
        self._state.send(peer, self._batch(want.namespace, places), channel, last=True)

    def _batch(self, name: str, places: list[bytes], number: int = 0) -> EntryBatch:
        """As many of the entries as fit into one batch, in the order asked for."""
        _, namespace = parts_of(name)
        batch: list[bytes] = []
        size = 0
        for raw in self._state.log.encoded(namespace, places):
            size += len(raw)
            if batch and size > BATCH_BYTES:
                break
            batch.append(raw)
        else:
            self._forget_missing(name, places, batch)
        return EntryBatch(tuple(batch), number)

    def _forget_missing(self, name: str, places: list[bytes], batch: list[bytes]) -> None:
        """Forget the places whose entries the log no longer has, because the bank or another process erased them."""
        if len(batch) == len(places):
            return
        there = {place_of(decode_entry(raw), id_of_encoded(raw)) for raw in batch}
        for place in places:
            if place not in there:
                self._state.shelf.discard(name, place)

    def give(self, peer: Peer, name: str, places: list[bytes]) -> None:
        """Send a peer what it lacks if that is little; else tell it where we have entries, and it asks for them."""
        if len(places) <= MOST_GIVEN:
            batch = self._batch(name, places, peer.number())
            if batch.encoded:
                self._state.send(peer, batch, MEMORIES)
            return
        for start in range(0, len(places), MOST_OFFERED):
            self._state.send(peer, Offer(name, tuple(places[start : start + MOST_OFFERED])))
