"""Several processes, kills, torn and cut files."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import reasoningbank
from reasoningbank.core.errors import BankDamaged, BankReadOnly, BankTooNew, BankUnavailable, EmbedderMismatch
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.index import mapping
from reasoningbank.index.embedded import EmbeddedIndex
from reasoningbank.index.examine import examine
from reasoningbank.index.files import GrowingFile
from reasoningbank.index.generation import Generation
from reasoningbank.index.header import Header, HeaderFile
from reasoningbank.ports import Filter, Probe
from tests.index.conftest import Bench, identity, random_memory

DIMENSION, PATIENCE_S = 16, 120.0
IDENTITY = EmbedderIdentity(name="test", model="random", dimension=DIMENSION, revision="1")
PRELUDE = f"""
import sys
from pathlib import Path
import numpy as np
from reasoningbank.core.types import *
from reasoningbank.index.embedded import EmbeddedIndex
from reasoningbank.ports import *

IDENTITY = EmbedderIdentity(name="test", model="random", dimension={DIMENSION}, revision="1")
PATIENCE_S = {PATIENCE_S}
index = EmbeddedIndex.open(Path(sys.argv[1]), IDENTITY, "text")

def memory(number, words="retry"):
    made = Memory(
        id=f"mem_{{number:026d}}", tenant="local", namespace="default", scope=Scope.PROJECT, title=words, description="",
        content=f"word{{number}}", outcome=Outcome.SUCCESS, key=None, tags=(), agent=None, task_type=None,
        cognitive_pattern=None, origin="user", parents=(), source=None, metadata={{}}, initial_confidence=0.5,
        created_at=0.0, updated_at=0.0, revision=1, state=State.ACTIVE,
    )
    return made, Standing(initial=0.5, created_at=float(number))

def vector(number):
    return np.random.default_rng(number).standard_normal({DIMENSION}).astype(np.float32)

def embed():
    ids = index.awaiting_vectors(100_000)
    index.embed(ids, np.stack([vector(int(i[4:])) for i in ids]))
"""
# Memory n arrives in batch n // 5; batch k also revises the first memory of batch k - 1 and erases one of batch k - 30.
FOLLOW = """
def follow(last):
    while index.position.applied < last:
        k = index.position.applied
        revised = [memory(5 * (k - 1), "cache")] if k else []
        erased = [memory(5 * (k - 30) + 1)[0].id] if k >= 30 and k % 10 == 0 else []
        index.apply(IndexBatch(
            added=[memory(n) for n in range(5 * k, 5 * k + 5)], revised=revised, erased=erased, applied=k + 1))
        embed()
"""


def run(code: str, place: Path) -> subprocess.Popen[str]:
    source = str(Path(reasoningbank.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, str(place)],
        env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def vector_of(memory_id: str) -> np.ndarray:
    return np.random.default_rng(int(memory_id[4:])).standard_normal(DIMENSION).astype(np.float32)


def probe(text: str, vector: np.ndarray | None = None, depth: int = 100_000) -> Probe:
    return Probe(vector=vector, text=text, where=Filter(tenant="local"), depth=depth)


def check_life(index: EmbeddedIndex, batches: int) -> None:
    """The index is what `follow(batches)` makes of it."""
    erased = {5 * (k - 30) + 1 for k in range(30, batches, 10)}
    revised = {5 * (k - 1) for k in range(1, batches)}
    expected = set(range(5 * batches)) - erased
    assert {int(i[4:]) for i in index.search(probe("retry cache")).ids} == expected
    assert {int(i[4:]) for i in index.search(probe("cache")).ids} == revised
    for number in sorted(expected)[:: max(1, len(expected) // 20)]:
        memory_id = f"mem_{number:026d}"
        found = index.search(probe(f"word{number}", vector_of(memory_id), 1))
        assert found.ids == [memory_id]
        assert found.cosine[0] == pytest.approx(1, abs=1e-2)
        assert found.standings[0].created_at == number


def test_one_process_writes_and_another_sees_it(tmp_path: Path) -> None:
    index = EmbeddedIndex.open(tmp_path, IDENTITY, "text")
    assert index.search(probe("retry")).ids == []
    code = """
for line in sys.stdin:
    with index.writing(wait_s=PATIENCE_S) as granted:
        assert granted
        follow(int(line))
    print("done", flush=True)
