"""Reconciliation: sets are compared with those of a random peer every few seconds, and what either lacks is fetched.

A peer that may not read a set is only told of what it wrote itself; it may still bring what others wrote.
"""

from __future__ import annotations

from reasoningbank_bus.node.fetching import Fetching
from reasoningbank_bus.node.intake import Intake
from reasoningbank_bus.node.peer import Peer
from reasoningbank_bus.node.shelf import prefixes
from reasoningbank_bus.node.state import NodeState
from reasoningbank_bus.sync.place_set import AUTHOR_PREFIX_BYTES, END, prefix_end
from reasoningbank_bus.sync.reconcile import Bounds, compare, is_ordered, whole_range
from reasoningbank_bus.wire.frame import Digest, NamespaceSum, PlaceRange, Ranges
from reasoningbank_bus.wire.refusals import BusRefusal

MOST_SETS = 256
"""Sets in one digest, chosen at random when there are more."""
MOST_RANGES = 384
"""Ranges in one frame: so many with fingerprints fit into a control frame."""
MOST_PLACES_IN_A_FRAME = 1_400
MOST_LACKED = 10_000
LONGEST_WITHOUT_SECONDS = 30.0
"""A peer that is busy is left alone, but not for longer."""


class Reconciling:
    def __init__(self, state: NodeState, fetching: Fetching, intake: Intake) -> None:
        self._state = state
        self._intake = intake
        self._fetching = fetching
        self._next = 0.0

    def tick(self, now: float) -> Peer | None:
        """Begin with a random peer if it is time; returns that peer."""
        if now < self._next:
            return None
        pause = self._state.settings.reconcile_seconds
        self._next = now + pause * self._state.rng.uniform(0.75, 1.25)
        ready = [peer for peer in self._state.greeted_peers() if self._is_ready(peer, now)]
        if not ready:
            return None
        partner = self._state.rng.choice(ready)
        self.begin(partner, now)
        return partner

    def _is_ready(self, peer: Peer, now: float) -> bool:
        is_busy = bool(peer.in_flight) or not self._fetching.is_idle(peer)
        return not is_busy or now - peer.reconciled > LONGEST_WITHOUT_SECONDS

    def begin(self, peer: Peer, now: float) -> None:
        """Tell a peer the fingerprints of all sets that it may know."""
        peer.reconciled = now
        names = sorted(self._state.shelf.sets)
        if len(names) > MOST_SETS:
            names = self._state.rng.sample(names, MOST_SETS)
        sums: list[NamespaceSum] = []
        for name in names:
            if self._state.may_read(peer, name, now) and not self._state.shelf.left_out(name, now):
                whole = whole_range(self._state.shelf.sets[name])
                sums.append(NamespaceSum(name, whole.count, whole.fingerprint))
            else:
                self._send_whole(peer, name, now)
        self._state.send(peer, Digest(tuple(sums)))

    def on_digest(self, peer: Peer, digest: Digest, now: float) -> None:
        """Answer with ranges of every set that differs, and of those that were not named."""
        self._charge(peer, len(digest.namespaces) + len(self._state.shelf.sets), now)
        peer.reconciled = now
        peer.behind = peer.lacks = 0
        names = set()
        for summary in digest.namespaces:
            names.add(summary.namespace)
            difference = summary.count - len(self._state.shelf.get(summary.namespace))
            # Of a set of which authors are left out, the peer counts more than is ever taken here.
            if not self._state.shelf.left_out(summary.namespace, now):
                peer.behind += max(0, difference)
            peer.lacks += max(0, -difference)
            whole = PlaceRange(b"", END, summary.count, summary.fingerprint)
            self._compare(peer, summary.namespace, (whole,), prefixes(digest.without), now)
        for name in sorted(self._state.shelf.sets.keys() - names)[:MOST_SETS]:
            self._send_whole(peer, name, now)

    def on_ranges(self, peer: Peer, frame: Ranges, now: float) -> None:
        self._charge(peer, len(frame.ranges) + sum(len(part.places) for part in frame.ranges), now)
        if not is_ordered(frame.ranges):
            raise BusRefusal("malformed", "ranges that overlap, or are not in order")
        self._compare(peer, frame.namespace, frame.ranges, prefixes(frame.without), now)

    def _charge(self, peer: Peer, ranges: int, now: float) -> None:
        if not peer.ranges_allowed.take(ranges, now):
            raise BusRefusal("over_limit", "more to compare than is compared for one peer")

    def _bounds(self, peer: Peer, name: str, now: float) -> Bounds | None:
        """Part of a set that a peer may know; None: all."""
        if self._state.may_read(peer, name, now):
            return None
        own = peer.key[:AUTHOR_PREFIX_BYTES]
        return own, prefix_end(own)

    def _send_whole(self, peer: Peer, name: str, now: float) -> None:
        left_out = self._state.shelf.left_out(name, now)
        bounds = self._bounds(peer, name, now)
        whole = whole_range(self._state.shelf.sets[name], prefixes(left_out), bounds)
        if whole.count or bounds is None:
            self._state.send(peer, Ranges(name, (whole,), left_out))

    def _compare(
        self, peer: Peer, name: str, ranges: tuple[PlaceRange, ...], without: frozenset[bytes], now: float
    ) -> None:
        left_out = self._state.shelf.left_out(name, now)
        without |= prefixes(left_out)
        difference = compare(
            self._state.shelf.get(name), ranges, without, most=MOST_LACKED, bounds=self._bounds(peer, name, now)
        )
        # Authors by the beginnings of their keys, as long as keys are.
        authors = tuple(sorted(prefix.ljust(32, b"\0") for prefix in without))
        for answer in _frames(difference.answer):
            self._state.send(peer, Ranges(name, tuple(answer), authors))
        places = peer.takes(difference.lacked, now)
        if places:
            self._fetching.give(peer, name, places)
        lacking = [place for place in difference.lacking if not self._intake.is_refused(place, now)]
        if lacking:
            self._fetching.want(peer, name, lacking, now)


def _frames(ranges: list[PlaceRange]) -> list[list[PlaceRange]]:
    """Ranges in pieces that fit into a frame."""
    frames: list[list[PlaceRange]] = []
    room = 0.0
    for part in ranges:
        cost = 1 + len(part.places) * MOST_RANGES / MOST_PLACES_IN_A_FRAME
        if not frames or cost > room:
            frames.append([])
            room = MOST_RANGES
        frames[-1].append(part)
        room -= cost
    return frames
