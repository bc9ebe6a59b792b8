from __future__ import annotations

import pytest

from reasoningbank.core.form import SLOT, are_names, form_of, pieces, without_parameters, word_of


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("How many commits did Ann make on 3/2?", "How many commits did X make on X"),
        ('Search for "red shoes" in the shop', "Search for X in the shop"),
        ("Open /etc/hosts and set MAX_RETRIES to 5", "Open X and set X to X"),
        ("I think I'll fly to New York today. Then we rest.", "I think I'll fly to X today Then we rest"),
    ],
)
def test_names_numbers_paths_and_quotes_are_parameters(text: str, bare: str) -> None:
    assert without_parameters(text) == bare


@pytest.mark.parametrize("text", ["Show the most recent order.", "don't use it's form", "", "   ", "größer als vorher"])
def test_a_text_without_parameters_is_left_alone(text: str) -> None:
    assert without_parameters(text) == text


@pytest.mark.parametrize("text", ["bread_recipe", "ERR_OSSL 4711", "README.md."])
def test_names_alone_are_left_alone_since_all_of_them_would_look_the_same(text: str) -> None:
    assert without_parameters(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ERR_OSSL", True),
        ("webpack.config.js --watch-poll", True),
        ("fetchUser", True),
        ("Continue", False),
        ("don't", False),
        ("what is ERR_OSSL?", False),
        ("", False),
        ("...", False),
    ],
)
def test_what_one_looks_up_by_its_letters_is_told_from_a_question(text: str, expected: bool) -> None:
    assert are_names(text) is expected


def test_a_capital_means_a_name_only_inside_a_sentence() -> None:
    assert word_of("Show", first=True) == "show"
    assert word_of("Show", first=False) == SLOT


def test_words_are_compared_by_their_stems() -> None:
    assert word_of("commits", first=False) == word_of("commit", first=False)


@pytest.mark.parametrize("text", ["\0", "'" * 3_000, '"' * 3_001, "a." * 9_000, "`" + "x" * 9_000])
def test_hostile_text_is_cut_into_pieces_all_the_same(text: str) -> None:
    assert isinstance(pieces(text), list)
    assert isinstance(without_parameters(text), str)


def test_tasks_that_differ_only_in_parameters_have_one_form() -> None:
    assert form_of("How many commits did Ann make on 3/2?") == form_of("how many commits did Bo Lee make on 4/17")
    assert form_of("How many commits did Ann make?") != form_of("How many issues did Ann close?")


@pytest.mark.parametrize("text", ["", "\0", "a." * 9_000, "\ud800 x", "🙂" * 5_000])
def test_any_text_has_a_form(text: str) -> None:
    assert isinstance(form_of(text), str)
