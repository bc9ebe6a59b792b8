"""State of one connected peer: what it may send, what is on its way to it, what was counted."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from typing import NamedTuple

from reasoningbank_bus.node.limits import Allowed
from reasoningbank_bus.node.settings import NodeSettings
from reasoningbank_bus.sync.place_set import AUTHOR_PREFIX_BYTES

WINDOW_FRAMES = 16
"""Batches on their way to one peer before it has acknowledged one."""
LOST_AFTER_SECONDS = 2.0
"""A batch that was not acknowledged for so long no longer counts as on its way."""
MOST_REFUSED = 4096
MOST_NUMBERS = 1024
MOST_LATE = 64


class InFlight(NamedTuple):
    """A batch that was pushed and not acknowledged yet."""

    sent: float
    rumour: int


class Fetch(NamedTuple):
    """Entries that were asked for, on one channel."""

    sent: float
    set_name: str
    places: tuple[bytes, ...]


class Peer:
    """One connection. Bounded in everything that the peer could make it hold."""

    def __init__(self, key: bytes, settings: NodeSettings, now: float) -> None:
        burst = settings.burst_seconds
        self.key = key
        self.since = now
        self.heard = now
        self.greeted = False
        self.name = ""
        self.address = ""
        self.clock_ahead_ms = 0
        self.reconciled = -1e9
        self.lacks = 0
        """Number of entries by which its sets were smaller than ours when it last told."""
        self.behind = 0
        """Number of entries by which ours were smaller."""
        self.bytes_allowed = Allowed(settings.bytes_per_second, burst, now)
        self.frames_allowed = Allowed(settings.frames_per_second, burst, now)
        self.entries_allowed = Allowed(settings.entries_per_second, burst, now)
        self.refused_allowed = Allowed(settings.refused_entries_per_second, burst, now)
        self.news_allowed = Allowed(settings.news_per_second, burst, now)
        self.ranges_allowed = Allowed(settings.ranges_per_second, burst, now)
        self.refusals_allowed = Allowed(20, burst, now)
        self.may_read: dict[str, bool] = {}
        self.in_flight: OrderedDict[int, InFlight] = OrderedDict()
        self.fetches: dict[int, Fetch] = {}
        self.late_fetches: OrderedDict[int, Fetch] = OrderedDict()
        """Those that were given up: others may be asked, and the answer may still come."""
        self.to_fetch: dict[str, deque[bytes]] = {}
        self.questions: dict[int, tuple[int, float]] = {}
        """Our open questions and when they were asked, by the channels on which they are answered."""
        self.late_questions: OrderedDict[int, None] = OrderedDict()
        """The channels of those that were given up: an answer that still comes is nobody's lie."""
        self.requests: dict[int, tuple[int, float]] = {}
        """Its open questions: the channels on which they are answered, and when they came."""
        self.counts: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        """Refusals of its entries here, by code."""
        self.refuses_ours: Counter[str] = Counter()
        """Refusals of our entries there, by code."""
        self.second_told = -1e9
        """When it said that another machine came to it with our key."""
        self.unhelpful_until = 0.0
        """It did not give what it said that it has; until then it is asked for nothing."""
        self._refuses: OrderedDict[bytes, float] = OrderedDict()
        self._numbers_seen: OrderedDict[int, None] = OrderedDict()
        self._least_number = 0
        self._numbers = 0

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def is_replayed(self, number: int) -> bool:
        """True if a batch with this number came before in this connection. Batches may overtake each other."""
        if number <= self._least_number or number in self._numbers_seen:
            return True
        self._numbers_seen[number] = None
        if len(self._numbers_seen) > MOST_NUMBERS:
            oldest, _ = self._numbers_seen.popitem(last=False)
            self._least_number = max(self._least_number, oldest)
        return False

    def has_room(self) -> bool:
        """True if another batch may be sent."""
        return len(self.in_flight) < WINDOW_FRAMES

    def expire_flights(self, now: float) -> None:
        while self.in_flight:
            number, oldest = next(iter(self.in_flight.items()))
            if now - oldest.sent < LOST_AFTER_SECONDS:
                break
            del self.in_flight[number]

    def give_up_fetch(self, channel: int) -> None:
        self.late_fetches[channel] = self.fetches.pop(channel)
        if len(self.late_fetches) > MOST_LATE:
            self.late_fetches.popitem(last=False)

    def give_up_question(self, channel: int) -> int:
        """The number of the question that was asked there."""
        number, _ = self.questions.pop(channel)
        self.late_questions[channel] = None
        if len(self.late_questions) > MOST_LATE:
            self.late_questions.popitem(last=False)
        return number

    def refuses(self, name: bytes, now: float, seconds: float) -> bool:
        """Remember that it does not take what is at a place, or of an author; whether that is new."""
        is_new = name not in self._refuses
        self._refuses[name] = now + seconds
        self._refuses.move_to_end(name)
        if len(self._refuses) > MOST_REFUSED:
            self._refuses.popitem(last=False)
        return is_new

    def takes(self, places: Iterable[bytes], now: float) -> list[bytes]:
        """The places that it has not refused lately."""
        if not self._refuses:
            return list(places)
        until = self._refuses.get
        return [
            place for place in places if until(place, 0.0) <= now and until(place[:AUTHOR_PREFIX_BYTES], 0.0) <= now
        ]
