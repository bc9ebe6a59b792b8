"""Many processes on one file: nothing is lost, no lock is felt, and what one stores the others find at once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.index.embedded import EmbeddedIndex
from reasoningbank.store.sqlite.store import SqliteStore

ROOT = Path(__file__).parents[2]
Child = Callable[..., "subprocess.Popen[str]"]


def opened(path: Path) -> ReasoningBank:
    return ReasoningBank.open(path, embedder="hash", namespace="n")


WRITER = """
import sys
from reasoningbank.wiring import ReasoningBank
with ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n") as bank:
    for number in range(int(sys.argv[3])):
        kept = bank.record(title=f"writer {sys.argv[2]}", content=f"item number {number} of writer {sys.argv[2]}")
        if number % 5 == 0:
            bank.feedback(kept.id, helpful=True)
        print(kept.id, flush=True)
"""

READER = """
import sys
from reasoningbank.wiring import ReasoningBank
with ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n") as bank:
    for number in range(int(sys.argv[2])):
        found = bank.search(f"item number {number} of writer {number % 8}", floor=0.0)
        for hit in found.memories:
            assert hit.content.startswith("item number"), hit
        bank.list(limit=5)
print("fine")
"""


@pytest.mark.parametrize(("writing", "reading"), [(3, 1), pytest.param(8, 4, marks=pytest.mark.storm)])
def test_writers_and_readers_lose_nothing_and_never_meet_a_lock(
    path: Path, child: Child, finished: Callable[..., str], writing: int, reading: int
) -> None:
    opened(path).close()
    writers = [child(WRITER, path, number, 30) for number in range(writing)]
    readers = [child(READER, path, 40) for _ in range(reading)]
    acknowledged = [line for writer in writers for line in finished(writer).split()]
    assert [finished(reader) for reader in readers] == ["fine\n"] * reading
    assert len(acknowledged) == writing * 30
    with opened(path) as bank:
        assert {m.id for m in bank.list(limit=1_000)} == set(acknowledged)
        assert {m.id for m in bank.search("item number", floor=0.0, limit=1_000).memories} == set(acknowledged)
        assert bank.verify() == []
        assert bank.status().signals == writing * 6
    store = SqliteStore(path)
    assert [c.seq for c in store.changes(0, 10_000)] == list(range(1, writing * 36 + 1))
    store.close()


ANSWERING = """
import sys
from reasoningbank.wiring import ReasoningBank
with ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n") as bank:
    bank.search("warm up")
    print("ready", flush=True)
    for line in sys.stdin:
        print(" ".join(m.id for m in bank.search(line.strip(), floor=0.0, limit=1000).memories), flush=True)
"""


def test_what_one_process_stores_another_finds_right_after_the_acknowledgement(path: Path, child: Child) -> None:
    with opened(path) as bank:
        other = child(ANSWERING, path)
        assert other.stdout.readline() == "ready\n", other.stderr.read()
        for number in range(40):
            kept = bank.record(title=f"Fact {number}", content=f"the capital of country{number} is city{number}")
            other.stdin.write(f"what is the capital of country{number}\n")
            other.stdin.flush()
            answer = other.stdout.readline()
            assert kept.id in answer.split(), f"memory {number} was not found by the other process"
            if number % 4 == 0:
                bank.forget(kept.id)
                other.stdin.write(f"what is the capital of country{number}\n")
                other.stdin.flush()
                assert kept.id not in other.stdout.readline().split(), "a forgotten memory was found"


SAME_KEY = """
import sys
from reasoningbank.wiring import ReasoningBank
with ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n") as bank:
    print("ready", flush=True)
    sys.stdin.readline()
    print(bank.store("the key", f"value of process {sys.argv[2]}").id)
