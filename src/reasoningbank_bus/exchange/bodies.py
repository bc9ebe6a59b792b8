"""Bodies of entries: the fields of a memory, node, edge or signal as they go over the bus, in one schema.

A body is a msgpack map by the names of these fields; what it does not say has the value that stands here, and names
that are not here are passed over, so that a later version may say more. Sessions, comments and ids of sessions are no
part of any: they stay at home. Other records are named by their names everywhere.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from reasoningbank_bus.wire.entry import RecordName
from reasoningbank_bus.wire.refusals import BusRefusal

MAX_PARENTS = 1_000
Moment = Annotated[float, Meta(ge=0.0, le=1e13)]
Fraction = Annotated[float, Meta(ge=0.0, le=1.0)]


class MemoryBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    title: str
    content: str
    description: str = ""
    outcome: str = "success"
    key: str | None = None
    tags: tuple[str, ...] = ()
    agent: str | None = None
    task_type: str | None = None
    cognitive_pattern: str | None = None
    origin: str = "agent"
    """Who said it at home. It counts where the author's own key reads it; for everybody else the author said it."""
    parents: Annotated[tuple[RecordName, ...], Meta(max_length=MAX_PARENTS)] = ()
    metadata: dict[str, Any] = {}
    initial_confidence: Fraction = 0.5
    created_at: Moment
    updated_at: Moment
    state: str = "active"
    advice_id: str = ""


class NodeBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    label: str
    text: str
    conv_id: str
    name: str = ""
    """Empty: its own id."""
    tags: tuple[str, ...] = ()
    fields: dict[str, Any] = {}
    start_at: float | None = None
    end_at: float | None = None
    origin: str = "agent"
    created_at: Moment
    updated_at: Moment


class EndName(Struct, array_like=True, frozen=True):
    """An end of an edge."""

    noun: Literal["memory", "node"]
    name: RecordName


class EdgeBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    source: EndName
    target: EndName
    kind: str
    text: str = ""
    weight: Fraction = 0.5
    tags: tuple[str, ...] = ()
    evidence: str = ""
    name: str = ""
    origin: str = ""
    created_at: Moment


class SignalBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    memory: RecordName
    kind: str
    positive: bool
    weight: Annotated[float, Meta(ge=0.0, le=1_000.0)] = 1.0
    used: bool = False
    source: str = "agent"
    at: Moment
    advice_id: str = ""


Body = MemoryBody | NodeBody | EdgeBody | SignalBody
B = TypeVar("B", bound=Body)
_ENCODER = msgspec.msgpack.Encoder()
_DECODERS: dict[str, msgspec.msgpack.Decoder[Any]] = {
    "memory": msgspec.msgpack.Decoder(MemoryBody),
    "node": msgspec.msgpack.Decoder(NodeBody),
    "edge": msgspec.msgpack.Decoder(EdgeBody),
    "signal": msgspec.msgpack.Decoder(SignalBody),
}


def encode_body(body: Body) -> bytes:
    return _ENCODER.encode(body)


def decode_body(kind: str, raw: bytes) -> Any:
    """The body of an entry of this kind."""
    try:
        return _DECODERS[kind].decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BusRefusal("malformed", f"the body of a {kind}: {error}") from None
