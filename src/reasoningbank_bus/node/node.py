"""The node: one peer of the bus as a state machine. What it is told comes in as calls, what is to be done goes out as
effects; time is an argument, chance comes from a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from reasoningbank_bus.authority.intent import encode_intent
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.node.asking import Asking
from reasoningbank_bus.node.dialling import Dialling
from reasoningbank_bus.node.effects import Close, Effect, Took
from reasoningbank_bus.node.fetching import Fetching
from reasoningbank_bus.node.gossip import Gossip
from reasoningbank_bus.node.intake import Intake
from reasoningbank_bus.node.membership import MOST_NEWS, BusMembers, Message
from reasoningbank_bus.node.peer import Peer
from reasoningbank_bus.node.reconciling import Reconciling
from reasoningbank_bus.node.settings import NodeSettings
from reasoningbank_bus.node.shelf import set_name, set_of
from reasoningbank_bus.node.state import NodeState
from reasoningbank_bus.node.status import NodeStatus, PeerStatus
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.sync.place_set import AUTHOR_PREFIX_BYTES
from reasoningbank_bus.wire.entry import Entry, encode_entry, id_of_encoded, place_of
from reasoningbank_bus.wire.frame import (
    CONTROL,
    PROTOCOL_VERSION,
    SIGNALS,
    Ack,
    Ask,
    Bye,
    Digest,
    EntryBatch,
    Frame,
    Have,
    Hello,
    Hits,
    Offer,
    Ping,
    PingFor,
    Ranges,
    Refusal,
    Want,
    decode_frame,
)
from reasoningbank_bus.wire.refusals import SENTENCES, BusRefusal
from reasoningbank_bus.wire.signing import SigningKey

INCARNATION = "incarnation"
REFUSED_SECONDS = 60.0
"""How long a peer is not sent again what it refused."""
MEMBERS_TOLD = 3
HELLO_SECONDS = 10.0
CLOCK_SET_MS = 60_000
"""A clock that is set by more than this was wrong."""
"""In which a peer must have said who it is."""


class BusNode:
    def __init__(
        self,
        *,
        key: SigningKey,
        rights: Rights,
        log: EntryLog,
        settings: NodeSettings,
        seed: int,
        now_ms: Callable[[float], int],
        heed: Callable[[float], list[Effect]] | None = None,
    ) -> None:
        """`now_ms`: the wall clock in milliseconds at a moment of the monotonic clock. `heed` takes over what was
        decided elsewhere (grants, revocations): asked before anything is taken of a peer or given to it.
        """
        self.key = key
        self.rights = rights
        rng = Random(seed)  # noqa: S311 - chooses peers and moments, no secrets
        self._state = NodeState(
            own=key.public, rights=rights, log=log, settings=settings, rng=rng, now_ms=now_ms, heed=heed
        )
        incarnation = int(log.state(INCARNATION) or b"0") + 1
        log.keep_state({INCARNATION: b"%d" % incarnation})
        self.members = BusMembers(key.public, settings, incarnation, rng, self._state.is_known)
        self._fetching = Fetching(self._state)
        self._gossip = Gossip(self._state)
        self._intake = Intake(self._state)
        self._reconciling = Reconciling(self._state, self._fetching, self._intake)
        self._asking = Asking(self._state)
        self._dialling = Dialling(self._state, self.members)
        self._run = rng.randbytes(16)
        """Tells this run of the node from another machine that has the same key."""
        self._next_round = 0.0
        self._clock_offset_ms = 0
        self._kept_incarnation = incarnation
        self._handlers: dict[type[Frame], Callable[[Peer, int, Any, float], None]] = {
            EntryBatch: self._take,
            Have: lambda peer, _, frame, now: self._gossip.on_have(peer, frame, now),
            Offer: self._on_offer,
            Want: self._fetching.serve,
            Digest: lambda peer, _, frame, now: self._reconciling.on_digest(peer, frame, now),
            Ranges: lambda peer, _, frame, now: self._reconciling.on_ranges(peer, frame, now),
            Ping: self._on_ping,
            Ack: self._on_ping,
            PingFor: self._on_ping,
            Ask: self._asking.on_ask,
            Hits: self._asking.on_hits,
            Refusal: self._on_refusal,
            Bye: self._on_bye,
        }

    # ------------------------------------------------------------ connections

    def hello(self, now: float) -> Hello:
        """The first frame of this node; the transport adds the proof of its key."""
        state = self._state
        return Hello(
            versions=(PROTOCOL_VERSION, PROTOCOL_VERSION),
            key=state.own,
            name=state.settings.name,
            listen=state.settings.listen,
            intents=tuple(encode_intent(intent) for intent in state.own_intents()),
            now=state.now_ms(now),
            incarnation=self.members.incarnation,
            nonce=self._run,
        )

    def connected(self, peer: bytes, now: float, *, address: str = "") -> list[Effect]:
        """A connection with a peer that has proved its key stands; an earlier one of the same key is over.

        `address`: where we dialled it, if we did.
        """
        state = self._state
        if (
            peer == state.own
            or state.scores.is_shut_out(peer, now)
            or len(state.peers) >= 4 * state.settings.most_links
        ):
            code = "shut_out" if state.scores.is_shut_out(peer, now) else "over_limit"
            state.count_refused(Peer(peer, state.settings, now), code)
            state.effects.append(Close(peer, code, SENTENCES[code]))
            return self._effects()
        earlier = state.peers.get(peer)
        state.peers[peer] = Peer(peer, state.settings, now)
        self._dialling.connect(peer, address)
        if earlier is not None:
            self._asking.give_up(earlier)
        state.send(state.peers[peer], self.hello(now))
        return self._effects()

    def disconnected(self, peer: bytes, now: float) -> list[Effect]:
        peer_state = self._state.peers.get(peer)
        if peer_state is not None:
            self._asking.give_up(peer_state)
            self._dialling.lose(peer_state, now)
            self._state.drop(peer_state)
        self.members.unlink(peer, now)
        return self._effects()

    def receive(self, peer: bytes, channel: int, frame: bytes, now: float) -> list[Effect]:
        """Answer one frame. Whatever a peer sent, nothing is raised for it."""
        sender = self._state.peers.get(peer)
        if sender is None:
            return []
        sender.counts["frames_in"] += 1
        sender.counts["bytes_in"] += len(frame)
        try:
            self._answer(sender, channel, frame, now)
        except BusRefusal as refusal:
            self._state.refuse(sender, refusal, now, CONTROL if channel >= 0 else channel)
        if peer not in self._state.peers:
            self._asking.give_up(sender)
            self.members.unlink(peer, now)
        return self._effects()

    def _answer(self, peer: Peer, channel: int, raw: bytes, now: float) -> None:
        if not (peer.frames_allowed.take(1, now) and peer.bytes_allowed.take(len(raw), now)):
            raise BusRefusal("over_limit")
        frame = decode_frame(raw)
        if frame is None:
            return
        if isinstance(frame, Hello):
            self._greet(peer, frame, now)
        elif not peer.greeted:
            raise BusRefusal("not_authenticated")
        else:
            peer.heard = now
            self.members.hear(peer.key, now)
            if isinstance(frame, EntryBatch | Want | Ask):
                self._state.heed(now)
                if peer.key not in self._state.peers:
                    return
            self._handlers[type(frame)](peer, channel, frame, now)

    def _greet(self, peer: Peer, hello: Hello, now: float) -> None:
        state = self._state
        if peer.greeted:
            raise BusRefusal("malformed", "a second greeting")
        least, most = hello.versions
        problem = "not_authenticated" if hello.key != peer.key else ""
        if not least <= PROTOCOL_VERSION <= most:
            problem = "version"
        if not problem:
            problem = self._intake.learn_grants(hello.intents, now)
        if not problem:
            problem = state.why_unknown(peer.key)
        if problem:
            state.refuse(peer, BusRefusal(problem), now)
            if peer.key in state.peers:
                state.close(peer, problem)
            return
        peer.greeted = True
        peer.name, peer.address = hello.name, hello.listen
        peer.clock_ahead_ms = hello.now - state.now_ms(now)
        self.members.link(peer.key, hello.listen, hello.incarnation, now)
        state.send(peer, Ping(0, self.members.introduction()))
        if state.own < peer.key:
            self._reconciling.begin(peer, now)

    # ------------------------------------------------------------ what peers send

    def _take(self, peer: Peer, channel: int, batch: EntryBatch, now: float) -> None:
        if not peer.entries_allowed.take(len(batch.encoded), now):
            raise BusRefusal("over_limit", "more entries than are taken of one peer")
        is_answer = self._fetching.is_asked(peer, channel)
        if not is_answer and (channel > SIGNALS or not batch.number):
            raise BusRefusal("malformed", "entries that were neither asked for nor numbered")
        if batch.number and peer.is_replayed(batch.number):
            raise BusRefusal("replayed")
        arrivals, duplicates = self._intake.take(peer, batch.encoded, now)
        if peer.key not in self._state.peers:
            return
        peer.counts["entries_in"] += len(arrivals)
        peer.counts["known_in"] += len(duplicates)
        self._gossip.note_known(peer, duplicates)
        if arrivals:
            self._gossip.start(
                ((arrival.set_name, arrival.entry, arrival.place, arrival.encoded) for arrival in arrivals),
                peer.key,
                self.members.alive(),
            )
            self._state.effects.append(Took(tuple(arrival.entry for arrival in arrivals)))
        if batch.number:
            self._state.send(peer, Have(len(arrivals), batch.number))
        if is_answer:
            self._fetching.end(peer, channel, batch, now)
            peer.behind = max(0, peer.behind - len(batch.encoded))
            if self._fetching.is_idle(peer) and peer.behind:
                # There was more than is fetched at a time.
                peer.behind = 0
                self._reconciling.begin(peer, now)

    def _on_offer(self, peer: Peer, _channel: int, offer: Offer, now: float) -> None:
        if not peer.ranges_allowed.take(len(offer.places), now):
            raise BusRefusal("over_limit", "more offered than is compared for one peer")
        self._gossip.note_known(peer, offer.places)
        places = [place for place in offer.places if not self._intake.is_refused(place, now)]
        self._fetching.want(peer, offer.namespace, places, now)

    def _on_ping(self, peer: Peer, _channel: int, frame: Ping | Ack | PingFor, now: float) -> None:
        if isinstance(frame, PingFor):
            self._send_all(self.members.on_ping_for(peer.key, frame, now))
            return
        if len(frame.news) > MOST_NEWS or not peer.news_allowed.take(len(frame.news), now):
            raise BusRefusal("over_limit", "more news than are heard of one peer")
        self.members.take_news(frame.news, now)
        if isinstance(frame, Ping):
            self._send_all(self.members.on_ping(peer.key, frame))
        else:
            self._send_all(self.members.on_ack(peer.key, frame, now))

    def _on_refusal(self, peer: Peer, channel: int, refusal: Refusal, now: float) -> None:
        peer.counts[f"refused_{refusal.code}" if refusal.code in SENTENCES else "refused_other"] += 1
        if refusal.code == "key_twice":
            peer.second_told = now
        self._asking.on_refusal(peer, channel, refusal)
        if self._fetching.is_asked(peer, channel):
            self._fetching.end(peer, channel, None, now)
        if len(refusal.about) == 32:
            is_place = any(refusal.about in place_set for place_set in self._state.shelf.sets.values())
            name, own = refusal.about if is_place else refusal.about[:AUTHOR_PREFIX_BYTES], self._state.own
            is_ours = refusal.code in SENTENCES and name[:AUTHOR_PREFIX_BYTES] == own[:AUTHOR_PREFIX_BYTES]
            if peer.refuses(name, now, REFUSED_SECONDS) and is_ours:
                peer.refuses_ours[refusal.code] += 1

    def _on_bye(self, peer: Peer, _channel: int, _bye: Bye, _now: float) -> None:
        self.members.part(peer.key)
        self._state.close(peer, "over_limit")

    def _send_all(self, messages: Sequence[Message]) -> None:
        for key, frame in messages:
            peer = self._state.peers.get(key)
            if peer is not None and peer.greeted:
                self._state.send(peer, frame)

    # ------------------------------------------------------------ our own doing

    def publish(self, entries: Sequence[Entry], now: float) -> list[Effect]:
        """Tell peers what is new in the log and did not come from them."""
        fresh = []
        for entry in entries:
            raw = encode_entry(entry)
            id_ = id_of_encoded(raw)
            place, name = place_of(entry, id_), set_of(entry)
            if entry.kind == "erased":
                self.forget_erased(self._state.log.erase([entry]))
            if not self._state.shelf.has(name, place):
                self._state.shelf.add(name, [(place, id_)])
                fresh.append((name, entry, place, raw))
        self._gossip.tell(self._gossip.start(fresh, None, self.members.alive()), now)
        return self._effects()

    def change_rights(self, now: float) -> list[Effect]:
        """Somebody has changed what the rights hold: judge anew, also who may stay connected."""
        self._intake.judge_anew(now)
        for peer in self._state.greeted_peers():
            if not self._state.is_known(peer.key):
                self._asking.give_up(peer)
                self._state.close(peer, "revoked")
                self.members.unlink(peer.key, now)
        return self._effects()

    def tell_of_second(self, peer: bytes, now: float) -> list[Effect]:
        """Tell a peer that another machine with its key was turned away."""
        present = self._state.peers.get(peer)
        if present is not None and present.greeted and present.refusals_allowed.take(1, now):
            self._state.send(present, Refusal("key_twice", SENTENCES["key_twice"]))
        return self._effects()

    def set_peers(self, peers: tuple[tuple[str, bytes | None], ...]) -> None:
        """Connect to these addresses from now on, instead of those that were named before."""
        self._state.settings = replace(self._state.settings, peers=peers)

    def tick(self, now: float) -> list[Effect]:
        if now >= self._next_round:
            self._next_round = now + self._state.settings.round_seconds
            self._heed_clock(now)
            self._gossip.round(now)
            self._send_all(self.members.gossip())
            self._fetching.expire(now)
            self._asking.expire(now)
            for peer in list(self._state.peers.values()):
                if not peer.greeted and now - peer.since > HELLO_SECONDS:
                    self._state.close(peer, "not_authenticated")
            self._dialling.tick(now)
        self._send_all(self.members.tick(now))
        partner = self._reconciling.tick(now)
        if partner is not None:
            # News may have missed somebody: who compares sets is told of some members too.
            self._state.send(partner, Ping(0, self.members.introduction(MEMBERS_TOLD)))
        if self.members.incarnation != self._kept_incarnation:
            self._kept_incarnation = self.members.incarnation
            self._state.log.keep_state({INCARNATION: b"%d" % self._kept_incarnation})
        return self._effects()

    def _heed_clock(self, now: float) -> None:
        """Judge anew when the clock was set: what was expired or from the future by the wrong one may be taken now."""
        offset_ms = self._state.now_ms(now) - int(now * 1000)
        if abs(offset_ms - self._clock_offset_ms) > CLOCK_SET_MS:
            self._clock_offset_ms = offset_ms
            self._intake.judge_anew(now)

    def next_tick(self, now: float) -> float:
        return max(now, self._next_round)

    def ask(self, peer: bytes, query: str, namespace: str, limit: int, now: float) -> tuple[int, list[Effect]]:
        """Ask a peer; the answer is an effect `Answered` with this number."""
        number = self._asking.ask(peer, Ask(self._asking.number(), query, namespace, limit), now)
        return number, self._effects()

    def answered(self, peer: bytes, request: int, hits: Sequence[bytes] | BusRefusal, _now: float) -> list[Effect]:
        """Send a peer what our bank found for its question, or why it does not look."""
        asker = self._state.peers.get(peer)
        if asker is not None:
            self._asking.answer(asker, request, hits)
        return self._effects()

    def forget_erased(self, standings: Sequence[tuple[str, str, bytes, bytes]]) -> None:
        """Entries (scope, namespace, place, id) that the log no longer has."""
        for scope, namespace, place, _ in standings:
            self._state.shelf.discard(set_name(scope, namespace), place)

    def status(self, now: float) -> NodeStatus:
        state = self._state
        absent = [key for key, peer in state.left.items() if peer.greeted]
        keys = dict.fromkeys([*state.peers, *self.members.members, *absent])
        return NodeStatus(
            key=state.own,
            incarnation=self.members.incarnation,
            members=self.members.alive(),
            entries={name: len(place_set) for name, place_set in sorted(state.shelf.sets.items())},
            rumours=len(self._gossip),
            refused=dict(state.refused.counts),
            latest_refused=dict(state.refused.latest),
            peers=tuple(self._peer_status(key, now) for key in keys),
        )

    def _peer_status(self, key: bytes, now: float) -> PeerStatus:
        member = self.members.members.get(key)
        link = self._state.peers.get(key)
        peer = link or self._state.left.get(key)
        heard_at = max(peer.heard if peer else -1e9, member.heard if member else -1e9)
        return PeerStatus(
            key=key,
            name=peer.name if peer else "",
            address=member.address if member else "",
            state=member.state if member else "alive",
            connected=link is not None and link.greeted,
            seconds_since_heard=now - heard_at if heard_at > -1e9 else None,
            seconds_since_reconciled=now - peer.reconciled if peer and peer.reconciled > -1e9 else None,
            seconds_since_second=now - peer.second_told if peer and peer.second_told > -1e9 else None,
            lacks=peer.lacks if peer else 0,
            behind=peer.behind if peer else 0,
            clock_ahead_ms=peer.clock_ahead_ms if peer else 0,
            score=self._state.scores.score(key, now),
            counts=dict(peer.counts) if peer else {},
            refused=dict(peer.refused) if peer else {},
            refuses=dict(peer.refuses_ours) if peer else {},
        )

    def _effects(self) -> list[Effect]:
        effects, self._state.effects = self._state.effects, []
        return effects
