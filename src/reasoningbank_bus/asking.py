"""Asks another bank over a connection of its own, for a process that runs no node; what comes back is shown as data."""

from __future__ import annotations

import asyncio

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.origins import PEER
from reasoningbank.guard.envelope import plain_origin
from reasoningbank.guard.hidden import visible
from reasoningbank.guard.quotes import as_one_line
from reasoningbank_bus.addresses import parse_address
from reasoningbank_bus.authority.intent import encode_intent
from reasoningbank_bus.exchange.answering import SharedHit, read_hit
from reasoningbank_bus.home import BusHome
from reasoningbank_bus.kept_rights import pasted_grants
from reasoningbank_bus.peers import KnownPeer
from reasoningbank_bus.quic.asking import ask_once
from reasoningbank_bus.quic.problems import PeerRefusal
from reasoningbank_bus.quic.tickets import KeptTickets
from reasoningbank_bus.remedies import remedy_there
from reasoningbank_bus.views import RemoteHit
from reasoningbank_bus.wire.frame import PROTOCOL_VERSION, Ask, Hello

MOST_HITS = 100
MOST_QUERY_CHARS = 10_000
DEADLINE_S = 30.0


def ask(bus: BusHome, peer: KnownPeer, query: str, *, namespace: str | None, limit: int) -> list[RemoteHit]:
    """The hits of one peer. Secrets are taken out of the question before it leaves, and out of what comes back."""
    key = bus.key
    if not peer.address:
        raise InvalidInput(
            f"Nobody here knows where {peer.title} is: `reasoningbank bus peer {peer.title} HOST:PORT` says so."
        )
    text = bus.bank.context.scrubber.scrub(query).text
    if not text.strip() or len(text) > MOST_QUERY_CHARS:
        raise InvalidInput(f"A question has some text, and at most {MOST_QUERY_CHARS:,} characters.")
    if not 1 <= limit <= MOST_HITS:
        raise InvalidInput(f"The limit must be from 1 to {MOST_HITS}, not {limit}.")
    question = Ask(1, text, namespace or bus.bank.namespace, limit)
    hello = Hello(
        versions=(PROTOCOL_VERSION, PROTOCOL_VERSION),
        key=key.public,
        intents=tuple(encode_intent(intent) for intent in pasted_grants(bus.log)),
        now=int(bus.bank.context.clock() * 1000),
    )
    exchange = ask_once(
        parse_address(peer.address),
        peer.key,
        question,
        key=key,
        hello=hello,
        tickets=KeptTickets(bus.log),
        deadline_seconds=DEADLINE_S,
    )
    try:
        hits = asyncio.run(exchange)
    except PeerRefusal as refusal:
        there = remedy_there(refusal.code, bus.identity.key)
        sentence = f"{peer.title} refuses to search in {question.namespace!r} for you: {refusal.sentence} {there}"
        raise PeerRefusal(refusal.code, sentence.rstrip()) from refusal
    return [_remote_hit(bus, peer, read_hit(hit)) for hit in hits.hits[:limit]]


def _remote_hit(bus: BusHome, peer: KnownPeer, hit: SharedHit) -> RemoteHit:
    """A hit as it may be shown: what the peer calls its own is the peer's here, and nothing in it hides."""

    def clean(text: str) -> str:
        return bus.bank.context.scrubber.scrub(visible(text, markup=False)).text

    return RemoteHit(
        id=as_one_line(hit.id),
        title=clean(as_one_line(hit.title)),
        description=clean(hit.description),
        content=clean(hit.content),
        namespace=as_one_line(hit.namespace),
        scope=as_one_line(hit.scope),
        relevance=hit.relevance,
        confidence=hit.confidence,
        origin=plain_origin(hit.origin) if hit.origin.startswith(f"{PEER}:") else peer.origin,
    )
