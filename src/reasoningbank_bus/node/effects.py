"""Effects of the node: what its transport and its bank are to do.

A channel below 4 is one of the fixed ones of `wire.frame`. A channel from 4 on is an exchange that this node opens with
the first frame that it sends there; a negative one was opened by the peer, and is answered under the same number.
"""

from __future__ import annotations

from typing import NamedTuple

from reasoningbank_bus.authority.intent import Intent
from reasoningbank_bus.wire.entry import Entry


class Send(NamedTuple):
    """Send one encoded frame to a peer; `last` ends our side of the channel."""

    peer: bytes
    channel: int
    frame: bytes
    last: bool = False


class Dial(NamedTuple):
    """Connect to an address, expecting a key unless none is known yet."""

    address: str
    key: bytes | None


class Close(NamedTuple):
    """Close the connection of a peer."""

    peer: bytes
    code: str
    sentence: str


class Took(NamedTuple):
    """New entries of others are durable in the log."""

    entries: tuple[Entry, ...]


class Search(NamedTuple):
    """A peer asks for a search; answer with `BusNode.answered`."""

    peer: bytes
    request: int
    query: str
    namespace: str
    limit: int
    chain: tuple[Intent, ...]
    """The grant by which it may, with those it was derived from; empty for a root."""
    scopes: tuple[str, ...]
    """Where it may search."""


class Answered(NamedTuple):
    """The answer to a question of ours: hits, or the code and the sentence of a refusal."""

    peer: bytes
    request: int
    hits: tuple[bytes, ...]
    refusal: tuple[str, str] | None = None


Effect = Send | Dial | Close | Took | Search | Answered
