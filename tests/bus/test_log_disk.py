"""A full disk in the middle of a batch: a typed error, nothing halved, nothing counted, and it goes on with room."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reasoningbank.core.errors import BankFull
from reasoningbank_bus.authority.intent import intent_id
from reasoningbank_bus.authority.metering import spends_of
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.running_state import last_said, say
from reasoningbank_bus.wire.entry import entry_id
from tests.bus.people import OFFICE, entry, grant

MANY = grant(caps={"records": 10**6})


def batch(start: int):
    entries = [entry(OFFICE, MANY, number=start + number, body=bytes(2000)) for number in range(100)]
    return entries, [spend for one in entries for spend in spends_of(one, entry_id(one), 1, (MANY,))]


def test_a_full_disk_in_the_middle_of_a_batch_halves_nothing_and_loses_nothing(small_disk: Path):
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(4_000_000))
    with DurableLog(small_disk / "bus") as log:
        added = 0
        with pytest.raises(BankFull, match="make room"):  # noqa: PT012 - whichever comes first
            for start in range(0, 100_000, 100):
                entries, spends = batch(start)
                added += len(log.add(entries, spent=spends, state={"cursor": str(start + 100).encode()}))
        assert added > 0
        assert len(list(log.places())) == added
        assert log.spent(intent_id(MANY), 0)["records"] == added
        assert int(log.state("cursor") or 0) == added
        ballast.unlink()
        entries, spends = batch(added)
        assert len(log.add(entries, spent=spends)) == 100
    with DurableLog(small_disk / "bus") as log:
        assert len(list(log.places())) == added + 100
        assert log.spent(intent_id(MANY), 0)["records"] == added + 100


def test_a_log_opened_on_a_full_disk_says_so(small_disk: Path):
    with pytest.raises(OSError, match="space"), (small_disk / "ballast").open("wb") as file:  # noqa: PT012
        while True:
            file.write(bytes(4096))
            file.flush()
    with pytest.raises(BankFull):
        DurableLog(small_disk / "bus")
    (small_disk / "ballast").unlink()
    with DurableLog(small_disk / "bus") as log:
        assert log.add([entry(OFFICE)])


def test_a_node_does_not_go_down_because_it_cannot_leave_word_on_a_full_disk(small_disk: Path):
    say(small_disk, {"listen": "before"})
    (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free))
    say(small_disk, {"listen": "meanwhile"})
    assert [file.name for file in small_disk.iterdir() if file.name != "ballast"] == ["status.json"]
    assert last_said(small_disk)["listen"] == "before"
    (small_disk / "ballast").unlink()
    say(small_disk, {"listen": "after"})
    assert last_said(small_disk)["listen"] == "after"
