"""The hash embedder gives the vectors of the JavaScript it follows, for any text and any dimension."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from reasoningbank.core.errors import InvalidInput
from reasoningbank.embed.hashing import HashEmbedder

FROM_NODE = json.loads((Path(__file__).parent / "hash_vectors_from_node.json").read_bytes())
JS_SPACES = set("\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff") | set(map(chr, range(0x2000, 0x200B)))
JS_WORD = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")

CHARACTERS = st.characters(codec=None) | st.sampled_from("ab_ \t\u00a0\u0085\u001c\u0130\u212a")


def simple_hash(text: str, seed: int) -> int:
    value = seed
    for char in text:
        value = (value * 31 + ord(char)) & 0xFFFFFFFF
    return abs(value - (1 << 32) if value >= 1 << 31 else value)


def by_hand(text: str, dimension: int) -> NDArray[np.float32]:
    """The document's generateHashEmbedding, statement for statement."""
    kept = "".join(char for char in text.lower() if char in JS_WORD or char in JS_SPACES)
    words = "".join(" " if char in JS_SPACES else char for char in kept).split()
    ngrams = list(words)
    ngrams += [f"{a}_{b}" for a, b in pairwise(words)]
    ngrams += [f"{a}_{b}_{c}" for a, b, c in zip(words, words[1:], words[2:], strict=False)]
    row = [0.0] * dimension
    for ngram in ngrams:
        for seed, weight in ((1, 1.0), (2, 0.5), (3, 0.25)):
            row[simple_hash(ngram, seed) % dimension] += weight
    norm = math.sqrt(sum(value * value for value in row)) or 1.0
    return np.array([value / norm for value in row], dtype=np.float32)


@pytest.mark.parametrize("case", FROM_NODE, ids=[f"{case['dimension']}-{case['text']!a}" for case in FROM_NODE])
def test_equals_what_node_printed_for_the_documents_code(case: dict[str, object]) -> None:
    dimension = int(str(case["dimension"]))
    expected = np.zeros(dimension, dtype=np.float32)
    for place, value in dict(case["buckets"]).items():  # type: ignore[call-overload]
        expected[int(place)] = value
    np.testing.assert_array_equal(HashEmbedder(dimension).embed([str(case["text"])])[0], expected)


@pytest.mark.parametrize("dimension", [1, 2, 7, 384, 1000, 1024, 1536])
def test_equals_the_scalar_transcription_in_every_dimension(dimension: int) -> None:
    texts = ["Use bcrypt for password hashing", "one", "one two", "", "A_b  a-b\tc.", "word " * 400]
    got = HashEmbedder(dimension).embed(texts)
    np.testing.assert_array_equal(got, np.stack([by_hand(text, dimension) for text in texts]))


@settings(max_examples=300, deadline=None)
@given(
    texts=st.lists(st.text(CHARACTERS, max_size=60), max_size=8),
    dimension=st.sampled_from([1, 5, 64, 1024]),
)
def test_any_unicode_equals_the_scalar_transcription(texts: list[str], dimension: int) -> None:
    got = HashEmbedder(dimension).embed(texts)
    assert got.shape == (len(texts), dimension)
    assert got.dtype == np.float32
    for row, text in zip(got, texts, strict=True):
        np.testing.assert_array_equal(row, by_hand(text, dimension))


@pytest.mark.parametrize("text", ["", "   ", "!?…—", "\n\t", "é", "日本語", "\u001c\u0085"])
def test_a_text_without_words_is_the_zero_row(text: str) -> None:
    rows = HashEmbedder().embed(["words here", text])
    assert not rows[1].any()
    assert np.linalg.norm(rows[0]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "text", ["lone \ud800 surrogate \udfff", "nul \x00 byte", "\u202eright to left שלום abc", "🎉 x 🎉"]
)
def test_odd_characters_do_not_raise(text: str) -> None:
    np.testing.assert_array_equal(HashEmbedder().embed([text])[0], by_hand(text, 1024))


def test_a_text_longer_than_a_chunk_equals_the_transcription() -> None:
    text = " ".join(f"w{number % 977}" for number in range(60_000))
    rows = HashEmbedder().embed(["before", text, "after"])
    np.testing.assert_array_equal(rows[1], by_hand(text, 1024))
    np.testing.assert_array_equal(rows[2], by_hand("after", 1024))


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    texts = [f"memory {number} about topic {number % 13} {'x' * (number % 50)}" for number in range(1500)]
    embedder = HashEmbedder()
    together = embedder.embed(texts)
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    np.testing.assert_array_equal(together, alone)


def test_no_texts_give_no_rows() -> None:
    assert HashEmbedder(16).embed([]).shape == (0, 16)


def test_a_dimension_below_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        HashEmbedder(0)


def test_identity_names_the_dimension() -> None:
    assert str(HashEmbedder(1536).identity) == "hash/ngram-1-2-3/1536/1"
    assert not HashEmbedder().costly


def test_importing_it_loads_no_other_backend() -> None:
    heavy = "{'onnxruntime', 'openai', 'reasoningbank.embed.minilm'}"
    code = f"import sys, reasoningbank.embed.hashing; print({heavy} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
