"""Asking: a search at a peer, within its rights, and the answers to ours."""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank_bus.node.effects import Answered, Search
from reasoningbank_bus.node.peer import Peer
from reasoningbank_bus.node.state import NodeState
from reasoningbank_bus.refusal_tally import LatestRefusal
from reasoningbank_bus.wire.frame import CONTROL, Ask, Hits, Refusal
from reasoningbank_bus.wire.refusals import SENTENCES, BusRefusal

SCOPES = ("team", "org")
NOT_CONNECTED = "not_connected"
ANSWER_SECONDS = 30.0


class Asking:
    def __init__(self, state: NodeState) -> None:
        self._state = state
        self._numbers = 0

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def ask(self, key: bytes, question: Ask, now: float) -> int:
        """Send a question, or answer it at once with why it cannot be sent."""
        peer = self._state.peers.get(key)
        if peer is None or not peer.greeted:
            self._answer(
                key, question.request, NOT_CONNECTED, "This peer is not connected; look at: reasoningbank bus status"
            )
        elif len(peer.questions) >= self._state.settings.open_requests:
            self._answer(key, question.request, "over_limit", SENTENCES["over_limit"])
        else:
            channel = self._state.channel()
            peer.questions[channel] = (question.request, now)
            self._state.send(peer, question, channel, last=True)
        return question.request

    def _answer(self, key: bytes, number: int, code: str, sentence: str) -> None:
        self._state.effects.append(Answered(key, number, (), (code, sentence)))

    def expire(self, now: float) -> None:
        """Give up questions of either side that were not answered in time."""
        for peer in self._state.peers.values():
            for channel in [channel for channel, (_, at) in peer.questions.items() if now - at > ANSWER_SECONDS]:
                number = peer.give_up_question(channel)
                self._answer(peer.key, number, "no_answer", f"No answer came within {ANSWER_SECONDS:.0f} seconds.")
            for request in [request for request, (_, at) in peer.requests.items() if now - at > ANSWER_SECONDS]:
                del peer.requests[request]

    def on_ask(self, peer: Peer, channel: int, question: Ask, now: float) -> None:
        if len(peer.requests) >= self._state.settings.open_requests or question.request in peer.requests:
            raise BusRefusal("over_limit", "too many questions at once")
        now_ms = self._state.now_ms(now)
        chains = {
            scope: chain
            for scope in SCOPES
            if (chain := self._state.rights.right_for(peer.key, "search", question.namespace, scope, now_ms))
            is not None
        }
        if not chains:
            what = LatestRefusal(peer.key, question.namespace, "search")
            self._state.refuse(peer, BusRefusal("no_right"), now, CONTROL if channel >= 0 else channel, what=what)
            return
        peer.requests[question.request] = (channel, now)
        chain = next(iter(chains.values()))
        self._state.effects.append(
            Search(peer.key, question.request, question.query, question.namespace, question.limit, chain, tuple(chains))
        )

    def answer(self, peer: Peer, request: int, hits: Sequence[bytes] | BusRefusal) -> None:
        channel, _ = peer.requests.pop(request, (None, 0.0))
        if channel is None:
            return
        if isinstance(hits, BusRefusal):
            self._state.count_refused(peer, hits.code, LatestRefusal(peer.key, action="search"))
            self._state.send(peer, Refusal(hits.code, str(hits)[:1000], hits.about), channel, last=True)
        else:
            self._state.send(peer, Hits(request, tuple(hits)), channel, last=True)

    def on_hits(self, peer: Peer, channel: int, answer: Hits, _now: float) -> None:
        if channel in peer.late_questions:
            del peer.late_questions[channel]
            return
        number, _ = peer.questions.pop(channel, (None, 0.0))
        if number is None or number != answer.request:
            raise BusRefusal("malformed", "an answer to what was not asked")
        self._state.effects.append(Answered(peer.key, number, answer.hits))

    def on_refusal(self, peer: Peer, channel: int, refusal: Refusal) -> None:
        number, _ = peer.questions.pop(channel, (None, 0.0))
        if number is not None:
            self._answer(peer.key, number, refusal.code, refusal.sentence)

    def give_up(self, peer: Peer) -> None:
        """Its connection has ended."""
        for number, _ in peer.questions.values():
            self._answer(peer.key, number, NOT_CONNECTED, "The connection to this peer ended before it had answered.")
        peer.questions.clear()
