"""Hostile bytes into every decoder: a typed refusal, or the only spelling of what they mean; in bounded memory.

Fixed examples; what is random is the storm `wire-bytes`.
"""

from __future__ import annotations

import tracemalloc

import pytest

from bench.storms.wire_bytes import DECODERS, FREE_BYTES, HEADS, LIES, examples, fault_of, line_fault_of, too_long
from reasoningbank_bus.authority.intent import intent_line
from reasoningbank_bus.wire.entry import MAX_ENTRY_BYTES, decode_entry, encode_entry, open_entries
from reasoningbank_bus.wire.frame import MAX_BATCH_BYTES, EntryBatch, Hits, Ping, decode_frame, encode_frame
from reasoningbank_bus.wire.refusals import SENTENCES, BusRefusal
from reasoningbank_bus.wire.stream import FrameReader, with_length
from scripts.bus_vectors import grants
from tests.bus.people import OFFICE, entry

SOME = {kind: raws[:: max(1, len(raws) // 4)] for kind, raws in examples().items()}


@pytest.mark.parametrize("kind", DECODERS)
def test_bytes_cut_or_changed_anywhere_are_refused_by_a_code_or_are_the_only_spelling(kind):
    faults = []
    for raw in SOME[kind]:
        bent = [raw[:at] for at in range(0, len(raw), 3)]
        for at in range(0, len(raw), 5):
            bent += [raw[:at] + bytes([head]) + raw[at + 1 :] for head in HEADS[at % 4 :: 4]]
            bent.append(raw[:at] + LIES[at % len(LIES)] + raw[at:])
        bent += [raw + b"\0", b"\x91" * 5000, raw[:2] + b"\x91" * 5000, raw[:2] + b"\x81" * 5000]
        faults += [f"{one.hex()[:200]}: {fault}" for one in bent if (fault := fault_of(kind, one))]
    assert faults == []


def test_a_pasted_grant_cut_or_changed_anywhere_is_refused():
    line = intent_line(grants()[::-1])
    bent = [line[:at] for at in range(0, len(line), 7)]
    bent += [line[:at] + letter + line[at + 1 :] for at in range(0, len(line), 11) for letter in "A_ä\0="]
    assert [fault for one in bent if (fault := line_fault_of(one))] == []


def test_a_length_that_lies_takes_no_memory():
    tracemalloc.start()
    try:
        for kind, raws in SOME.items():
            for lie in LIES:
                for at in (1, 2, 5, len(raws[0]) // 2):
                    fault_of(kind, raws[0][:at] + lie)
        assert tracemalloc.get_traced_memory()[1] < FREE_BYTES
    finally:
        tracemalloc.stop()


def test_what_is_longer_than_its_kind_may_be_is_refused_before_it_is_read():
    for kind, raw in too_long():
        with pytest.raises(BusRefusal) as refusal:
            DECODERS[kind][0](raw)
        assert refusal.value.code == "too_long"
    with pytest.raises(BusRefusal) as refusal:
        entry(OFFICE, body=bytes(MAX_ENTRY_BYTES))
    assert refusal.value.code == "too_long"


def test_one_entry_may_be_as_long_as_an_entry_and_several_not_longer_than_a_batch():
    largest = encode_entry(entry(OFFICE, body=bytes(MAX_ENTRY_BYTES - 300)))
    assert decode_frame(encode_frame(EntryBatch((largest,)))) == EntryBatch((largest,))
    small = encode_entry(entry(OFFICE, body=bytes(MAX_BATCH_BYTES // 2)))
    for wrong in (EntryBatch((small, small)), EntryBatch((largest, small)), Hits(1, (bytes(MAX_BATCH_BYTES),))):
        with pytest.raises(BusRefusal) as refusal:
            decode_frame(encode_frame(wrong))
        assert refusal.value.code == "too_long"


def test_a_batch_of_many_tiny_entries_is_refused_as_a_whole():
    for wrong in ((b"",) * 10, (bytes(64),) * 5000):
        with pytest.raises(BusRefusal) as refusal:
            decode_frame(encode_frame(EntryBatch(wrong)))
        assert refusal.value.code == "malformed"


def test_each_of_a_batch_is_taken_or_refused_for_itself():
    good, other = encode_entry(entry(OFFICE)), encode_entry(entry(OFFICE, number=1))
    forged = other[:-64] + good[-64:]
    opened = open_entries([good, b"\x01", forged, other])
    assert [one.code if isinstance(one, BusRefusal) else one[0] for one in opened] == [
        decode_entry(good),
        "malformed",
        "signature",
        decode_entry(other),
    ]


def test_frames_come_whole_out_of_a_stream_however_it_is_cut():
    sent = [encode_frame(Ping(number)) for number in range(300)]
    stream = b"".join(map(with_length, sent))
    for size in (1, 2, 3, 7, 100, len(stream)):
        reader = FrameReader()
        read = [frame for at in range(0, len(stream), size) for frame in reader.feed(stream[at : at + size])]
        assert read == sent
        assert reader.waiting == 0


@pytest.mark.parametrize(("length", "code"), [(b"\xff\xff\xff\xff", "too_long"), (bytes(4), "malformed")])
def test_a_length_that_no_frame_has_ends_the_stream_after_the_frames_before_it(length, code):
    reader = FrameReader()
    frames = reader.feed(with_length(b"\x91\x03") + length)
    assert next(frames) == b"\x91\x03"
    with pytest.raises(BusRefusal) as refusal:
        next(frames)
    assert refusal.value.code == code


def test_every_refusal_is_a_sentence_for_people():
    for code, sentence in SENTENCES.items():
        assert str(BusRefusal(code)) == sentence
        assert sentence.endswith(".")
