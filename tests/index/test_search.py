"""The embedded index finds what a naive search by the book finds."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Outcome, Scope, Standing, State
from reasoningbank.ports import Filter

FILTERS = [
    {},
    {"namespace": "alpha"},
    {"namespace": "nowhere"},
    {"scopes": (Scope.TEAM,)},
    {"scopes": (Scope.PROJECT, Scope.ORG)},
    {"outcome": Outcome.FAILURE},
    {"states": (State.ARCHIVED,)},
    {"states": (State.ACTIVE, State.ARCHIVED)},
    {"states": tuple(State)},
    {"tags": ("go",)},
    {"tags": ("go", "web")},
    {"tags": ("unknown",)},
    {"agent": "ann"},
    {"task_type": "plan"},
    {"tenant": "other"},
    {"tenant": "nobody"},
    {"namespace": "beta", "outcome": Outcome.SUCCESS, "tags": ("py",), "agent": "bob", "task_type": "fix"},
]


@pytest.mark.parametrize("where", FILTERS, ids=str)
def test_every_filter_gives_what_the_oracle_gives(open_bench, random_memories, words, where) -> None:
    bench = open_bench(24)
    numbers, rng = np.random.default_rng(3), random.Random(3)
    bench.apply(added=random_memories(1, 150))
    bench.embed(numbers, 100, empty_share=0.2)
    bench.apply(added=random_memories(2, 50))
    for depth in (1, 7, 500):
        text = " ".join(rng.choices(words, k=4))
        vector = numbers.standard_normal(24).astype(np.float32)
        full = Filter(**{"tenant": "local", **where})
        bench.check(text, vector, depth, full)
        bench.check(text, None, depth, full)
        bench.check("", vector, depth, full)


@pytest.mark.parametrize("dimension", [1, 3, 8, 64, 65, 384, 1000, 1536])
def test_any_dimension_works(open_bench, random_memories, dimension) -> None:
    bench = open_bench(dimension)
    numbers = np.random.default_rng(dimension)
    bench.apply(added=random_memories(4, 40))
    bench.embed(numbers)
    bench.check("retry", numbers.standard_normal(dimension).astype(np.float32), 5, Filter(tenant="local"))


def test_bits_find_what_a_full_scan_finds(open_bench, memory) -> None:
    bench = open_bench(128)
    numbers = np.random.default_rng(5)
    bench.apply(added=[memory(f"mem_{i:026d}", namespace=f"ns{i % 3}") for i in range(6000)])
    bench.embed(numbers)
    everything = np.stack([bench.oracle.vectors[f"mem_{i:026d}"] for i in range(6000)])
    everything /= np.linalg.norm(everything, axis=1, keepdims=True)
    hits = 0
    for _ in range(20):
        query = numbers.standard_normal(128).astype(np.float32)
        for namespace in (None, "ns1"):
            exact = everything @ query
            if namespace:
                exact[np.arange(6000) % 3 != 1] = -9
            best = {f"mem_{i:026d}" for i in np.argsort(-exact)[:10]}
            hits += len(best & set(bench.search(vector=query, depth=10, namespace=namespace).ids[:10]))
    assert hits >= 0.99 * 400


def test_sparse_nonnegative_vectors_are_found_too(open_bench, memory) -> None:
    bench = open_bench(256)
    numbers = np.random.default_rng(6)
    count = 4000
    vectors = numbers.random((count, 256)).astype(np.float32) * (numbers.random((count, 256)) < 0.1)
    bench.apply(added=[memory(f"mem_{i:026d}") for i in range(count)])
    with bench.index.writing(wait_s=1):
        bench.index.embed(bench.index.awaiting_vectors(count), vectors)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    hits = 0
    for row in range(0, 400, 10):
        query = vectors[row] * (numbers.random(256) < 0.5)
        best = {f"mem_{i:026d}" for i in np.argsort(-(unit @ query))[:10]}
        hits += len(best & set(bench.search(vector=query, depth=10).ids))
    assert hits >= 0.99 * 400


def test_keywords_agree_with_the_oracle_across_segments_and_tail(open_bench, random_memories, words) -> None:
    bench = open_bench(8)
    for seed in range(2):
        bench.apply(added=random_memories(seed, 4200))
    bench.apply(added=random_memories(9, 100))
    rng = random.Random(1)
    for _ in range(4):
        bench.check(" ".join(rng.choices(words, k=3)), None, 20, Filter(tenant="local", namespace="beta"))


def test_of_many_that_hold_a_rare_word_those_come_up_in_which_it_weighs_most(open_bench, memory) -> None:
    bench = open_bench(8)
    plain = [memory(f"mem_{n:026d}", content="an ordinary note of the day") for n in range(300)]
    holders = [memory(f"mem_{n:026d}", content="zanzibar" + " and the rest" * (900 - n)) for n in range(894, 900)]
    bench.apply(added=[*holders, *plain])
    assert set(bench.search("zanzibar", depth=2).ids) == {holders[-1].id, holders[-2].id}


def test_an_empty_index_finds_nothing(open_bench) -> None:
    found = open_bench(3).search("anything", np.ones(3, np.float32))
    assert found.ids == []
    assert found.cosine.shape == (0,)
    assert (found.considered, found.exhausted, dict(found.filtered_out)) == (0, True, {})


def test_a_zero_query_vector_means_keywords_only(open_bench, memory) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory("mem_a", title="retry"), memory("mem_b", title="cache")])
    bench.embed(np.random.default_rng(1))
    found = bench.search("retry", np.zeros(8, np.float32))
    assert found.ids == ["mem_a"]
    assert math.isnan(found.cosine[0])


def test_a_zero_vector_is_an_absent_one(open_bench, memory) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory("mem_a", title="retry")])
    bench.embed(np.random.default_rng(1), empty_share=1.0)
    assert bench.search(vector=np.ones(8, np.float32)).ids == []
    assert math.isnan(bench.search("retry", np.ones(8, np.float32)).cosine[0])
    assert bench.index.info().awaiting_vectors == 0


def test_a_query_of_another_dimension_is_refused(open_bench) -> None:
    with pytest.raises(InvalidInput, match="dimensions"):
        open_bench(8).search(vector=np.ones(9, np.float32))


def test_exhausted_says_whether_a_greater_depth_would_bring_more(open_bench, memory) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory(f"mem_{i}", title="retry") for i in range(10)])
    bench.embed(np.random.default_rng(1))
    assert not bench.search("retry", np.ones(8, np.float32), depth=3).exhausted
    assert bench.search("retry", np.ones(8, np.float32), depth=10).exhausted
    assert bench.search("retry", None, depth=11).exhausted


@pytest.mark.parametrize("memory_id", ["mem_é", "日本語", "x" * 200, "nul\0", "\0", "lone\ud800", "a b\n", "é" * 100])
def test_any_id_comes_back_as_it_was(open_bench, memory, memory_id) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory("mem_first", title="other"), memory(memory_id, title="retry")])
    assert bench.search("retry").ids == [memory_id]
    bench.apply(revised=[memory(memory_id, title="cache")])
    assert bench.search("retry").ids == []
    assert bench.search("cache").ids == [memory_id]
    bench.apply(erased=["mem_first"])
    assert bench.search("cache").ids == [memory_id]


def test_rows_that_no_segment_covers_are_found_alike_however_often_they_were_asked_for(
    open_bench, random_memories, words
) -> None:
    bench = open_bench()
    question = " ".join(words[:6])
    for seed in range(1, 4):
        bench.apply(added=random_memories(seed, 120))
        once = open_bench().search(question, None, depth=50)
        assert len(once.ids) == 50
        # Looked through at first, sorted in the end, and partly both after more has been added.
        for _ in range(15):
            found = bench.search(question, None, depth=50)
            assert found.ids == once.ids
            assert found.keyword.tolist() == once.keyword.tolist()
    assert len(bench.index.latest_snapshot()[1].tail._sorted[0])


@pytest.mark.parametrize("text", ["\0", "\ud800 lone", "\u202ertl\u202c", "word " * 30_000, "a" * 1_000_000])
def test_any_text_can_be_indexed_and_asked(open_bench, memory, text) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory("mem_a", title=text, tags=(text[:100],), agent=text[:100]), memory("mem_b", title="x")])
    assert bench.search(text).considered == 2
    assert bench.search(text, tags=(text[:100],), agent=text[:100]).considered == 1


def test_handles_give_vectors_back_and_stale_ones_give_zeros(open_bench, memory) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory("mem_a", title="retry"), memory("mem_b", title="retry"), memory("mem_c", title="retry")])
    bench.embed(np.random.default_rng(1), 2)
    found = bench.search("retry")
    vectors = bench.index.vectors_of(found, range(len(found.ids)))
    for row, memory_id in enumerate(found.ids):
        if memory_id == "mem_c":
            assert not vectors[row].any()
        else:
            expected = bench.oracle.vectors[memory_id]
            assert vectors[row] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-3)
    bench.apply(erased=["mem_a"])
    assert not bench.index.vectors_of(found, range(len(found.ids))).any()


def test_standings_come_back_exactly(open_bench, memory) -> None:
    bench = open_bench(8)
    bench.apply(added=[memory("mem_a", title="retry")])
    standing = Standing(
        initial=0.7,
        created_at=1e9 / 3,
        positive=0.1,
        negative=1e-300,
        value=-2.5,
        used=2**40,
        succeeded=3,
        last_used_at=5.5,
    )
    bench.apply(standings={"mem_a": standing, "mem_unknown": standing})
    assert bench.search("retry").standings == [standing]
