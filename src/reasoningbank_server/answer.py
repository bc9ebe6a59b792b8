"""Sends answers over ASGI, each with the header fields that keep a browser from doing anything with it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from reasoningbank_server.problems import MEDIA_TYPE, Headers, Problem

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SAFE: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)
_JSON: Headers = ((b"content-type", b"application/json"), *SAFE)


async def send_json(send: Send, status: int, body: bytes, extra: Sequence[tuple[bytes, bytes]] = ()) -> None:
    fields = SAFE if status == 204 else (*_JSON, (b"content-length", str(len(body)).encode()))
    headers = [*fields, *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_text(send: Send, text: str, media_type: str) -> None:
    body = text.encode()
    headers = [*SAFE, (b"content-type", media_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_problem(send: Send, problem: Problem) -> None:
    body = json.dumps(problem.json(), ensure_ascii=False).encode("utf-8", "replace")
    headers = [
        *SAFE,
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        *problem.headers,
    ]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def hung_up(receive: Receive) -> None:
    """Returns when the caller has gone. Nobody else may be reading from it."""
    while (await receive())["type"] != "http.disconnect":
        pass
