from __future__ import annotations

import pytest

from reasoningbank.core.template import SLOT, form_of, pieces, word_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How many commits did Ann make on 3/2?", "How many commits did Bo make on 4/7?"),
        ('Search for "red shoes" in the shop', "Search for `blue hats` in the shop"),
        ("Open /etc/hosts and set MAX_RETRIES to 5", "Open src/main.py and set LIMIT to 12"),
        ("I think I'll fly to New York today. Then we rest.", "I think I'll fly to Berlin today. Then we rest."),
    ],
)
def test_names_numbers_paths_and_quotes_are_parameters(one: str, other: str) -> None:
    assert form_of(one) == form_of(other)


def test_other_words_are_another_form() -> None:
    assert form_of("Show the most recent order.") != form_of("Show the most expensive order.")


def test_a_capital_means_a_name_only_inside_a_sentence() -> None:
    assert word_of("Show", first=True) == "show"
    assert word_of("Show", first=False) == SLOT


def test_words_are_compared_by_their_stems() -> None:
    assert word_of("commits", first=False) == word_of("commit", first=False)


@pytest.mark.parametrize("text", ["\0", "'" * 3_000, '"' * 3_001, "a." * 9_000, "`" + "x" * 9_000])
def test_hostile_text_is_cut_into_pieces_all_the_same(text: str) -> None:
    assert isinstance(pieces(text), list)
    assert isinstance(form_of(text), str)


def test_tasks_that_differ_only_in_parameters_have_one_form() -> None:
    assert form_of("How many commits did Ann make on 3/2?") == form_of("how many commits did Bo Lee make on 4/17")
    assert form_of("How many commits did Ann make?") != form_of("How many issues did Ann close?")


@pytest.mark.parametrize("text", ["", "\0", "a." * 9_000, "\ud800 x", "🙂" * 5_000])
def test_any_text_has_a_form(text: str) -> None:
    assert isinstance(form_of(text), str)
