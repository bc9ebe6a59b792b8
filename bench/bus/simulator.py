"""A network of nodes in simulated time: deterministic by its seed, with loss, delay, reordering, duplication, one-way
partitions, wrong clocks, and crashes that lose all that was not durable. The nodes are the real ones.

A frame is lost as a whole, which is harsher than QUIC: there a lost packet is sent again while the connection stands.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from random import Random
from typing import Any

from reasoningbank_bus.authority.intent import Intent, intent_id, sign_intent
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.log.memory import MemoryLog
from reasoningbank_bus.node.effects import Answered, Close, Dial, Effect, Search, Send, Took
from reasoningbank_bus.node.node import BusNode
from reasoningbank_bus.node.settings import NodeSettings
from reasoningbank_bus.wire.entry import Entry, RecordName, sign_entry
from reasoningbank_bus.wire.signing import SigningKey

EPOCH_MS = 1_790_000_000_000
YEAR_MS = 365 * 24 * 3600 * 1000
IDLE_SECONDS = 10.0
"""A connection over which nothing came for so long is over, as QUIC's idle timeout has it."""
NAMESPACE = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What happens to frames."""

    loss: float = 0.0
    least_delay: float = 0.005
    most_delay: float = 0.05
    duplicates: float = 0.0


class PowerLoss(Exception):
    """The machine stops in the middle of a write."""


class FragileLog(MemoryLog):
    """A log whose machine may stop just before or just after what it writes is durable."""

    fails: str = ""

    def add(self, entries: Sequence[Entry], **rest: Any) -> list[Entry]:
        if self.fails == "before":
            raise PowerLoss
        added = super().add(entries, **rest)
        if self.fails == "after":
            raise PowerLoss
        return added


@dataclass(slots=True)
class Host:
    """One machine: what is durable on it, and the node that runs there while it is up."""

    number: int
    key: SigningKey
    log: FragileLog
    settings: NodeSettings
    skew_ms: int
    roots: tuple[bytes, ...]
    intents: tuple[Intent, ...]
    node: BusNode | None = None
    starts: int = 0
    took: int = 0
    asked: list[Search] = field(default_factory=list)
    answers: list[Answered] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"host:{self.number}"

    @property
    def ids(self) -> frozenset[bytes]:
        return frozenset(id_ for _, _, _, id_ in self.log.places())


class Simulation:
    def __init__(
        self,
        hosts: int,
        *,
        seed: int = 0,
        weather: Weather | None = None,
        skews_ms: Sequence[int] = (),
        authority: str = "roots",
        actions: Sequence[str] = ("record", "link", "signal", "search", "erase"),
        seeds: int = 1,
        **settings: Any,
    ) -> None:
        """`authority`: "roots": everybody trusts everybody; "grants": one root, which gave each a grant.
        `seeds`: how many first hosts everybody knows the address of.
        """
        self.now = 0.0
        self.weather = weather or Weather()
        self.random = Random(seed)
        self.counts: Counter[str] = Counter()
        self.bytes_by_type: Counter[int] = Counter()
        self.villains: dict[int, Callable[[Sequence[Effect]], list[Effect]]] = {}
        """Hosts whose effects are changed before they are carried out."""
        self.watch: Callable[[Host, Sequence[Effect]], None] | None = None
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._blocked: Callable[[int, int], bool] = lambda _sender, _receiver: False
        self._links: dict[tuple[int, int], float] = {}
        """For each pair of connected hosts, smaller first: when a frame last came through."""
        self._dialling: set[tuple[int, int]] = set()
        keys = [SigningKey(blake2b(b"%d %d" % (seed, number), digest_size=32).digest()) for number in range(hosts)]
        self.root = SigningKey(blake2b(b"%d root" % seed, digest_size=32).digest())
        self.hosts = []
        for number, key in enumerate(keys):
            roots: tuple[bytes, ...] = tuple(other.public for other in keys)
            intents: tuple[Intent, ...] = ()
            if authority == "grants":
                roots = (self.root.public,)
                intents = (_grant(self.root, key.public, actions, number),)
            named = tuple(
                (f"host:{first}", keys[first].public) for first in range(min(seeds, hosts)) if first != number
            )
            own = NodeSettings(listen=f"host:{number}", peers=named, **settings)
            skew = skews_ms[number % len(skews_ms)] if skews_ms else 0
            self.hosts.append(Host(number, key, FragileLog(), own, skew, roots, intents))
        self._of_key = {host.key.public: host for host in self.hosts}
        self._grants = tuple(intent for host in self.hosts for intent in host.intents)
        for host in self.hosts:
            self.start(host)

    # ------------------------------------------------------------ machines

    def start(self, host: Host) -> None:
        host.starts += 1
        host.log.fails = ""
        for pair in [pair for pair in self._links if host.number in pair]:
            # The other side does not know yet that its connection leads nowhere.
            del self._links[pair]
            self._later(IDLE_SECONDS, lambda pair=pair: self._end_forgotten(host, pair))
        rights = Rights(host.key.public, host.roots)
        for intent in self._grants:
            rights.add(intent)
        seed = self.random.randrange(1 << 30)
        host.node = BusNode(
            key=host.key,
            rights=rights,
            log=host.log,
            settings=host.settings,
            seed=seed,
            now_ms=lambda now: EPOCH_MS + host.skew_ms + int(now * 1000),
        )
        self._tick_later(host, host.starts, self.random.uniform(0, host.settings.round_seconds))

    def crash(self, host: Host) -> None:
        """Power is gone: connections die without a word, memory is lost, the log stays."""
        host.node = None
        self._links = {pair: at for pair, at in self._links.items() if host.number not in pair or self._orphan(pair)}

    def _orphan(self, pair: tuple[int, int]) -> bool:
        return any(self.hosts[number].node is not None for number in pair)

    def _end_forgotten(self, host: Host, pair: tuple[int, int]) -> None:
        if pair not in self._links:
            other = self.hosts[pair[0] + pair[1] - host.number]
            self.perform(other, lambda node: node.disconnected(host.key.public, self.now))

    def partition(self, *groups: Iterable[int]) -> None:
        """Only hosts of one group reach each other."""
        group_of = {number: index for index, group in enumerate(groups) for number in group}
        self._blocked = lambda sender, receiver: group_of.get(sender) != group_of.get(receiver)

    def block(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Frames from the first to the second of each pair do not arrive; the other way they do."""
        chosen = set(pairs)
        self._blocked = lambda sender, receiver: (sender, receiver) in chosen

    def heal(self) -> None:
        self._blocked = lambda _sender, _receiver: False

    # ------------------------------------------------------------ time

    def run(self, seconds: float, until: Callable[[], bool] | None = None) -> float | None:
        """Let time pass. With `until`: the moment at which that came true, or None."""
        end = self.now + seconds
        if until is not None and until():
            return self.now
        while self._events and self._events[0][0] <= end:
            self.now, _, event = heapq.heappop(self._events)
            event()
            if until is not None and until():
                return self.now
        self.now = end
        return None

    def _later(self, seconds: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._order), event))

    def _tick_later(self, host: Host, start: int, seconds: float) -> None:
        def tick() -> None:
            if host.node is None or host.starts != start:
                return
            self._end_idle(host)
            self.perform(host, lambda node: node.tick(self.now))
            if host.node is not None:
                self._tick_later(host, start, max(0.01, host.node.next_tick(self.now) - self.now))

        self._later(seconds, tick)

    def _end_idle(self, host: Host) -> None:
        for pair, heard in list(self._links.items()):
            if host.number in pair and self.now - heard > IDLE_SECONDS:
                self._disconnect(pair)

    # ------------------------------------------------------------ connections and frames

    def perform(self, host: Host, call: Callable[[BusNode], list[Effect]]) -> None:
        """Call a node and carry out what it wants done; a power loss inside is a crash."""
        if host.node is None:
            return
        try:
            effects = call(host.node)
        except PowerLoss:
            self.crash(host)
            return
        if self.watch is not None:
            self.watch(host, effects)
        if host.number in self.villains:
            effects = self.villains[host.number](effects)
        for effect in effects:
            self._carry_out(host, effect)

    def _carry_out(self, host: Host, effect: Effect) -> None:
        match effect:
            case Send():
                self._send(host, effect)
            case Dial():
                self._dial(host, effect)
            case Close():
                self._disconnect(_pair(host.number, self._of_key[effect.peer].number))
            case Took():
                host.took += len(effect.entries)
            case Search():
                host.asked.append(effect)
            case Answered():
                host.answers.append(effect)

    def _delay(self) -> float:
        return self.random.uniform(self.weather.least_delay, self.weather.most_delay)

    def _dial(self, host: Host, dial: Dial) -> None:
        other = self.hosts[int(dial.address.removeprefix("host:"))]
        pair = _pair(host.number, other.number)
        if pair in self._links or pair in self._dialling or other is host:
            return
        self._dialling.add(pair)

        def finish() -> None:
            self._dialling.discard(pair)
            reached = not (self._blocked(*pair) or self._blocked(*reversed(pair)))
            if host.node is None or other.node is None or not reached or pair in self._links:
                return
            self._links[pair] = self.now
            self.perform(host, lambda node: node.connected(other.key.public, self.now, address=dial.address))
            self.perform(other, lambda node: node.connected(host.key.public, self.now))

        self._later(3 * self._delay(), finish)

    def _disconnect(self, pair: tuple[int, int]) -> None:
        if self._links.pop(pair, None) is None:
            return
        for number, other in (pair, pair[::-1]):
            key = self.hosts[other].key.public
            self.perform(self.hosts[number], lambda node, key=key: node.disconnected(key, self.now))

    def _send(self, host: Host, effect: Send) -> None:
        other = self._of_key.get(effect.peer)
        if other is None or _pair(host.number, other.number) not in self._links:
            return
        self.counts["frames"] += 1
        self.counts["bytes"] += len(effect.frame) + 4
        self.bytes_by_type[effect.frame[1] if len(effect.frame) > 1 else 0] += len(effect.frame) + 4
        # Greetings belong to the handshake, which a transport repeats until it stands.
        is_hello = effect.frame[1:2] == b"\x01"
        copies = 2 if self.random.random() < self.weather.duplicates else 1
        for _ in range(copies):
            if is_hello or self.random.random() >= self.weather.loss:
                self._later(self._delay(), lambda: self._deliver(host, other, effect))

    def _deliver(self, host: Host, other: Host, effect: Send) -> None:
        pair = _pair(host.number, other.number)
        if pair not in self._links or self._blocked(host.number, other.number) or other.node is None:
            return
        self._links[pair] = self.now
        # An exchange that one side opened has a negative number at the other.
        channel = effect.channel if 0 <= effect.channel < 4 else -effect.channel
        self.perform(other, lambda node: node.receive(host.key.public, channel, effect.frame, self.now))

    # ------------------------------------------------------------ what is written and held

    def write(self, host: Host, records: int = 1, *, size: int = 300, tell: bool = True) -> list[Entry]:
        """Records of a host, durable in its log; told to its peers unless it is not to."""
        entries = [self.make_entry(host, size=size) for _ in range(records)]
        host.log.add(entries)
        if tell:
            self.perform(host, lambda node: node.publish(entries, self.now))
        return entries

    def make_entry(self, host: Host, *, size: int = 300, kind: str = "memory", name: RecordName | None = None) -> Entry:
        number = next(self._order)
        return sign_entry(
            host.key,
            at=self.now_ms(),
            kind=kind,
            namespace=NAMESPACE,
            scope="team",
            record=name or RecordName(host.key.public, f"mem_{number}"),
            revision=1,
            intent=intent_id(host.intents[0]) if host.intents else b"",
            body=b"" if kind == "erased" else self.random.randbytes(size),
        )

    def now_ms(self) -> int:
        """The right time, whatever the hosts' clocks say."""
        return EPOCH_MS + int(self.now * 1000)

    def up(self) -> list[Host]:
        return [host for host in self.hosts if host.node is not None]

    def agree(self, hosts: Sequence[Host] | None = None) -> bool:
        """Whether all hold the same entries."""
        chosen = self.up() if hosts is None else hosts
        return len({host.ids for host in chosen}) <= 1

    def settle(self, seconds: float = 10.0) -> None:
        """Let everybody find everybody."""
        self.run(seconds)


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _grant(root: SigningKey, holder: bytes, actions: Sequence[str], number: int) -> Intent:
    return sign_intent(
        root,
        holder,
        actions=actions,
        namespaces=(NAMESPACE,),
        not_before=EPOCH_MS - 10 * YEAR_MS,
        expires=EPOCH_MS + 10 * YEAR_MS,
        nonce=number.to_bytes(16, "big"),
    )
