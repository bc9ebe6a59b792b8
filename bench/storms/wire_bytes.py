"""Feed hostile bytes to every decoder of the bus: each is refused by a code, or is the only spelling of what it means.

What is true of the vectors (entries, grants, revocations, frames) is bent: cut, flipped, filled, joined, with lengths
that lie and nesting without end; or it is nothing but chance. Costs are held against the length of the bytes.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable
from functools import cache
from typing import Any

from bench.storms._weather import Promise, Weather
from reasoningbank.core.errors import InvalidInput
from reasoningbank_bus.authority.intent import (
    decode_intent,
    decode_revocation,
    encode_intent,
    encode_revocation,
    parse_intent_line,
    sign_revocation,
)
from reasoningbank_bus.wire.entry import decode_entry, encode_entry, open_entries
from reasoningbank_bus.wire.frame import MAX_STREAM_FRAME_BYTES, decode_frame, encode_frame
from reasoningbank_bus.wire.refusals import BusRefusal
from reasoningbank_bus.wire.stream import FrameReader, with_length
from scripts.bus_vectors import BEGIN_MS, OFFICE, ROOT, entries, example_frames, grants

SLICE = 5
A_ROUND = 200
MOST_BYTES = 60
"""Memory that a byte may take while it is decoded; so much a decoder may take in any case:"""
FREE_BYTES = 512 * 1024
"""What names it has seen is remembered, up to a bound."""
MOST_S = 0.25
HEADS = bytes([0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, *range(0xC0, 0xE0), 0xFF])
LIES = [
    bytes([head]) + b"\xff" * 8 for head in (0xC4, 0xC5, 0xC6, 0xD9, 0xDA, 0xDB, 0xDC, 0xDD, 0xDE, 0xDF, 0xCF, 0xD3)
]

Decoder = tuple[Callable[[bytes], Any], Callable[[Any], bytes] | None]
DECODERS: dict[str, Decoder] = {
    "entry": (decode_entry, encode_entry),
    "intent": (decode_intent, encode_intent),
    "revocation": (decode_revocation, encode_revocation),
    "frame": (decode_frame, None),
}
"""With what must give the very bytes again: of a frame no id is made, so it may be spelled in more ways than one."""


@cache
def examples() -> dict[str, list[bytes]]:
    return {
        "entry": [encode_entry(entry) for entry in entries().values()],
        "intent": [encode_intent(intent) for intent in grants()],
        "revocation": [encode_revocation(sign_revocation(ROOT, at=BEGIN_MS, holder=OFFICE.public))],
        "frame": [encode_frame(frame) for frame in example_frames()],
    }


def storm(weather: Weather) -> list[Promise]:
    typed = Promise("bytes that are not what they should be end in a refusal with a code, never in anything else")
    single = Promise("what is named by a hash has one spelling; what was bent is not signed")
    memory = Promise(f"decoding takes at most {MOST_BYTES} times its bytes, and {FREE_BYTES // 1024} KB")
    quick = Promise(f"and at most {MOST_S} s", timed=True)
    known = examples()
    tracemalloc.start()
    for _ in weather.rounds():
        for _ in range(A_ROUND):
            kind = weather.chance.choice(list(DECODERS))
            raw = bend(weather.chance, weather.chance.choice(known[kind]))
            began = time.thread_time()
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            fault = fault_of(kind, raw)
            typed.check(not fault.startswith("raised"), f"{kind} {raw[:200].hex()}: {fault}")
            single.check(not fault.startswith("spelled"), f"{kind} {raw[:200].hex()}: {fault}")
            took = tracemalloc.get_traced_memory()[1] - before
            memory.check(took <= FREE_BYTES + MOST_BYTES * len(raw), f"{kind} of {len(raw)} bytes took {took:,}")
            seconds = time.thread_time() - began
            quick.check(seconds <= MOST_S, f"{kind} of {len(raw)} bytes took {seconds:.2f} s")
    tracemalloc.stop()
    return [typed, single, memory, quick]


def fault_of(kind: str, raw: bytes) -> str:
    """What is wrong with how these bytes are met; nothing if all is well."""
    decode, encode = DECODERS[kind]
    try:
        value = decode(raw)
        if encode is not None and encode(value) != raw:
            return "spelled in two ways"
        if kind == "entry" and raw not in examples()["entry"] and not isinstance(open_entries([raw])[0], BusRefusal):
            return "spelled by nobody, and signed"
        list(FrameReader().feed(raw))
        list(FrameReader().feed(with_length(raw) + raw))
    except BusRefusal:
        return ""
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        return f"raised {type(error).__name__}: {error}"
    return ""


def line_fault_of(line: str) -> str:
    try:
        parse_intent_line(line)
    except (BusRefusal, InvalidInput):
        return ""
    except Exception as error:  # noqa: BLE001 - as above
        return f"raised {type(error).__name__}: {error}"
    return ""


def bend(chance: random.Random, raw: bytes) -> bytes:
    """The bytes with something done to them, or others altogether."""
    at = chance.randrange(len(raw) + 1)
    match chance.randrange(9):
        case 0:
            return raw[:at]
        case 1:
            return raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :]
        case 2:
            return raw[:at] + bytes([chance.choice(HEADS)]) + raw[at + 1 :]
        case 3:
            return raw[:at] + chance.choice(LIES) + raw[at:]
        case 4:
            return raw[:at] + chance.choice(LIES)
        case 5:
            return raw[:at] + raw[chance.randrange(len(raw)) :]
        case 6:
            return raw[:at] + bytes([chance.choice((0x91, 0x81, 0xA1, 0xC4))]) * chance.choice((1, 40, 5000)) + raw[at:]
        case 7:
            return raw[:2] + chance.randbytes(chance.choice((1, 30, 1000)))
        case _:
            return chance.randbytes(chance.choice((0, 1, 2, 60, 4000)))


def too_long() -> list[tuple[str, bytes]]:
    """One byte more than each may have."""
    long = bytes(MAX_STREAM_FRAME_BYTES + 1)
    return [("entry", b"\x9b\x01" + long), ("intent", b"\x9e\x01" + long), ("frame", b"\x92\x0a" + long)]
