"""What only adds is made ready before anybody waits for it: no lock is held while texts are checked and rows are made."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import Conflict, StoreError
from reasoningbank.core.types import Memory
from reasoningbank.guard import fields
from reasoningbank.ports import Writer
from reasoningbank.store.sqlite import store


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bank that is locked is not waited for: what asks for it then fails."""
    monkeypatch.setattr(store, "BUSY_TIMEOUT_MS", 1)
    monkeypatch.setattr("reasoningbank.store.sqlite.connections.BUSY_TIMEOUT_MS", 1)
    monkeypatch.setattr(store, "PATIENCE_S", 0.001)


def kept(path: Path) -> int:
    with ReasoningBank.open(path, embedder="hash", read_only=True) as bank, bank.context.store.read("local") as reader:
        return reader.count(Memory, {})


@pytest.mark.usefixtures("impatient")
def test_another_writer_need_not_wait_while_a_store_makes_its_rows(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash") as bank, ReasoningBank.open(path, embedder="hash") as other:
        memory = bank.record(title="first", content="a row to copy").memory

        def change(writer: Writer) -> None:
            other.record(title="meanwhile", content="written while the rows were made")
            writer.add(_named(memory, "mem_00000000000000000000000002"))

        bank.context.store.write("local", change, adds_only=True)
    assert kept(path) == 3


@pytest.mark.usefixtures("impatient")
def test_another_writer_need_not_wait_while_an_import_reads_and_scrubs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps({"title": f"t{n}", "content": f"c{n}"}) + "\n" for n in range(5)))
    with ReasoningBank.open(path, embedder="hash") as bank, ReasoningBank.open(path, embedder="hash") as other:
        scrub = fields.scrubbed_record

        def meanwhile(scrubber, record):
            if getattr(record, "title", "") == "t3":
                other.record(title="meanwhile", content="written while the import was read")
            return scrub(scrubber, record)

        monkeypatch.setattr("reasoningbank.context.scrubbed_record", meanwhile)
        assert bank.import_from(lines).added.total() == 5
    assert kept(path) == 6


def test_a_change_that_reads_though_it_was_said_to_add_only_is_refused_and_nothing_is_written(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash") as bank:
        memory = bank.record(title="first", content="a row to copy").memory

        def change(writer: Writer) -> None:
            writer.add(_named(memory, "mem_00000000000000000000000002"))
            writer.count(Memory, {})

        with pytest.raises(StoreError, match="add only"):
            bank.context.store.write("local", change, adds_only=True)
    assert kept(path) == 1


def test_of_stores_that_share_a_commit_the_one_that_fails_fails_alone(path: Path) -> None:
    with ReasoningBank.open(path, embedder="hash") as bank:
        memory = bank.record(title="first", content="a row to copy").memory
        store: Any = bank.context.store
        holds, go = threading.Event(), threading.Event()
        outcomes: dict[str, object] = {}

        def hold(writer: Writer) -> None:
            holds.set()
            assert go.wait(300)

        def store_one(memory_id: str) -> None:
            adding: Callable[[Writer], None] = lambda writer: writer.add(_named(memory, memory_id))  # noqa: E731
            try:
                store.write("local", adding, adds_only=True)
            except Conflict as error:
                outcomes[memory_id] = error
            else:
                outcomes[memory_id] = "kept"

        blocker = threading.Thread(target=store.write, args=("local", hold))
        blocker.start()
        assert holds.wait(300)
        ids = [f"mem_0000000000000000000000000{n}" for n in range(3)] + [memory.id]
        threads = [threading.Thread(target=store_one, args=(memory_id,)) for memory_id in ids]
        for number, thread in enumerate(threads, start=1):
            thread.start()
            while len(store.engine._commits.queue) < number:
                threading.Event().wait(0.001)
        go.set()
        for thread in (blocker, *threads):
            thread.join(300)
        assert [outcomes[memory_id] for memory_id in ids[:3]] == ["kept"] * 3
        assert isinstance(outcomes[memory.id], Conflict)
        assert bank.verify() == []
    assert kept(path) == 4


def _named(memory: Memory, memory_id: str) -> Memory:
    from reasoningbank.core.frozen import replace

    return replace(memory, id=memory_id)