"""
    with run(FOLLOW + code, tmp_path) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        for batches in (1, 2, 60, 61, 90):
            other.stdin.write(f"{batches}\n")
            other.stdin.flush()
            assert other.stdout.readline() == "done\n"
            check_life(index, batches)
        other.stdin.close()
        assert other.wait(PATIENCE_S) == 0
    index.close()


def test_a_reader_searching_all_the_while_never_sees_damage(tmp_path: Path) -> None:
    index = EmbeddedIndex.open(tmp_path, IDENTITY, "text")
    with run(FOLLOW + "with index.writing(wait_s=PATIENCE_S): follow(60)\nprint('done')", tmp_path) as other:
        seen = 0
        while other.poll() is None:
            found = index.search(probe("retry cache", np.ones(DIMENSION, np.float32), 50))
            assert len(set(found.ids)) == len(found.ids)
            assert not np.isnan(found.keyword).any()
            assert index.position.applied >= seen
            seen = index.position.applied
        assert other.returncode == 0
    check_life(index, 60)
    index.close()


@pytest.mark.parametrize("kill_after", [3, 61, pytest.param(150, marks=pytest.mark.storm)])
def test_a_killed_writer_leaves_an_index_that_the_next_one_completes(tmp_path: Path, kill_after: int) -> None:
    code = """
with index.writing(wait_s=PATIENCE_S) as granted:
    for last in range(index.position.applied + 1, 100_000):
        follow(last)
        print(last, flush=True)
"""
    reader = EmbeddedIndex.open(tmp_path, IDENTITY, "text")
    for _ in range(2):
        with run(FOLLOW + code, tmp_path) as writer:
            assert writer.stdout is not None
            for _ in range(kill_after):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
        reader.search(probe("retry", np.ones(DIMENSION, np.float32)))
    with run(
        FOLLOW + "with index.writing(wait_s=PATIENCE_S) as granted: follow(index.position.applied + 2)", tmp_path
    ) as last:
        assert last.wait(PATIENCE_S) == 0
    check_life(reader, reader.position.applied)
    assert len(list(tmp_path.glob("gen-*"))) == 1
    reader.close()


def test_only_one_process_may_write(tmp_path: Path) -> None:
    index = EmbeddedIndex.open(tmp_path, IDENTITY, "text")
    code = """
with index.writing(wait_s=PATIENCE_S) as granted:
    print(granted, flush=True)
    sys.stdin.readline()
