"""Limits of a request: size, rate, depth.

The figures and what enforces them: everything that a caller can make grow has a bound here.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank_server.problems import Problem

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    body_bytes: int = 4 << 20
    import_bytes: int = 256 << 20
    json_depth: int = 64
    header_bytes: int = 32 << 10
    header_wait_s: float = 10.0
    body_wait_s: float = 30.0
    """Time for all of a body; an import may take as long again for every such part of the limit that it brings."""
    drain_wait_s: float = 5.0
    """Time for the rest of a body that was refused: it is passed over, so that its sender comes to read why."""
    idle_s: float = 75.0
    send_wait_s: float = 60.0
    """Time for somebody who does not read what was sent."""
    linger_s: float = 5.0
    """Time for the rest of an answer, once the connection is to be closed."""
    connections: int = 1_000
    """Most connections. When there are more, those that have kept us waiting longest are closed to let the new ones
    in.
    """
    waiting: int = 2_000
    """Requests that may wait for a thread, of everybody."""
    waiting_each: int = 500
    """Requests of one tenant that may wait."""
    large: int = 16
    """Bodies of more than a few pages that may be in memory at once, of everybody."""
    large_each: int = 4
    """Large bodies of one tenant; more of them wait outside, unread."""
    streams: int = 100
    streams_each: int = 10
    requests_per_s: float = 200.0
    """Rate of each principal; 0 is no limit. Whoever owns the machine is not limited."""
    burst: float = 400.0
    refusals_per_s: float = 20.0
    """Failed authentications of one address, after which it is told to wait."""


# ---------------------------------------------------------------- bodies


async def body_of(receive: Receive, content_length: bytes | None, most_bytes: int, within_s: float) -> bytes:
    if content_length is not None:
        if not content_length.isdigit():
            raise Problem(400, "invalid_input", "Content-Length must be a number.")
        if int(content_length) > most_bytes:
            raise too_large(most_bytes)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Gone
    body: bytes = message.get("body", b"")
    if len(body) > most_bytes:
        raise too_large(most_bytes)
    if not message.get("more_body", False):
        return body
    try:
        async with asyncio.timeout(within_s):
            return await _rest(receive, body, most_bytes)
    except TimeoutError:
        raise Problem(408, "too_slow", f"The body did not arrive within {within_s:g} s.") from None


async def _rest(receive: Receive, body: bytes, most_bytes: int) -> bytes:
    parts, size = [body], len(body)
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most_bytes:
            raise too_large(most_bytes)
        if not message.get("more_body", False):
            return b"".join(parts)


class Gone(Exception):
    """The caller hung up: there is nobody to answer."""


def too_large(most_bytes: int) -> Problem:
    return Problem(413, "too_large", f"The body is larger than {most_bytes:,} bytes.")


# ---------------------------------------------------------------- JSON


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _no_constant(text: str) -> float:
    raise ValueError(text)


_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant).decode


def parse_json(body: bytes, most_depth: int) -> Any:
    """JSON as RFC 8259 has it: no NaN, no infinity, nothing nested without end."""
    try:
        value = _decode(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise Problem(400, "invalid_json", "The body is not UTF-8.") from None
    except (ValueError, RecursionError):
        raise Problem(400, "invalid_json", "The body is not JSON.") from None
    # Most bodies have fewer brackets than the limit, and need no second look.
    if body.count(b"[") + body.count(b"{") > most_depth and _deeper_than(value, most_depth):
        raise Problem(400, "invalid_json", f"The body is nested deeper than {most_depth} levels.")
    return value


def _deeper_than(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        level = [item for item in inner if isinstance(item, (dict, list))]
        if not level:
            return False
    return True


# ---------------------------------------------------------------- rates


class Buckets:
    """A bucket of permits for each name, filled at a steady rate. Only the names seen lately are kept."""

    def __init__(self, per_s: float, burst: float, *, most_names: int = 10_000) -> None:
        self._per_s = per_s
        self._burst = burst
        self._most_names = most_names
        self._kept: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_s(self, name: str, now: float) -> float:
        """Take a permit: 0 when there was one, else how long to wait for the next."""
        if self._per_s <= 0:
            return 0.0
        permits, at = self._kept.get(name, (self._burst, now))
        permits = min(self._burst, permits + (now - at) * self._per_s)
        took = permits >= 1.0
        self._kept[name] = (permits - 1.0 if took else permits, now)
        self._kept.move_to_end(name)
        if len(self._kept) > self._most_names:
            self._kept.popitem(last=False)
        return 0.0 if took else (1.0 - permits) / self._per_s


def too_many_requests(wait_s: float) -> Problem:
    wait = max(1, math.ceil(wait_s))
    return Problem(
        429, "rate_limited", f"Too many requests: try again in {wait} s.", ((b"retry-after", str(wait).encode()),)
    )
