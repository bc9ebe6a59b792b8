"""Idempotency keys: a write that carries a key is done once, however often it is sent.

The answer is kept in the transaction that makes the change. So there is no moment at which the change is there and the
answer is not, and a repetition after a crash, a restart or on another server gets the first answer. What was refused
is not kept: it may be tried again with the same key.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import KeptReply
from reasoningbank.ports import Writer
from reasoningbank_server.endpoint import Call, Endpoint, Reply
from reasoningbank_server.problems import Problem

KEPT_FOR_S = 86_400.0
TIDY_ONE_IN = 64
"""One keyed write in so many, by chance, lets go of yesterday's answers: that asks the bank once more."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """An answer as it goes over the wire."""

    status: int
    body: bytes
    etag: str
    replayed: bool = False


def encode(reply: Reply) -> Encoded:
    return Encoded(status=reply.status, body=as_bytes(reply.body), etag=reply.etag)


def as_bytes(value: Any) -> bytes:
    return b"" if value is None else _encode(value).encode("utf-8", "replace")


def request_digest(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


class Running:
    """The digest of a request that arrives in pieces."""

    def __init__(self) -> None:
        self._digest = blake2b(digest_size=16)

    def add(self, piece: bytes) -> None:
        self._digest.update(piece)

    def value(self) -> bytes:
        return self._digest.digest()


def once(endpoint: Endpoint, call: Call, key: str, digest: bytes) -> Encoded:
    caller, now = call.principal.name, call.bank.context.clock()

    def act(inner: Bank, writer: Writer) -> Encoded:
        previous = writer.kept_reply(caller, key)
        if previous is not None and previous.at >= now - KEPT_FOR_S:
            return replay(previous, digest)
        response = encode(endpoint.handle(replace(call, bank=inner)))
        # One under the same key has to go, or the new one could not be kept.
        tidies = previous is not None or digest[0] % TIDY_ONE_IN == 0
        writer.keep_reply(
            _make_kept(caller, key, digest, response, now), drop_before=now - KEPT_FOR_S if tidies else None
        )
        return response

    return call.bank.atomically(act, coming=call.body)


def once_apart(call: Call, key: str, digest: bytes, act: Callable[[], Reply]) -> Encoded:
    """Run a write that cannot be one unit, and does no harm when it is done twice: its answer is kept right after."""
    caller, now = call.principal.name, call.bank.context.clock()
    previous = call.bank.atomically(lambda _, writer: writer.kept_reply(caller, key))
    if previous is not None and previous.at >= now - KEPT_FOR_S:
        return replay(previous, digest)
    response = encode(act())

    def keep(_: Bank, writer: Writer) -> None:
        if writer.kept_reply(caller, key) is None:
            writer.keep_reply(_make_kept(caller, key, digest, response, now), drop_before=now - KEPT_FOR_S)

    call.bank.atomically(keep)
    return response


def _make_kept(caller: str, key: str, digest: bytes, response: Encoded, now: float) -> KeptReply:
    return KeptReply(
        caller=caller, key=key, request=digest, status=response.status, etag=response.etag, body=response.body, at=now
    )


def replay(previous: KeptReply, digest: bytes) -> Encoded:
    if previous.request != digest:
        raise Problem(422, "idempotency_mismatch", "This Idempotency-Key was used for another request: take a new one.")
    return Encoded(status=previous.status, body=previous.body, etag=previous.etag, replayed=True)
