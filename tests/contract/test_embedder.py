"""What every embedder must do, whatever model it holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from reasoningbank.embed.cache import CachedEmbedder
from reasoningbank.embed.hashing import HashEmbedder
from reasoningbank.embed.minilm import MiniLMEmbedder
from reasoningbank.ports import Embedder

BACKENDS: dict[str, Callable[[], Embedder]] = {
    "hash": HashEmbedder,
    "hash, small": lambda: HashEmbedder(17),
    "local": MiniLMEmbedder,
    "cached": lambda: CachedEmbedder(HashEmbedder(64)),
}
TEXTS = ["retry on 503 with jitter", "שלום עולם", "🎉", "a\0b", "word " * 3_000, "记忆系统", "retry on 503"]


@pytest.fixture(params=BACKENDS, scope="module")
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return BACKENDS[request.param]()


def test_a_row_for_each_text_of_length_one_or_zero(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), embedder.identity.dimension)
    assert rows.dtype == np.float32
    norms = np.linalg.norm(rows, axis=1)
    assert all(norm == pytest.approx(1.0, abs=1e-3) or norm == 0.0 for norm in norms)
    assert embedder.identity.name


def test_a_text_without_tokens_gives_the_zero_row(embedder: Embedder) -> None:
    for text in ("", "   \n"):
        assert not embedder.embed([text]).any()


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.identity.dimension)


def test_a_vector_does_not_depend_on_its_neighbours(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        assert np.allclose(embedder.embed([text])[0], row, atol=0.02)


def test_near_texts_are_nearer_than_far_ones(embedder: Embedder) -> None:
    near, other, far = embedder.embed(["retry the http request", "retry the http call", "penguins eat fish in winter"])
    assert near @ other > near @ far
