"""What frames and entries cost: encoding, decoding, signing, verifying, rights, and the durable log, in turns."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from nacl.bindings import crypto_sign, crypto_sign_open

from bench.report import Report
from bench.timing import in_turns
from reasoningbank_bus.authority.intent import intent_id, sign_intent
from reasoningbank_bus.authority.metering import spends_of
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.wire.entry import (
    Entry,
    RecordName,
    decode_entry,
    encode_entry,
    entry_id,
    id_of_encoded,
    open_entries,
    sign_entry,
    verify_entry,
)
from reasoningbank_bus.wire.frame import EntryBatch, decode_frame, encode_frame
from reasoningbank_bus.wire.signing import SigningKey

FRAME_BYTES = 1024
LIMIT_US = 10.0
CALLS = 100
"""At a time: one alone is shorter than looking at the clock twice."""
BATCH = 1000
BATCHES = 20
ENTRIES_PER_S = 20_000
NOW = 1_790_000_000_000


def measure_frames(report: Report, small: bool) -> None:
    rounds = 20 if small else 300
    root, author = SigningKey(bytes(32)), SigningKey(bytes([1]) * 32)
    intent = sign_intent(
        root,
        author.public,
        actions=["record"],
        namespaces=["team/*"],
        not_before=0,
        expires=2 * NOW,
        caps={"records": 10**9, "bytes": 10**12},
        period=86_400,
    )
    rights = Rights(root.public)
    rights.add(intent)
    entry = _entry(author, intent_id(intent), 0)
    encoded = encode_entry(entry)
    frame = EntryBatch((encoded,))
    frame_bytes = encode_frame(frame)
    assert abs(len(frame_bytes) - FRAME_BYTES) < 16
    signed = crypto_sign(encoded, author.seed + author.public)
    chain, id_ = rights.check(entry, NOW), entry_id(entry)
    work = {
        "frame encoded": lambda: encode_frame(frame),
        "frame decoded": lambda: decode_frame(frame_bytes),
        "entry encoded": lambda: encode_entry(entry),
        "entry decoded and checked": lambda: decode_entry(encoded),
        "entry named (hash)": lambda: id_of_encoded(encoded),
        "rights of an entry": lambda: rights.check(entry, NOW),
        "what an entry spends": lambda: spends_of(entry, id_, len(encoded), chain),
        "libsodium signs": lambda: crypto_sign(encoded, author.seed + author.public),
        "signed": lambda: author.sign(encoded),
        "libsodium verifies": lambda: crypto_sign_open(signed, author.public),
        "verified": lambda: verify_entry(entry),
        "entry from bytes, named and verified": lambda: open_entries([encoded]),
    }
    times = in_turns({name: _many_times(call) for name, call in work.items()}, rounds, warm_up=3)
    took = {name: 1e3 * time_.p50_ms / CALLS for name, time_ in times.items()}
    for name in list(work)[:4]:
        report.add("bus", f"{name}, {len(frame_bytes):,} bytes", took[name], "µs", limit=LIMIT_US)
    for name in list(work)[4:7]:
        report.add("bus", name, took[name], "µs")
    for ours, library in (("signed", "libsodium signs"), ("verified", "libsodium verifies")):
        report.add("bus", library, took[library], "µs")
        report.add("bus", ours, took[ours], "µs")
        report.add("bus", f"{ours}, as a multiple of the library's own", took[ours] / took[library], "×", limit=1.25)
    report.add("bus", list(work)[-1], took[list(work)[-1]], "µs")
    _measure_log(report, author, intent_id(intent), rights, 3 if small else BATCHES)


def _measure_log(report: Report, author: SigningKey, intent: bytes, rights: Rights, batches: int) -> None:
    entries = [_entry(author, intent, number) for number in range(BATCH * batches)]
    chain = rights.check(entries[0], NOW)
    with tempfile.TemporaryDirectory() as folder, DurableLog(Path(folder)) as log:
        rates = []
        for start in range(0, len(entries), BATCH):
            batch = entries[start : start + BATCH]
            began = time.perf_counter()
            spends = [s for entry in batch for s in spends_of(entry, entry_id(entry), FRAME_BYTES, chain)]
            assert len(log.add(batch, spent=spends)) == BATCH
            rates.append(BATCH / (time.perf_counter() - began))
        what = f"entries a second into the log, durable, {BATCH:,} a transaction, metered"
        report.add("bus", what, sorted(rates)[len(rates) // 2], "1/s", limit=ENTRIES_PER_S, at_least=True)
        began = time.perf_counter()
        applied = len(log.after(0, len(entries)))
        report.add("bus", "entries read to be applied, a second", applied / (time.perf_counter() - began), "1/s")
        began = time.perf_counter()
        found = sum(1 for _ in log.places())
        report.add("bus", "places read at the start, a second", found / (time.perf_counter() - began), "1/s")


def _entry(author: SigningKey, intent: bytes, number: int) -> Entry:
    return sign_entry(
        author,
        at=NOW + number,
        kind="memory",
        namespace="team/web",
        scope="team",
        record=RecordName(author.public, f"mem_{number:026d}"),
        revision=1,
        intent=intent,
        body=random.Random(number).randbytes(780),
    )


def _many_times(call):
    def repeat(_: int) -> None:
        for _ in range(CALLS):
            call()

    return repeat
