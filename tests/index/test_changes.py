"""What changes do to an index: revisions, replays, erasure and compaction."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reasoningbank.core.errors import InvalidInput, StoreError
from reasoningbank.core.types import Standing, State
from reasoningbank.index import changes, embedded
from reasoningbank.index import peek as peeking
from reasoningbank.index.changes import _append
from reasoningbank.index.policy import CompactionPolicy, SegmentPolicy
from reasoningbank.index.segments import merge_ranges
from reasoningbank.lexical.hashing import id_term, term_keys
from reasoningbank.ports import Filter, IndexBatch


def files_of(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())


def test_a_revision_replaces_the_words_and_asks_for_new_vectors(open_bench, memory) -> None:
    bench = open_bench()
    bench.apply(added=[memory("mem_a", title="retry"), memory("mem_b", title="cache")])
    bench.embed(np.random.default_rng(1))
    bench.apply(revised=[memory("mem_a", title="deploy")])
    assert bench.search("retry").ids == []
    assert bench.search("deploy").ids == ["mem_a"]
    assert bench.index.awaiting_vectors(10) == ["mem_a"]
    assert bench.index.info().memories == 2


def test_a_change_of_state_keeps_the_vectors(open_bench, memory) -> None:
    bench = open_bench()
    bench.apply(added=[memory("mem_a", title="retry")])
    bench.embed(np.random.default_rng(1))
    bench.apply(revised=[memory("mem_a", title="retry", state=State.ARCHIVED, namespace="elsewhere", agent="ann")])
    assert bench.index.awaiting_vectors(10) == []
    found = bench.search("retry", states=(State.ARCHIVED,), namespace="elsewhere", agent="ann")
    assert found.ids == ["mem_a"]
    assert bench.search("retry").filtered_out == {"state": 1}


def test_replaying_a_batch_changes_nothing(open_bench, random_memories) -> None:
    bench = open_bench()
    memories = random_memories(1, 60)
    bench.apply(added=memories)
    bench.embed(np.random.default_rng(1))
    query = np.random.default_rng(2).standard_normal(24).astype(np.float32)
    for again in range(3):
        bench.apply(
            added=memories[:30],
            revised=memories[20:40],
            standings={memories[0].id: Standing(initial=0.5, created_at=1000.0)},
        )
        assert bench.index.info().memories == 60
        assert bench.index.info().awaiting_vectors == 0
        bench.check("retry cache", query, 10, Filter(tenant="local"))
        assert bench.index.position.applied == 2 + again


def test_a_random_life_agrees_with_the_oracle_once_compacted(open_bench, random_memories, memory, monkeypatch) -> None:
    monkeypatch.setattr(embedded, "COMPACTION", CompactionPolicy(dead_rows=0, dead_share=0.0))
    bench = open_bench()
    rng, numbers = random.Random(7), np.random.default_rng(7)
    for step in range(25):
        known = sorted(bench.oracle.memories)
        bench.apply(
            added=random_memories(100 + step, rng.randint(0, 12)),
            revised=[
                replace(bench.oracle.memories[i], content=f"merge queue {step}", tags=("go",))
                for i in rng.sample(known, min(len(known), rng.randint(0, 4)))
            ],
        )
        bench.oracle.vectors = {
            i: v for i, v in bench.oracle.vectors.items() if i not in set(bench.index.awaiting_vectors(10_000))
        }
        if rng.random() < 0.6:
            bench.embed(numbers, rng.randint(1, 30))
        if known and rng.random() < 0.3:
            bench.apply(erased=rng.sample(known, 1))
        query = numbers.standard_normal(24).astype(np.float32)
        bench.check("merge queue retry", query, 9, Filter(tenant="local", namespace="alpha"))


def test_compaction_keeps_ids_cosines_and_waiting_order(open_bench, random_memories, memory, monkeypatch) -> None:
    bench = open_bench()
    memories = random_memories(3, 300)
    bench.apply(added=memories)
    bench.embed(np.random.default_rng(3), 200)
    bench.apply(revised=[replace(m, title="deploy lock") for m in memories[::4]])
    query = np.random.default_rng(4).standard_normal(24).astype(np.float32)
    before, waiting = bench.search(vector=query, depth=50), bench.index.awaiting_vectors(1000)
    monkeypatch.setattr(embedded, "COMPACTION", CompactionPolicy(dead_rows=0, dead_share=0.0))
    bench.apply(standings={})
    after = bench.search(vector=query, depth=50)
    assert bench.index._latest().directory.name == "gen-2"
    assert after.ids == before.ids
    assert np.array_equal(after.cosine, before.cosine)
    assert bench.index.awaiting_vectors(1000) == waiting
    assert bench.index.info().memories == 300


def test_erased_means_gone_from_every_file(open_bench, memory, tmp_path) -> None:
    bench = open_bench(64)
    secret = memory("mem_secret_of_mine", title="xyzzyplugh", content="retry")
    bench.apply(added=[memory("mem_a", title="retry"), secret, memory("x" * 90 + "secret_long", title="cache")])
    bench.embed(np.random.default_rng(1))
    vector = bench.oracle.vectors["mem_secret_of_mine"]
    full = (vector / np.linalg.norm(vector)).astype(np.float16).tobytes()
    bench.apply(revised=[replace(secret, content="timeout")])
    assert full in files_of(tmp_path)
    assert term_keys(["xyzzyplugh"])[0].to_bytes(4, "little") in files_of(tmp_path)
    bench.apply(erased=["mem_secret_of_mine", "x" * 90 + "secret_long"])
    left = files_of(tmp_path)
    assert full not in left
    assert b"secret" not in left
    assert id_term("mem_secret_of_mine").to_bytes(4, "little") not in left
    assert term_keys(["xyzzyplugh"])[0].to_bytes(4, "little") not in left
    assert bench.search("xyzzyplugh").ids == []
    assert bench.search("retry").ids == ["mem_a"]
    assert [path.name for path in (tmp_path / "index").glob("gen-*")] == ["gen-2"]


def test_erasing_what_was_only_half_written_scrubs_it_too(open_bench, memory, tmp_path) -> None:
    bench = open_bench(64)
    bench.apply(added=[memory("mem_a", title="retry")])

    class Stop(Exception):
        pass

    with pytest.raises(Stop), bench.index.writing(wait_s=1):  # noqa: PT012 - the block stands for a writer that dies
        generation = bench.index._latest()
        _append(
            generation, generation.snapshot().header, [(memory("mem_secret"), Standing(initial=0.5, created_at=0.0))], 2
        )
        assert b"mem_secret" in files_of(tmp_path)
        raise Stop
    bench.apply(erased=["mem_secret"])
    assert b"mem_secret" not in files_of(tmp_path)
    assert bench.search("retry").ids == ["mem_a"]


def test_erasing_an_unknown_id_is_no_work(open_bench, memory) -> None:
    bench = open_bench()
    bench.apply(added=[memory("mem_a", title="retry")])
    bench.apply(erased=["mem_never"])
    assert bench.index._latest().directory.name == "gen-1"
    assert bench.index.position.applied == 2


def test_an_id_may_come_back_after_erasure(open_bench, memory) -> None:
    bench = open_bench()
    bench.apply(added=[memory("mem_a", title="retry")])
    bench.apply(erased=["mem_a"], added=[memory("mem_a", title="cache")])
    assert bench.search("cache").ids == ["mem_a"]
    assert bench.search("retry").ids == []


def test_many_dead_rows_start_a_new_generation(open_bench, memory) -> None:
    bench = open_bench(8)
    for version in range(3):
        bench.apply(revised=[memory(f"mem_{i}", title=f"retry{version}") for i in range(700)])
    info = bench.index.info()
    assert info.memories == 700
    assert bench.index._latest().directory.name == "gen-2"
    assert bench.search("retry2", depth=1000).considered == 700


def test_vectors_follow_the_order_and_skip_the_dead(open_bench, memory) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory(f"mem_{i}", title=f"retry{i}") for i in range(6)])
    assert bench.index.awaiting_vectors(2) == ["mem_0", "mem_1"]
    bench.apply(revised=[memory("mem_1", title="other"), memory("mem_3", title="more")])
    assert bench.embed(np.random.default_rng(1), 3) == 3
    assert bench.index.awaiting_vectors(10) == ["mem_5", "mem_1", "mem_3"]
    assert bench.embed(np.random.default_rng(1)) == 3
    assert bench.index.awaiting_vectors(10) == []
    assert len(bench.search(vector=np.ones(8, np.float32)).ids) == 6


def test_a_vector_made_for_an_older_revision_is_not_given_to_the_newer(open_bench, memory) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory("mem_a", title="retry"), memory("mem_b", title="cache")])
    ids = bench.index.awaiting_vectors(10)
    bench.apply(revised=[memory("mem_a", title="new words")])
    with bench.index.writing(wait_s=1):
        bench.index.embed(ids, np.ones((2, 8), np.float32))
    assert bench.index.awaiting_vectors(10) == ["mem_a"]


def test_vectors_for_ids_nobody_asked_for_are_refused(open_bench, memory) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory("mem_a", title="retry")])
    with bench.index.writing(wait_s=1), pytest.raises(InvalidInput):
        bench.index.embed(["mem_a"], np.ones((1, 8), np.float32))


def test_writing_without_the_right_is_refused(open_bench) -> None:
    bench = open_bench(8)
    with pytest.raises(StoreError):
        bench.index.apply(IndexBatch(applied=1))
    with pytest.raises(StoreError):
        bench.index.embed([], {})


def test_segments_stay_geometric_and_bounded() -> None:
    policy = SegmentPolicy(tail_rows=10, merge_ratio=2, most_rows_per_segment=200)
    ranges: tuple[tuple[int, int], ...] = ()
    for rows in range(0, 2000, 7):
        ranges = merge_ranges(ranges, rows, policy)
        sealed = ranges[-1][1] if ranges else 0
        assert rows - sealed <= 10
        assert [first for first, _ in ranges[1:]] == [last for _, last in ranges[:-1]]
        assert all(last - first <= 200 for first, last in ranges)
        assert len(ranges) <= 2 * rows // 200 + 8


def test_a_row_that_another_process_begins_to_change_is_no_damage_to_whoever_continues_the_index_in_memory(
    open_bench, memory, monkeypatch
) -> None:
    bench = open_bench()
    bench.apply(added=[memory("mem_a", title="retry"), memory("mem_b", title="cache")])
    writer = bench.index
    ahead = writer.ahead()
    looked = changes.slots_in_doubt

    def look_and_be_overtaken(snapshot):
        found = looked(snapshot)
        rows, begun = writer.latest_snapshot()[1].rows, np.array([0])
        rows.announce(begun, writer.position.applied + 1)
        rows.put("namespace", begun, 7)
        return found

    monkeypatch.setattr(changes, "slots_in_doubt", look_and_be_overtaken)
    standing = Standing(initial=0.5, created_at=1000.0, positive=1.0)
    with ahead.writing(wait_s=1.0):
        ahead.apply(IndexBatch(standings={"mem_a": standing}, applied=writer.position.applied + 1))
    assert ahead.position.applied == writer.position.applied + 1


def test_a_generation_that_is_being_replaced_has_no_size_and_is_no_damage(open_bench, memory, monkeypatch) -> None:
    bench = open_bench()
    bench.apply(added=[memory("mem_a", title="retry")])
    replaced = bench.index.latest_snapshot()[0]
    directory, read = bench.index.directory, peeking.read_header

    def read_too_late(folder):
        monkeypatch.undo()
        bench.apply(erased=["mem_a"])
        return read(folder)

    monkeypatch.setattr(peeking, "read_header", read_too_late)
    assert not peeking.peek(directory).is_damaged
    assert replaced.bytes_on_disk() == 0
