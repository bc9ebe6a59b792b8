"""Words that only make a sentence find nothing, unless a question has no others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.stopwords import STOP_WORDS
from reasoningbank.core.text import terms


@pytest.fixture
def filled(bank: ReasoningBank, everyday: Callable[[int], Sequence[str]]) -> ReasoningBank:
    bank.record_many({"title": text[:-1], "content": text} for text in everyday(40))
    bank.record(title="What you should do when it is there", content="Where would you have been, if it was so?")
    return bank


@pytest.mark.parametrize(
    "question",
    [
        "what should you do when the turbine is there",
        "if it is so, how would you have done that to a turbine",
        "turbines: what's there, and where have they been?",
    ],
)
def test_a_question_that_shares_only_function_words_finds_nothing(filled: ReasoningBank, question: str) -> None:
    assert filled.search(question).abstained
    found = filled.candidates(question)
    assert float(found.keyword.max()) == 0.0


@pytest.mark.parametrize(
    "question", ["what you should do when it is there", "where would you have been", "what should you do"]
)
def test_a_question_of_nothing_but_function_words_is_asked_by_them(filled: ReasoningBank, question: str) -> None:
    assert [hit.title for hit in filled.search(question).memories] == ["What you should do when it is there"]


@pytest.mark.parametrize("apostrophe", ["'", "\u2019"])
def test_a_contraction_is_a_function_word_however_it_is_written(bank: ReasoningBank, apostrophe: str) -> None:
    bank.record(title="Doors", content="They don't, we can't and you shouldn't.")
    question = f"don{apostrophe}t turbines say that they can{apostrophe}t or shouldn{apostrophe}t"
    assert float(bank.candidates(question).keyword.max()) == 0.0
    assert bank.search(question).abstained


def test_negations_and_words_of_order_are_asked_for(bank: ReasoningBank) -> None:
    bank.record(title="Order", content="Never before, not after.")
    assert float(bank.candidates("turbines not before").keyword.max()) > 0.0


def test_every_function_word_is_spelt_as_the_words_of_a_text_are() -> None:
    assert [word for word in STOP_WORDS if terms(word) != [word]] == []
