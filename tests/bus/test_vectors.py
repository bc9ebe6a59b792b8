"""The vectors in the repository are what the program writes and reads, and what a stranger makes of the same fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reasoningbank_bus.authority.intent import (
    Intent,
    Revocation,
    decode_intent,
    decode_revocation,
    encode_intent,
    encode_revocation,
    intent_id,
    parse_intent_line,
    verify_intent,
    verify_revocation,
)
from reasoningbank_bus.authority.keys import fingerprint, parse_public, public_text
from reasoningbank_bus.wire import frame as frames
from reasoningbank_bus.wire.entry import Entry, decode_entry, encode_entry, entry_id, place_of, verify_entry
from reasoningbank_bus.wire.refusals import SENTENCES, BusRefusal
from reasoningbank_bus.wire.signing import SigningKey
from scripts.bus_vectors import FILE, plain, vectors
from tests.bus import stranger

VECTORS: dict[str, Any] = json.loads(Path(FILE).read_text("utf-8"))
SEEDS = {key["public"]: bytes.fromhex(key["seed"]) for key in VECTORS["keys"]}


def from_fields(kind: Any, fields: Any) -> Any:
    return msgspec.convert(stranger.in_order(fields), kind)


def test_the_vectors_are_what_the_script_writes():
    assert vectors() == VECTORS


@pytest.mark.parametrize("key", VECTORS["keys"], ids=lambda key: key["fingerprint"])
def test_a_key_has_the_public_half_the_text_and_the_fingerprint_of_its_vector(key):
    public = bytes.fromhex(key["public"])
    assert SigningKey(bytes.fromhex(key["seed"])).public == public == stranger.public_of(bytes.fromhex(key["seed"]))
    assert public_text(public) == key["text"] == stranger.text("rbk1", public)
    assert parse_public(key["text"]) == public
    assert fingerprint(public) == key["fingerprint"] == stranger.fingerprint(public)


@pytest.mark.parametrize("vector", VECTORS["entries"], ids=lambda vector: vector["fields"]["kind"])
def test_an_entry_is_written_read_named_and_signed_as_its_vector_and_a_stranger_say(vector):
    raw = bytes.fromhex(vector["bytes"])
    entry = decode_entry(raw)
    assert plain(entry) == vector["fields"]
    assert (
        encode_entry(from_fields(Entry, vector["fields"])) == raw == stranger.pack(stranger.in_order(vector["fields"]))
    )
    signed = stranger.signed_part(stranger.ENTRY, vector["fields"])
    assert entry_id(entry).hex() == vector["id"] == stranger.hash_of(signed).hex()
    at = entry.at.to_bytes(8, "big").hex()
    assert place_of(entry).hex() == vector["place"] == entry.author.hex()[:16] + at + vector["id"][:32]
    verify_entry(entry)
    assert stranger.sign(SEEDS[entry.author.hex()], signed) == entry.signature
    assert stranger.is_signed(entry.author, entry.signature, signed)


@pytest.mark.parametrize("vector", VECTORS["intents"], ids=["given by a root", "derived"])
def test_a_grant_is_written_read_named_and_signed_as_its_vector_and_a_stranger_say(vector):
    raw = bytes.fromhex(vector["bytes"])
    intent = decode_intent(raw)
    assert plain(intent) == vector["fields"]
    assert (
        encode_intent(from_fields(Intent, vector["fields"]))
        == raw
        == stranger.pack(stranger.in_order(vector["fields"]))
    )
    signed = stranger.signed_part(stranger.INTENT, vector["fields"])
    assert intent_id(intent).hex() == vector["id"] == stranger.hash_of(signed).hex()
    verify_intent(intent)
    assert stranger.sign(SEEDS[intent.issuer.hex()], signed) == intent.signature
    assert parse_intent_line(vector["line"])[0] == intent
    above = [bytes.fromhex(other["bytes"]) for other in VECTORS["intents"] if other["id"] == intent.parent.hex()]
    assert vector["line"] == stranger.text("rbi1", stranger.pack([raw, *above]))


@pytest.mark.parametrize("vector", VECTORS["revocations"], ids=["of a holder"])
def test_a_revocation_is_written_read_and_signed_as_its_vector_and_a_stranger_say(vector):
    raw = bytes.fromhex(vector["bytes"])
    revocation = decode_revocation(raw)
    assert plain(revocation) == vector["fields"]
    assert encode_revocation(from_fields(Revocation, vector["fields"])) == raw
    assert raw == stranger.pack(stranger.in_order(vector["fields"]))
    verify_revocation(revocation)
    signed = stranger.signed_part(stranger.REVOCATION, vector["fields"])
    assert stranger.sign(SEEDS[revocation.issuer.hex()], signed) == revocation.signature


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["name"])
def test_a_frame_is_written_and_read_as_its_vector_and_a_stranger_say(vector):
    raw, kind = bytes.fromhex(vector["bytes"]), getattr(frames, vector["name"])
    frame = frames.decode_frame(raw)
    assert type(frame) is kind
    assert plain(frame) == vector["fields"]
    number = stranger.FRAMES.index(vector["name"]) + 1
    assert frames.encode_frame(frame) == raw == stranger.pack([number, *stranger.in_order(vector["fields"])])


def test_every_type_of_frame_has_a_vector():
    assert [vector["name"] for vector in VECTORS["frames"]] == stranger.FRAMES
    assert len(frames.KNOWN_TYPES) == len(stranger.FRAMES)


@pytest.mark.parametrize("vector", VECTORS["skipped"], ids=lambda vector: vector["bytes"])
def test_a_frame_of_an_unknown_type_from_128_on_is_skipped(vector):
    assert frames.decode_frame(bytes.fromhex(vector["bytes"])) is None


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: f"{vector['is']}: {vector['because']}")
def test_bytes_that_must_be_refused_are_with_their_code(vector):
    decode = {"entry": decode_entry, "intent": decode_intent, "frame": frames.decode_frame}[vector["is"]]
    with pytest.raises(BusRefusal) as refusal:
        decode(bytes.fromhex(vector["bytes"]))
    assert refusal.value.code == vector["code"]


def test_the_page_of_the_protocol_names_every_frame_and_every_refusal():
    page = (Path(FILE).parents[2] / "docs" / "bus-protocol.md").read_text("utf-8")
    for number, name in enumerate(stranger.FRAMES, 1):
        assert f"| {number} | {name} |" in page
    for code, sentence in SENTENCES.items():
        assert f"| `{code}` | {sentence} |" in page
