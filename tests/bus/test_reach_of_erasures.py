"""An erasure by another than a record's author reaches that record in its own namespace, whatever comes first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import permutations, product
from pathlib import Path

import pytest

from bench.bus.attacks import Scene
from bench.bus.simulator import EPOCH_MS, NAMESPACE, YEAR_MS
from reasoningbank_bus.authority.intent import intent_id, sign_intent
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.log.memory import MemoryLog
from reasoningbank_bus.wire.entry import Entry, RecordName, encode_entry, entry_id, sign_entry
from tests.bus.people import LAPTOP, OFFICE, entry
from tests.bus.sides import Side


def erasure(author, of: Entry, namespace: str, **other) -> Entry:
    return entry(author, kind="erased", record=of.record, namespace=namespace, body=b"", revision=9, **other)


@pytest.mark.parametrize("kind", ["durable", "in memory"])
def test_every_log_keeps_the_same_whatever_order_it_hears_of_things_in(tmp_path: Path, kind: str) -> None:
    versions = [entry(OFFICE, revision=number, at=1_000 + number) for number in (1, 2)]
    other = entry(OFFICE, number=1)
    elsewhere = erasure(LAPTOP, versions[0], "elsewhere")
    there = erasure(LAPTOP, other, other.namespace)
    seen = set()
    for number, order in enumerate(permutations([*versions, other, elsewhere, there])):
        # Each whole order in memory, one in ten on the disk, which is slow.
        if kind == "durable" and number % 10:
            continue
        log = DurableLog(tmp_path / str(number)) if kind == "durable" else MemoryLog()
        for one in order:
            log.add([one])
        seen.add(frozenset(id_ for _, _, _, id_ in log.places()))
        if isinstance(log, DurableLog):
            log.close()
    assert seen == {frozenset(entry_id(one) for one in (*versions, elsewhere, there))}


def test_the_authors_own_erasure_reaches_its_record_wherever_it_stands() -> None:
    written, gone = entry(OFFICE), erasure(OFFICE, entry(OFFICE), "elsewhere")
    for order in ((written, gone), (gone, written)):
        log = MemoryLog()
        for one in order:
            log.add([one])
        assert [id_ for _, _, _, id_ in log.places()] == [entry_id(gone)]


def test_a_node_takes_a_record_that_was_erased_in_another_namespace_before_it_came() -> None:
    ends = set()
    for order in permutations(range(3)):
        scene = Scene(seed=10, shut_out_below=-math.inf)
        grant = sign_intent(
            scene.root,
            scene.insider.public,
            actions=("erase",),
            namespaces=("elsewhere",),
            not_before=EPOCH_MS - YEAR_MS,
            expires=EPOCH_MS + YEAR_MS,
            nonce=bytes(16),
        )
        scene.rights.add(grant)
        victim = scene.entry(scene.honest, body=b"\x80", at=EPOCH_MS)
        later = scene.entry(scene.honest, body=b"\x80", at=EPOCH_MS + 1, revision=2, record=victim.record)
        attack = scene.entry(
            scene.insider,
            kind="erased",
            namespace="elsewhere",
            record=victim.record,
            intent=intent_id(grant),
            body=b"",
            at=EPOCH_MS + 2,
        )
        for number in order:
            scene.deliver(scene.insider, *scene.batch(encode_entry((victim, later, attack)[number])))
        sums = scene.node.status(scene.now).entries
        assert (sums[f"team:{NAMESPACE}"], sums["team:elsewhere"]) == (2, 1)
        assert {entry_id(one) for one in (victim, later, attack)} <= scene.ids()
        ends.add(frozenset(sums.items()))
    assert len(ends) == 1


def test_banks_hold_the_same_whatever_order_records_and_erasures_by_others_come_in(side: Callable[..., Side]) -> None:
    author, admin = side(1), side(2)
    kept, gone = author.learn("Run the migrations first."), author.learn("Restart the worker after that.")
    written = {one.record.id: one for one in author.publish()}

    def erased(record_id: str, namespace: str) -> Entry:
        return sign_entry(
            admin.key,
            at=written[record_id].at + 1,
            kind="erased",
            namespace=namespace,
            scope="team",
            record=RecordName(author.key.public, record_id),
            revision=9,
            intent=b"",
            body=b"",
        )

    pairs = (
        (written[kept.id], erased(kept.id, "elsewhere")),
        (written[gone.id], erased(gone.id, "n")),
    )
    for turned, at_once in product((False, True), repeat=2):
        reader = side(3)
        order: Sequence[Entry] = [one for pair in pairs for one in (reversed(pair) if turned else pair)]
        for batch in [order] if at_once else [[one] for one in order]:
            reader.take(batch)
        assert [one.memory.title for one in reader.bank.list()] == [kept.memory.title], (turned, at_once)
        assert reader.memory(reader.here(author, gone.id)) is None
        assert {entry_id(one) for one in reader.entries()} == {
            entry_id(one) for one in (pairs[0][0], pairs[0][1], pairs[1][1])
        }
