"""Epidemic push: what is new is told to a few random peers at once, and by each of them to others in the next round.

A rumour is a batch of entries that came together. The first peers that are told get the entries themselves; then, for a
few rounds, others are offered their places only and ask for what they lack. Reconciliation mends what was missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from reasoningbank_bus.node.fetching import BATCH_BYTES, MOST_OFFERED
from reasoningbank_bus.node.peer import InFlight, Peer
from reasoningbank_bus.node.state import NodeState
from reasoningbank_bus.wire.entry import Entry
from reasoningbank_bus.wire.frame import LINKS, MEMORIES, SIGNALS, EntryBatch, Have, Offer

CHANNELS = {
    "memory": MEMORIES,
    "node": MEMORIES,
    "edge": LINKS,
    "grant": LINKS,
    "signal": SIGNALS,
    "erased": SIGNALS,
    "revoked": SIGNALS,
}
MOST_RUMOURS = 512
MOST_RUMOUR_BYTES = 32 * 1024 * 1024


class Rumour:
    """A batch of new entries of one set, and who knows them."""

    __slots__ = (
        "channel",
        "copies",
        "encoded",
        "known",
        "number",
        "offers",
        "places",
        "repeats",
        "sent",
        "set_name",
        "size",
    )

    def __init__(self, number: int, set_name: str, channel: int, copies: int, offers: int) -> None:
        self.number = number
        self.set_name = set_name
        self.channel = channel
        self.copies = copies
        self.repeats = 2 * copies
        self.offers = offers
        self.places: list[bytes] = []
        self.encoded: tuple[bytes, ...] = ()
        self.size = 0
        self.known: set[bytes] = set()
        self.sent: dict[bytes, float] = {}


class Gossip:
    def __init__(self, state: NodeState) -> None:
        self._state = state
        self._rumours: dict[int, Rumour] = {}
        self._of_place: dict[bytes, int] = {}
        self._numbers = 0
        self._bytes = 0
        self._patience = 2 * state.settings.round_seconds

    def __len__(self) -> int:
        return len(self._rumours)

    def start(
        self, fresh: Iterable[tuple[str, Entry, bytes, bytes]], source: bytes | None, members: int
    ) -> list[Rumour]:
        """New rumours of entries (set, entry, place, encoded) that came from a peer, or are our own."""
        groups: dict[tuple[str, int], list[tuple[bytes, bytes]]] = {}
        for name, entry, place, raw in fresh:
            groups.setdefault((name, CHANNELS[entry.kind]), []).append((place, raw))
        rumours = []
        for (name, channel), items in groups.items():
            for batch in _batches(items):
                rumour = self._make(name, channel, members)
                rumour.places = [place for place, _ in batch]
                rumour.encoded = tuple(raw for _, raw in batch)
                rumour.size = sum(map(len, rumour.encoded))
                if source is not None:
                    rumour.known.add(source)
                self._keep(rumour)
                rumours.append(rumour)
        return rumours

    def _make(self, name: str, channel: int, members: int) -> Rumour:
        self._numbers += 1
        settings = self._state.settings
        offers = settings.least_offers + math.ceil(math.log2(members + 1))
        return Rumour(self._numbers, name, channel, settings.copies, offers)

    def _keep(self, rumour: Rumour) -> None:
        self._rumours[rumour.number] = rumour
        self._bytes += rumour.size
        for place in rumour.places:
            self._of_place[place] = rumour.number
        while len(self._rumours) > MOST_RUMOURS or (self._bytes > MOST_RUMOUR_BYTES and len(self._rumours) > 1):
            # Reconciliation brings what is no longer told.
            self._forget(next(iter(self._rumours.values())))

    def _forget(self, rumour: Rumour) -> None:
        del self._rumours[rumour.number]
        self._bytes -= rumour.size
        for place in rumour.places:
            if self._of_place.get(place) == rumour.number:
                del self._of_place[place]

    def tell(self, rumours: Sequence[Rumour], now: float) -> None:
        """Tell each of these rumours to some peers that may read it and are not known to have it."""
        peers = self._state.greeted_peers()
        for rumour in rumours:
            listeners = [
                peer
                for peer in peers
                if peer.key not in rumour.known and self._state.may_read(peer, rumour.set_name, now)
            ]
            if not listeners or (rumour.copies <= 0 and rumour.offers <= 0):
                self._forget(rumour)
                continue
            count = min(self._state.settings.fanout if rumour.copies > 0 else 1, len(listeners))
            for peer in self._state.rng.sample(listeners, count):
                self._tell_one(peer, rumour, now)

    def _tell_one(self, peer: Peer, rumour: Rumour, now: float) -> None:
        places = peer.takes(rumour.places, now)
        if not places:
            rumour.known.add(peer.key)
            return
        if rumour.copies > 0 and peer.key not in rumour.sent:
            if not peer.has_room():
                return
            rumour.copies -= 1
            rumour.sent[peer.key] = now
            number = peer.number()
            peer.in_flight[number] = InFlight(now, rumour.number)
            self._state.send(peer, EntryBatch(rumour.encoded, number), rumour.channel)
        elif rumour.offers > 0:
            rumour.offers -= 1
            self._state.send(peer, Offer(rumour.set_name, tuple(places[:MOST_OFFERED])))

    def round(self, now: float) -> None:
        for rumour in self._rumours.values():
            self._send_lost_again(rumour, now)
        self.tell(list(self._rumours.values()), now)

    def _send_lost_again(self, rumour: Rumour, now: float) -> None:
        """A batch that was not acknowledged in the usual time may be sent once more."""
        for key, sent_at in list(rumour.sent.items()):
            if key in rumour.known or rumour.repeats <= 0 or now - sent_at < self._patience:
                continue
            del rumour.sent[key]
            rumour.repeats -= 1
            rumour.copies += 1

    def on_have(self, peer: Peer, have: Have, now: float) -> None:
        """A peer has what was pushed to it."""
        flown = peer.in_flight.pop(have.number, None)
        if flown is not None:
            usual = self._state.settings.round_seconds
            self._patience += 0.1 * (max(usual, 4 * (now - flown.sent)) - self._patience)
        rumour = self._rumours.get(flown.rumour) if flown is not None else None
        if rumour is not None:
            rumour.known.add(peer.key)

    def note_known(self, peer: Peer, places: Iterable[bytes]) -> None:
        """A peer has shown that it has these: a rumour that it knows whole is not told to it."""
        overlap = {place for place in places if place in self._of_place}
        for number in {self._of_place[place] for place in overlap}:
            rumour = self._rumours[number]
            if overlap.issuperset(rumour.places):
                rumour.known.add(peer.key)


def _batches(items: Sequence[tuple[bytes, bytes]]) -> Iterable[list[tuple[bytes, bytes]]]:
    batch: list[tuple[bytes, bytes]] = []
    size = 0
    for item in items:
        size += len(item[1])
        if batch and (size > BATCH_BYTES or len(batch) >= MOST_OFFERED):
            yield batch
            batch, size = [], len(item[1])
        batch.append(item)
    if batch:
        yield batch
