"""Answers a peer's question from this bank: within the peer's rights, counted, and each hit with its origin.

A peer finds what it may search, in the one namespace that it asks in, and of that only what this bank shares: whoever
asks is told no more than whoever is sent. Hits travel as msgpack maps (`SharedHit`); whoever asked quotes them as what
a peer said.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from reasoningbank.bank.bank import Bank
from reasoningbank.core.drafts import MAX_CONTENT_CHARS, MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, MAX_TITLE_CHARS
from reasoningbank.recall.query import Recalled
from reasoningbank_bus.authority.metering import make_spend
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.exchange.peer_reranking import rerank_for_peer
from reasoningbank_bus.exchange.policy import SHARED_SCOPES, read_policy
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.wire.entry import MAX_RECORD_ID_CHARS
from reasoningbank_bus.wire.refusals import BusRefusal

MAX_HITS = 20
_LOOKED_AT = 2 * MAX_HITS
"""Hits looked at: what other namespaces share with this one is found too, and is left out."""
MAX_SHOWN_CHARS = 8_000
"""Limit on the content of one hit: an answer is one frame."""


Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class SharedHit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A memory that answers a peer's question."""

    id: Annotated[str, Meta(max_length=MAX_RECORD_ID_CHARS)]
    title: Annotated[str, Meta(max_length=MAX_TITLE_CHARS)]
    content: Annotated[str, Meta(max_length=MAX_CONTENT_CHARS)]
    description: Annotated[str, Meta(max_length=MAX_DESCRIPTION_CHARS)] = ""
    outcome: str = "success"
    scope: str = "team"
    namespace: Annotated[str, Meta(max_length=MAX_NAME_CHARS)]
    origin: str
    """Who said it there."""
    trust: str
    confidence: Share
    relevance: Share = 0.0
    tags: tuple[str, ...] = ()


_DECODER = msgspec.msgpack.Decoder(SharedHit)


def answer(
    bank: Bank, log: EntryLog, rights: Rights, peer: bytes, query: str, namespace: str, limit: int
) -> list[bytes]:
    """The hits for a peer's question, encoded. Raises `BusRefusal` when it may not ask, or has asked too often."""
    now = int(bank.context.clock() * 1000)
    chains = {scope: rights.right_for(peer, "search", namespace, scope, now) for scope in SHARED_SCOPES}
    usable = {scope: chain for scope, chain in chains.items() if chain is not None}
    if not usable:
        raise BusRefusal("no_right", f"searching in {namespace!r}", about=peer)
    log.spend([make_spend(chain, "searches", 1, now) for chain in dict.fromkeys(usable.values())])
    policy = read_policy(log)
    hits = [
        hit
        for scope in usable
        for hit in bank.search(query, namespace=namespace, scope=scope, limit=_LOOKED_AT, noted=False, links="off")
        if hit.memory.namespace == namespace and policy.why_not(hit.memory, hit.confidence.mean, hit.trust) is None
    ]
    hits.sort(key=lambda hit: hit.relevance, reverse=True)
    ranking = rerank_for_peer(bank, log, list(usable.values()), query, hits[:MAX_HITS])
    return [msgspec.msgpack.encode(_hit_of(hit)) for hit in ranking[:limit]]


def _hit_of(hit: Recalled) -> SharedHit:
    memory = hit.memory
    return SharedHit(
        id=memory.id,
        title=memory.title,
        content=memory.content[:MAX_SHOWN_CHARS],
        description=memory.description,
        outcome=memory.outcome.value,
        scope=memory.scope.value,
        namespace=memory.namespace,
        origin=memory.origin,
        trust=str(hit.trust),
        confidence=hit.confidence.mean,
        relevance=hit.relevance,
        tags=memory.tags,
    )


def read_hit(raw: bytes) -> SharedHit:
    """A hit of a peer's answer."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BusRefusal("malformed", f"a hit: {error}") from None
