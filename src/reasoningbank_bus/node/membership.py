"""BusMembers: who is alive, found out by probes, suspicion and incarnations as SWIM and Lifeguard have them.

Every probe interval one connected peer is pinged; if nothing is heard of it, others are asked to ping it; then it is
suspected, and dead if nobody hears of it while the suspicion lasts. The more members suspect it by themselves the
sooner that is; a node that misses answers becomes slower to suspect (its local health). A suspect that hears of it
raises its incarnation, which overrides. What a node hears on its own connections it believes before what others say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from reasoningbank_bus.node.settings import NodeSettings
from reasoningbank_bus.wire.frame import Ack, Frame, MemberNews, Ping, PingFor

NEWS_IN_A_FRAME = 12
MOST_NEWS = 200
"""In the first frame to a peer that has just come."""
FURTHEST_INCARNATION = 1 << 40
CONFIRMATIONS = 2
"""With so many others who suspect by themselves, a suspicion lasts its least."""
LONGEST_SUSPICION = 3.0
"""Times the least."""

Message = tuple[bytes, Frame]


@dataclass(slots=True)
class BusMember:
    """Another member, as this node sees it."""

    key: bytes
    address: str = ""
    state: str = "alive"
    incarnation: int = 0
    since: float = 0.0
    heard: float = -math.inf
    """When a frame came on its own connection."""
    probed: float = -math.inf
    suspected_by: set[bytes] = field(default_factory=set)
    doubted: bool = False
    """Others suspect it while we hear it: it is told so, and can refute."""


@dataclass(slots=True)
class _Probe:
    target: bytes
    began: float
    indirect_at: float
    ends: float
    asked_others: bool = False


class BusMembers:
    """The members that a node knows, and the frames that keep it up to date."""

    def __init__(
        self, own: bytes, settings: NodeSettings, incarnation: int, rng: Random, is_known: Callable[[bytes], bool]
    ) -> None:
        self.own = own
        self.incarnation = incarnation
        self.members: dict[bytes, BusMember] = {}
        self.linked: dict[bytes, None] = {}
        self.local_health = 0
        self.deaths: int = 0
        self._settings = settings
        self._rng = rng
        self._is_known = is_known
        self._numbers = 0
        self._probes: dict[int, _Probe] = {}
        self._relayed: dict[int, tuple[bytes, int, float]] = {}
        self._next_probe = 0.0
        self._news: dict[bytes, tuple[MemberNews, int]] = {}

    def alive(self) -> int:
        """How many are not dead, this node among them."""
        return 1 + sum(member.state != "dead" for member in self.members.values())

    def link(self, key: bytes, address: str, incarnation: int, now: float) -> None:
        """A connection stands, and the peer has said who it is."""
        self.linked[key] = None
        member = self.members.get(key)
        if member is None:
            member = self.members[key] = BusMember(key, address, "alive", incarnation, now, now)
        self._is_alive(member, address, max(incarnation, member.incarnation), now)
        self.hear(key, now)

    def part(self, key: bytes) -> None:
        """Its connection was ended on purpose, which says nothing about whether it is alive."""
        self.linked.pop(key, None)

    def unlink(self, key: bytes, now: float) -> None:
        """Its connection has ended: it is suspected unless it is heard of otherwise."""
        member = self.members.get(key)
        if member is None or key not in self.linked:
            return
        del self.linked[key]
        if not member.address:
            # Nobody could look for it: who only asks comes and goes.
            del self.members[key]
        elif member.state == "alive":
            self._suspect(member, self.own, now)

    def hear(self, key: bytes, now: float) -> None:
        """A frame came on its own connection: it is alive, whatever is said."""
        member = self.members.get(key)
        if member is None:
            return
        member.heard = now
        if member.state != "alive":
            # Others may still believe it dead: told so, it refutes with a higher incarnation.
            member.doubted = True
            member.state, member.since = "alive", now
            member.suspected_by.clear()

    def take_news(self, news: Sequence[MemberNews], now: float) -> None:
        # What everybody knows but a peer that has just come is not passed on.
        spread = len(news) <= NEWS_IN_A_FRAME + 1
        for item in news:
            if item.incarnation > FURTHEST_INCARNATION:
                continue
            if item.key == self.own:
                if item.state != "alive" and item.incarnation >= self.incarnation:
                    self.incarnation = item.incarnation + 1
                    self.local_health = min(self.local_health + 1, self._settings.most_local_health)
                    self._spread(MemberNews(self.own, self._settings.listen, "alive", self.incarnation, b""))
            else:
                self._take_one(item, now, spread=spread)

    def _take_one(self, item: MemberNews, now: float, *, spread: bool) -> None:
        member = self.members.get(item.key)
        if member is None:
            if item.state == "dead" or len(self.members) >= self._settings.most_members or not self._is_known(item.key):
                return
            member = self.members[item.key] = BusMember(item.key, item.address, "alive", item.incarnation, now)
            if spread:
                self._spread(MemberNews(item.key, item.address, "alive", item.incarnation, b""))
        if item.state == "alive":
            if item.incarnation > member.incarnation:
                self._is_alive(member, item.address, item.incarnation, now)
            return
        if item.incarnation < member.incarnation or member.state == "dead":
            return
        if now - member.heard < self._patience():
            # We hear it ourselves. It is told what is said of it, with the next ping.
            member.incarnation = max(member.incarnation, item.incarnation)
            member.doubted = True
            return
        member.incarnation = item.incarnation
        is_watched = member.state == "suspect" and now - member.since >= self._patience()
        if item.state == "dead" and (is_watched or item.key not in self.linked):
            self._die(member, now)
        else:
            # That it is dead is believed at once only of whom we have listened for in vain ourselves.
            self._suspect(member, item.by, now)

    def _is_alive(self, member: BusMember, address: str, incarnation: int, now: float) -> None:
        is_news = (member.state, member.incarnation, member.address) != ("alive", incarnation, address)
        member.address = address or member.address
        member.state, member.incarnation = "alive", incarnation
        member.suspected_by.clear()
        if is_news:
            member.since = now
            self._spread(MemberNews(member.key, member.address, "alive", incarnation, b""))

    def _suspect(self, member: BusMember, by: bytes, now: float) -> None:
        if member.state == "dead":
            return
        if member.state == "alive":
            member.state, member.since = "suspect", now
            member.suspected_by.clear()
        if by and by not in member.suspected_by and len(member.suspected_by) <= CONFIRMATIONS:
            member.suspected_by.add(by)
            self._spread(MemberNews(member.key, member.address, "suspect", member.incarnation, by))

    def _die(self, member: BusMember, now: float) -> None:
        member.state, member.since = "dead", now
        member.suspected_by.clear()
        self.deaths += 1
        self._spread(MemberNews(member.key, member.address, "dead", member.incarnation, self.own))

    def suspicion_seconds(self, member: BusMember) -> float:
        """How long a suspicion lasts, by how many have it by themselves."""
        settings = self._settings
        least = settings.suspicion_factor * max(1.0, math.log10(self.alive())) * settings.probe_seconds
        confirmations = max(0, len(member.suspected_by) - 1)
        factor = LONGEST_SUSPICION - (LONGEST_SUSPICION - 1) * math.log(confirmations + 1) / math.log(CONFIRMATIONS + 1)
        return least * max(1.0, factor)

    def _patience(self) -> float:
        """Who was heard so lately is not suspected because others say so."""
        return 2 * self._settings.probe_seconds

    def tick(self, now: float) -> list[Message]:
        """Probes that are due, and what follows from those that were not answered."""
        messages: list[Message] = []
        for number, probe in list(self._probes.items()):
            member = self.members.get(probe.target)
            if member is None or member.heard >= probe.began:
                del self._probes[number]
                self.local_health = max(0, self.local_health - 1)
            elif now >= probe.ends:
                del self._probes[number]
                self.local_health = min(self.local_health + 1, self._settings.most_local_health)
                self._suspect(member, self.own, now)
            elif now >= probe.indirect_at and not probe.asked_others:
                probe.asked_others = True
                messages.append((probe.target, Ping(number, self.news_for(probe.target))))
                candidates = [key for key in self.linked if key != probe.target]
                helpers = self._rng.sample(candidates, min(self._settings.indirect_probes, len(candidates)))
                messages.extend((key, PingFor(number, probe.target)) for key in helpers)
        for member in self.members.values():
            if member.state == "suspect":
                self._wait_for(member, now)
        for number in [number for number, (_, _, ends) in self._relayed.items() if ends <= now]:
            del self._relayed[number]
        if now >= self._next_probe:
            messages.extend(self._probe(now))
        return messages

    def _wait_for(self, member: BusMember, now: float) -> None:
        """A suspect is dead when it was waited for in vain; who has waited a while itself suspects it by itself."""
        wait = now - member.since
        if wait >= self.suspicion_seconds(member):
            self._die(member, now)
        elif member.key in self.linked and wait >= self._patience() * (self.local_health + 1):
            self._suspect(member, self.own, now)

    def _probe(self, now: float) -> list[Message]:
        slowness = self.local_health + 1
        interval = self._settings.probe_seconds * slowness
        self._next_probe = now + interval
        if not self.linked:
            return []
        # Who was not heard for longest: who has just died is soon probed by everybody.
        target = min(
            self.linked, key=lambda key: (max(self.members[key].heard, self.members[key].probed), self._rng.random())
        )
        self.members[target].probed = now
        number = self._number()
        timeout = self._settings.probe_timeout_seconds * slowness
        self._probes[number] = _Probe(target, now, now + timeout, now + interval)
        return [(target, Ping(number, self.news_for(target)))]

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def on_ping(self, peer: bytes, ping: Ping) -> list[Message]:
        """A ping with the number 0 only carries news."""
        return [(peer, Ack(ping.number, self.news_for(peer)))] if ping.number else []

    def on_ping_for(self, peer: bytes, request: PingFor, now: float) -> list[Message]:
        if request.target == self.own or request.target not in self.linked or len(self._relayed) >= 256:
            return []
        number = self._number()
        self._relayed[number] = (peer, request.number, now + 10 * self._settings.probe_seconds)
        return [(request.target, Ping(number, self.news_for(request.target)))]

    def on_ack(self, peer: bytes, ack: Ack, now: float) -> list[Message]:
        relay = self._relayed.pop(ack.number, None)
        if relay is not None:
            origin, number, _ = relay
            return [(origin, Ack(number))] if origin in self.linked else []
        probe = self._probes.get(ack.number)
        if probe is not None and probe.target != peer and probe.asked_others:
            # Another one has heard of it for us.
            self.hear(probe.target, now)
        return []

    def gossip(self) -> list[Message]:
        """News for some connected peers, when there are any, and a ping for each that is suspected."""
        suspects = [key for key in self.linked if self.members[key].state == "suspect"]
        messages: list[Message] = [(key, Ping(self._number(), self.news_for(key))) for key in suspects]
        if self._news:
            targets = self._rng.sample(list(self.linked), min(self._settings.fanout, len(self.linked)))
            messages.extend((key, Ping(0, news)) for key in targets if (news := self.news_for(key)))
        return messages

    def introduction(self, most: int = MOST_NEWS) -> tuple[MemberNews, ...]:
        """Members with an address that are not dead, at random: for a peer that may not know them."""
        members = [member for member in self.members.values() if member.state != "dead" and member.address]
        sample = self._rng.sample(members, min(len(members), most))
        return tuple(MemberNews(member.key, member.address, "alive", member.incarnation, b"") for member in sample)

    def _spread(self, news: MemberNews) -> None:
        self._news[news.key] = (news, 0)

    def news_for(self, peer: bytes) -> tuple[MemberNews, ...]:
        """The news that were told least often, and what is said of the peer itself, so that it can refute."""
        most = math.ceil(4 * math.log10(self.alive() + 1))
        keys = sorted(self._news, key=lambda key: self._news[key][1])[:NEWS_IN_A_FRAME]
        bulletin = []
        for key in keys:
            news, times = self._news[key]
            bulletin.append(news)
            if times + 1 >= most:
                del self._news[key]
            else:
                self._news[key] = (news, times + 1)
        member = self.members.get(peer)
        if member is not None and (member.doubted or member.state != "alive"):
            member.doubted = False
            bulletin.append(MemberNews(peer, member.address, "suspect", member.incarnation, self.own))
        return tuple(bulletin)
