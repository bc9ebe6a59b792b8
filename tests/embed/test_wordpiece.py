"""The tokenizer gives the ids of the reference: HuggingFace `tokenizers` 0.23.3, model's own file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.embed.minilm import MODEL_FOLDER
from reasoningbank.embed.wordpiece import WordPiece, read_vocabulary

REFERENCE = json.loads((Path(__file__).parent / "wordpiece_reference.json").read_bytes())
VOCABULARY = read_vocabulary(MODEL_FOLDER / "vocab.txt")
BEGIN, END, UNKNOWN = VOCABULARY["[CLS]"], VOCABULARY["[SEP]"], VOCABULARY["[UNK]"]


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    return WordPiece(VOCABULARY)


def test_the_vocabulary_is_whole() -> None:
    assert len(VOCABULARY) == 30_522
    assert (BEGIN, END, UNKNOWN) == (101, 102, 100)


@pytest.mark.parametrize(("text", "ids"), REFERENCE, ids=[f"{text[:24]!a}" for text, _ in REFERENCE])
def test_ids_equal_the_reference(tokenizer: WordPiece, text: str, ids: list[int]) -> None:
    assert tokenizer.encode(text) == ids
    assert tokenizer.encode(text) == ids, "the second time the pieces are remembered"


def test_a_long_text_is_cut_and_still_closed(tokenizer: WordPiece) -> None:
    ids = tokenizer.encode("memory " * 10_000, limit=16)
    assert ids == [BEGIN, *[VOCABULARY["memory"]] * 14, END]


def test_a_piece_that_overshoots_the_limit_is_cut_inside(tokenizer: WordPiece) -> None:
    ids = tokenizer.encode("a.b.c.d.e.f", limit=5)
    assert ids == [BEGIN, VOCABULARY["a"], VOCABULARY["."], VOCABULARY["b"], END]


def test_megabytes_without_a_space_are_one_bounded_piece(tokenizer: WordPiece) -> None:
    assert tokenizer.encode("x" * 5_000_000) == [BEGIN, UNKNOWN, END]
    assert len(tokenizer.encode("中" * 1_000_000)) == 256


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_gives_framed_ids_of_the_vocabulary(text: str) -> None:
    ids = WordPiece(VOCABULARY).encode(text, limit=64)
    assert ids[0] == BEGIN
    assert ids[-1] == END
    assert len(ids) <= 64
    assert all(0 <= number < len(VOCABULARY) for number in ids)