"""
    with run(code, tmp_path) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        with index.writing(wait_s=0.01) as granted:
            assert not granted
        other.send_signal(signal.SIGKILL)
    with index.writing(wait_s=PATIENCE_S) as granted:
        assert granted
    index.close()


def test_only_one_thread_may_write(open_bench) -> None:
    bench = open_bench(8)
    answers: list[bool] = []

    def attempt() -> None:
        with bench.index.writing(wait_s=0.01) as granted:
            answers.append(granted)

    with bench.index.writing(wait_s=1):
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
    attempt()
    assert answers == [False, True]


def test_threads_may_search_while_one_writes(open_bench, random_memories) -> None:
    bench = open_bench(8)
    bench.apply(added=random_memories(1, 200))
    stop, problems = threading.Event(), []

    def ask() -> None:
        while not stop.is_set():
            found = bench.search("retry cache", np.ones(8, np.float32), depth=20)
            if len(set(found.ids)) != len(found.ids):
                problems.append(found)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for seed in range(2, 12):
        bench.apply(added=random_memories(seed, 100))
        bench.embed(np.random.default_rng(seed))
        bench.apply(erased=[f"mem_{seed}_{0:022d}"])
    stop.set()
    for thread in threads:
        thread.join()
    assert not problems
    assert bench.index.info().memories == 200 + 10 * 99


def test_a_thread_that_compacts_does_not_close_what_another_is_about_to_read(
    open_bench, random_memories, monkeypatch
) -> None:
    bench = open_bench(8)
    bench.apply(added=random_memories(1, 20))
    erasing = threading.Thread(target=lambda: bench.apply(erased=[f"mem_1_{0:022d}"]))
    whole = Generation.snapshot

    def snapshot(self: Generation):
        if threading.current_thread() is threading.main_thread() and erasing.ident is None:
            erasing.start()
            erasing.join(timeout=0.3)
        return whole(self)

    monkeypatch.setattr(Generation, "snapshot", snapshot)
    bench.search("retry cache", np.ones(8, np.float32), depth=20)
    erasing.join(timeout=PATIENCE_S)
    assert bench.index.info().memories == 19


# ------------------------------------------------------------ damage


@pytest.fixture(scope="module")
def _filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, rng = tmp_path_factory.mktemp("filled"), random.Random(1)
    bench = Bench(EmbeddedIndex.open(place, identity(8), "text"), 8)
    bench.apply(added=[random_memory(rng, f"mem_1_{number:022d}") for number in range(5_000)])
    bench.embed(np.random.default_rng(1))
    bench.apply(added=[random_memory(rng, f"mem_2_{number:022d}") for number in range(10)])
    bench.index.close()
    return place


@pytest.fixture
def filled(_filled_once: Path, tmp_path: Path) -> Path:
    """What `open_bench` then opens: a segment, vectors, and a few rows behind them."""
    return next(Path(shutil.copytree(_filled_once, tmp_path / "index")).glob("gen-*"))


def test_a_torn_header_falls_back_to_the_copy_before(open_bench, random_memories, filled) -> None:
    raw = bytearray((filled / "header").read_bytes())
    newest = max((0, 4096), key=lambda at: int.from_bytes(raw[at + 8 : at + 16], "little"))
    raw[newest + 20] ^= 0xFF
    (filled / "header").write_bytes(raw)
    bench = open_bench(8)
    assert bench.index.info().memories == 5000
    assert bench.index.position.applied == 1
    bench.apply(added=random_memories(2, 10))
    assert bench.index.info().memories == 5010
    assert open_bench(8).index.info().memories == 5010


def test_two_torn_headers_are_damage(open_bench, filled) -> None:
    raw = bytearray((filled / "header").read_bytes())
    raw[20] ^= 0xFF
    raw[4096 + 20] ^= 0xFF
    (filled / "header").write_bytes(raw)
    with pytest.raises(BankDamaged):
        open_bench(8)


@pytest.mark.parametrize(
    "pattern", ["rows", "entries", "bits-0", "vectors-0", "words-*", "header", "about.json", "rotation"]
)
def test_a_cut_file_is_noticed_at_open(open_bench, filled, pattern) -> None:
    path = next(filled.glob(pattern))
    os.truncate(path, path.stat().st_size // 64)
    with pytest.raises(BankDamaged):
        open_bench(8)


@pytest.mark.parametrize(
    "pattern", ["rows", "entries", "bits-0", "vectors-0", "words-*", "header", "about.json", "rotation"]
)
def test_a_lost_file_is_noticed_at_open(open_bench, filled, pattern) -> None:
    next(filled.glob(pattern)).unlink()
    with pytest.raises(BankDamaged):
        open_bench(8)


@pytest.mark.parametrize("content", ["", "gen-99", "nonsense", "../elsewhere"])
def test_a_pointer_to_nowhere_is_damage(open_bench, filled, content) -> None:
    (filled.parent / "CURRENT").write_text(content)
    with pytest.raises(BankDamaged):
        open_bench(8)


def test_an_index_of_another_embedder_is_refused(open_bench, tmp_path) -> None:
    open_bench(8)
    with pytest.raises(EmbedderMismatch):
        open_bench(9)
    with pytest.raises(EmbedderMismatch):
        open_bench(8, "context")


def test_an_index_of_a_newer_version_is_refused(open_bench, random_memories, monkeypatch) -> None:
    monkeypatch.setattr("reasoningbank.index.header.FORMAT", 9)
    bench = open_bench(8)
    bench.apply(added=random_memories(1, 10))
    bench.index.close()
    monkeypatch.undo()
    with pytest.raises(BankTooNew):
        open_bench(8)


def test_read_only_reads_and_refuses_to_write(open_bench, memory) -> None:
    with pytest.raises(BankUnavailable):
        open_bench(8, read_only=True)
    bench = open_bench(8)
    bench.apply(added=[memory("mem_a", title="retry")])
    reader = open_bench(8, read_only=True)
    assert reader.search("retry").ids == ["mem_a"]
    with pytest.raises(BankReadOnly), reader.index.writing(wait_s=0):
        pass
    bench.apply(added=[memory(f"mem_{i}", title="retry") for i in range(5_000)])
    assert reader.search("retry").considered == 5_001
    bench.apply(erased=["mem_a"])
    assert reader.search("retry").considered == 5_000


def test_an_index_that_is_opened_while_its_segments_are_merged_is_not_taken_for_a_damaged_one(
    open_bench, random_memories, monkeypatch
) -> None:
    """Whoever takes it for damaged throws it away, while others are reading and writing it."""
    first = open_bench(8)
    first.apply(added=random_memories(1, 5_000))
    real, read_before = HeaderFile.read, []

    def read(header: HeaderFile) -> object:
        found = real(header)
        if not read_before:
            # Between this look at the header and the one at the segments that it names, a writer merges them.
            read_before.append(found)
            first.apply(added=random_memories(2, 5_000))
        return found

    monkeypatch.setattr(HeaderFile, "read", read)
    assert open_bench(8).index.info().memories == 10_000
    assert [segment[:2] for segment in read_before[0].segments] == [(0, 5_000)]


def test_an_index_that_is_replaced_while_it_is_opened_is_not_taken_for_a_damaged_one(
    open_bench, random_memories, monkeypatch
) -> None:
    first = open_bench(8)
    memories = random_memories(1, 5_000)
    first.apply(added=memories)
    real, replaced = Generation._open_segment, []

    def open_segment(generation: Generation, *named: int) -> object:
        if not replaced:
            replaced.append(generation.directory)
            first.apply(erased=[memories[0].id])
        return real(generation, *named)

    monkeypatch.setattr(Generation, "_open_segment", open_segment)
    assert open_bench(8).index.info().memories == 4_999
    assert not replaced[0].exists()


def test_what_was_taken_from_an_index_can_be_examined_when_another_process_has_replaced_that(
    open_bench, random_memories
) -> None:
    first, other = open_bench(8), open_bench(8)
    memories = random_memories(1, 5_000)
    first.apply(added=memories)
    content, snapshot = other.index.latest_snapshot()
    first.apply(erased=[memories[0].id])
    assert not content.directory.exists()
    assert examine(content, snapshot).is_sound


def test_a_file_can_be_looked_at_while_another_thread_makes_what_it_wrote_durable(tmp_path, monkeypatch) -> None:
    (tmp_path / "rows").touch()
    file = GrowingFile(tmp_path / "rows", writable=True)
    file.write(0, b"kept")
    real = mapping.map_file

    def map_file(*given: int) -> mapping.Bytes:
        file.sync()
        return real(*given)

    monkeypatch.setattr(mapping, "map_file", map_file)
    assert file.view(4)[:4].tobytes() == b"kept"


def test_clearing_up_after_a_dead_writer_never_shortens_a_file_that_others_may_have_mapped(
    open_bench, memory, monkeypatch
) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory("mem_1", content="sound")])
    generation = bench.index._latest()
    # As a writer that died leaves it: bytes behind what is committed, and the lock as it was held.
    for file in generation.files.values():
        file.write(file.path.stat().st_size, b"left behind" * 1_000)
    assert bench.index._lock.acquire(1.0)
    bench.index._lock.left_in_disorder()
    bench.index._lock.release(in_order=False)
    real = os.ftruncate

    def never_shorter(descriptor: int, size: int) -> None:
        assert size >= os.fstat(descriptor).st_size, "a mapped file is cut"
        real(descriptor, size)

    monkeypatch.setattr(os, "ftruncate", never_shorter)
    with bench.index.writing(wait_s=1.0) as granted:
        assert granted
    assert not any(b"left behind" in path.read_bytes() for path in generation.directory.iterdir())
    assert bench.search("sound").ids == ["mem_1"]


def test_a_header_is_never_written_over_one_that_others_may_have_mapped(tmp_path) -> None:
    """A file that is opened to be written anew is empty for a moment, and whoever has it mapped is then killed."""
    HeaderFile.create(tmp_path / "header", Header(sequence=1, applied=7))
    mapped = HeaderFile(tmp_path / "header")
    with pytest.raises(BankUnavailable, match="another process"):
        HeaderFile.create(tmp_path / "header", Header(sequence=1))
    assert mapped.read().applied == 7
