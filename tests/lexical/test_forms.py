from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.text import LONGEST_TERM
from reasoningbank.lexical import forms
from reasoningbank.lexical.forms import WORDS, likeness, pack

words = st.lists(st.sampled_from(["show", "the", "order", "of", "Ann", "3", "list", "."]), max_size=40).map(" ".join)


def alike(query: str, title: str, description: str = "") -> float:
    return float(likeness(query, pack([(title, description)]))[0][0])


def common(one: list[str], other: list[str]) -> int:
    row = [0] * (len(other) + 1)
    for word in one:
        before, row = row, [0]
        for i, against in enumerate(other):
            row.append(before[i] + 1 if word == against else max(before[i + 1], row[i]))
    return row[-1]


def plainly(text: str) -> list[str]:
    """The form of a text of the words above, worked out the slow way."""
    found: list[str] = []
    first = True
    for word in text.split():
        if word == ".":
            first = True
            continue
        slot = word == "3" or (word == "Ann" and not first)
        first = False
        if not (slot and found and found[-1] == "?"):
            found.append("?" if slot else word.lower())
    return found[:WORDS]


@given(words, words, words)
def test_likeness_is_the_longest_common_subsequence_over_both_lengths(query: str, title: str, description: str) -> None:
    asked = plainly(query)
    expected = max(
        2 * common(asked, text) * bool(set(asked) & set(text) - {"?"}) / (len(asked) + max(1, len(text)))
        if asked
        else 0.0
        for text in (plainly(title), plainly(description))
    )
    assert alike(query, title, description) == pytest.approx(expected, abs=1e-6)


def test_a_task_of_the_same_form_is_alike_whatever_its_parameters() -> None:
    assert alike("How many commits did Ann make on 3/2?", "How many commits did Bo Li make on 5/6/2023?") == 1.0
    assert alike("How many commits did Ann make?", "Draw a map of the office") < 0.3


def test_texts_with_nothing_in_common_but_parameters_are_not_alike() -> None:
    assert alike("ERR_OSSL", "bread_recipe") == 0.0
    assert alike("restart server_7", "bread_recipe") == 0.0
    assert alike("restart server_7", "restart db_host") == 1.0


def test_both_texts_must_have_parameters_to_count_as_parametric() -> None:
    rows = pack([("Mail it to Ann", ""), ("Mail it to them", ""), ("", "Mail it to Bo")])
    assert likeness("Mail it to Cy", rows)[1].tolist() == [True, False, True]
    assert likeness("Mail it to us", rows)[1].tolist() == [False, False, False]


def test_nothing_is_alike_to_nothing() -> None:
    assert alike("", "") == 0.0
    assert alike("...", "?!") == 0.0
    assert len(likeness("anything", pack([]))[0]) == 0


def test_endless_words_are_known_by_their_beginning_and_take_no_room() -> None:
    before = len(forms._codes_by_piece)
    for number in range(50):
        pack([("z" * 10_000 + str(number), "")])
    assert len(forms._codes_by_piece) <= before + 1
    assert all(len(piece) <= LONGEST_TERM for piece in forms._codes_by_piece)