"""


@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.storm)])
def test_processes_that_store_one_key_make_one_memory_with_a_revision_of_each(
    path: Path, child: Child, finished: Callable[..., str], count: int
) -> None:
    processes = [child(SAME_KEY, path, number) for number in range(count)]
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    ids = {finished(process).strip() for process in processes}
    assert len(ids) == 1
    with opened(path) as bank:
        assert len(bank.list()) == 1
        history = bank.history("the key")
        assert [revision.revision for revision in history.revisions] == list(range(1, count + 1))
        assert {r.content for r in history.revisions} == {f"value of process {n}" for n in range(count)}


REINDEXING = """
import os, signal, sys
from reasoningbank.wiring import ReasoningBank

def progress(done, total):
    if done >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

with ReasoningBank.open(sys.argv[1], namespace="n") as bank:
    bank.reindex("hash", dimension=int(sys.argv[2]), progress=progress)
"""


def test_a_reindex_that_is_killed_goes_on_and_another_process_keeps_answering_and_switches(
    path: Path, child: Child
) -> None:
    with opened(path) as bank:
        ids = bank.record_many({"title": f"Note {n}", "content": f"note number {n} about thing{n}"} for n in range(600))
        bank.search("note")
        other = child(ANSWERING, path)
        assert other.stdout.readline() == "ready\n", other.stderr.read()

        def other_finds() -> int:
            other.stdin.write("note number 7 about thing7\n")
            other.stdin.flush()
            return len(other.stdout.readline().split())

        assert other_finds() == 600
        killed = child(REINDEXING, path, 128, 200)
        killed.communicate(timeout=600)
        assert killed.returncode == -9
        assert other_finds() == 600
        assert bank.status().embedder.dimension == 1_024

        steps: list[tuple[int, int]] = []
        assert bank.reindex("hash", dimension=128, progress=lambda *step: steps.append(step)).dimension == 128
        assert bank.status().embedder.dimension == 128
        assert other_finds() == 600
        found = bank.search("note number", floor=0.0, limit=1_000)
        assert found.total_found == len(ids)
        assert found.embedder.startswith("hash/")
        assert "/128/" in found.embedder
    with ReasoningBank.open(path, namespace="n") as bank:
        assert bank.reindex("hash", dimension=1_024).dimension == 1_024
        assert bank.search("note number", floor=0.0).total_found >= 100
        assert len(bank.list(limit=10_000)) == len(ids)
    assert len(list((path.parent / f"{path.name}.index").iterdir())) == 1


REINDEX_OFTEN = """
import sys
from reasoningbank.wiring import ReasoningBank
with ReasoningBank.open(sys.argv[1], namespace="n") as bank:
    for number in range(4):
        bank.reindex("hash", dimension=64 + number)
print("fine")
"""


def test_searching_goes_on_while_another_process_reindexes_again_and_again(path: Path, child: Child) -> None:
    with opened(path) as bank:
        kept = bank.record(title="Steady", content="found in every build of the index")
        bank.search("steady")
        other = child(REINDEX_OFTEN, path)
        searches = 0
        while other.poll() is None or not searches:
            assert [m.id for m in bank.search("found in every build", floor=0.0).memories] == [kept.id]
            searches += 1
        assert other.communicate()[0] == "fine\n"
        assert "/67/" in bank.search("found in every build", floor=0.0).embedder


def test_an_index_that_is_brought_forward_while_another_opens_it_is_not_taken_for_a_foreign_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever takes it for one throws it away, while others are reading and writing it."""
    with opened(path) as one, opened(path) as other:
        one.record(title="first", content="of all")
        one.search("first")
        [folder] = Path(f"{path}.index").iterdir()
        before = folder.stat().st_ino
        real, moved = EmbeddedIndex.in_doubt, []

        def in_doubt(index: EmbeddedIndex) -> list[str]:
            if not moved:
                moved.append(one.record(title="second", content="of all").id)
                one.search("second")
            return real(index)

        monkeypatch.setattr(EmbeddedIndex, "in_doubt", in_doubt)
        assert len(other.search("of all", floor=0.0).memories) == 2
        assert moved
        assert folder.stat().st_ino == before, "the index was thrown away"
