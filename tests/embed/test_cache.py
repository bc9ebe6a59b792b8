"""The cache answers what it has, asks once for what it has not, forgets in time and stays within its room."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from reasoningbank.core.errors import InvalidInput
from reasoningbank.embed.cache import CachedEmbedder
from reasoningbank.embed.hashing import HashEmbedder


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Counted(HashEmbedder):
    """The real hash embedder, which also writes down what it was asked."""

    def __init__(self) -> None:
        super().__init__(64)
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        return super().embed(texts)


def test_vectors_are_those_of_the_inner_embedder_in_order() -> None:
    cached = CachedEmbedder(Counted(), clock=Clock())
    texts = ["one two", "three", "", "one two"]
    cached.embed(["three"])
    np.testing.assert_array_equal(cached.embed(texts), HashEmbedder(64).embed(texts))


def test_only_the_misses_are_asked_for_in_one_call_and_once_each() -> None:
    inner = Counted()
    cached = CachedEmbedder(inner, clock=Clock())
    cached.embed(["a", "b"])
    cached.embed(["c", "a", "d", "c", "b"])
    cached.embed(["a", "b", "c", "d"])
    assert inner.asked == [["a", "b"], ["c", "d"]]


def test_a_vector_is_forgotten_when_its_lifetime_ends() -> None:
    inner, clock = Counted(), Clock()
    cached = CachedEmbedder(inner, lifetime_s=60.0, clock=clock)
    cached.embed(["a"])
    clock.now = 59.9
    cached.embed(["a"])
    assert len(inner.asked) == 1
    clock.now = 60.0
    cached.embed(["a"])
    assert len(inner.asked) == 2


def test_the_least_recently_used_goes_first() -> None:
    inner = Counted()
    cached = CachedEmbedder(inner, capacity=2, clock=Clock())
    cached.embed(["a"])
    cached.embed(["b"])
    cached.embed(["a"])
    cached.embed(["c"])
    inner.asked.clear()
    cached.embed(["a", "b", "c"])
    assert inner.asked == [["b"]]


def test_a_batch_larger_than_the_cache_is_answered_whole() -> None:
    inner = Counted()
    cached = CachedEmbedder(inner, capacity=3, clock=Clock())
    texts = [f"text {number}" for number in range(10)]
    np.testing.assert_array_equal(cached.embed(texts), HashEmbedder(64).embed(texts))
    inner.asked.clear()
    cached.embed(texts[-3:])
    assert inner.asked == []


def test_bulk_work_passes_by_and_pushes_no_query_out() -> None:
    inner = Counted()
    cached = CachedEmbedder(inner, capacity=2, clock=Clock())
    cached.embed(["a query"])
    texts = [f"document {number} " + "word " * 500 for number in range(10)]
    np.testing.assert_array_equal(cached.embed(texts), HashEmbedder(64).embed(texts))
    inner.asked.clear()
    cached.embed(["a query"])
    assert inner.asked == []


def test_a_caller_cannot_spoil_what_is_kept() -> None:
    cached = CachedEmbedder(Counted(), clock=Clock())
    for _ in range(3):
        cached.embed(["a b"])[:] = 7.0
    np.testing.assert_array_equal(cached.embed(["a b"]), HashEmbedder(64).embed(["a b"]))


def test_the_port_passes_through() -> None:
    inner = Counted()
    cached = CachedEmbedder(inner)
    assert (cached.identity, cached.costly) == (inner.identity, inner.costly)
    assert cached.embed([]).shape == (0, 64)
    assert inner.asked == []


def test_room_for_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        CachedEmbedder(HashEmbedder(), capacity=0)


def test_threads_get_right_answers() -> None:
    cached = CachedEmbedder(HashEmbedder(64), capacity=8, clock=Clock())
    expected = {f"word {number}": HashEmbedder(64).embed([f"word {number}"])[0] for number in range(20)}
    wrong: list[str] = []

    def ask(offset: int) -> None:
        for turn in range(200):
            text = f"word {(turn * 7 + offset) % 20}"
            if not np.array_equal(cached.embed([text])[0], expected[text]):
                wrong.append(text)

    threads = [threading.Thread(target=ask, args=(offset,)) for offset in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert wrong == []
