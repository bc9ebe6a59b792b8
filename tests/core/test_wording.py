"""Numbers, headlines and occasions read as a person would write them."""

from __future__ import annotations

import pytest

from reasoningbank.core.wording import counted, headline, occasion


@pytest.mark.parametrize(
    ("title", "outcome", "shown"),
    [
        ("Avoid N+1 queries", "failure", "AVOID: N+1 queries"),
        ("avoid: N+1 queries", "failure", "AVOID: N+1 queries"),
        ("Never retry a payment", "failure", "AVOID: retry a payment"),
        ("Don't mock the clock", "failure", "AVOID: mock the clock"),
        ("Avoidance of locks", "failure", "AVOID: Avoidance of locks"),
        ("Avoid", "failure", "AVOID: Avoid"),
        ("A retried payment pays twice", "failure", "AVOID: A retried payment pays twice"),
        ("Avoid N+1 queries", "success", "Avoid N+1 queries"),
    ],
)
def test_a_headline_says_avoid_once(title: str, outcome: str, shown: str) -> None:
    assert headline(title, outcome) == shown


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("When a page gets slow", "a page gets slow"),
        ("when: a page gets slow", "a page gets slow"),
        ("Whenever a page gets slow", "a page gets slow"),
        ("Avoid when the table is small", "the table is small"),
        ("If a page gets slow", "If a page gets slow"),
        ("Whence it came", "Whence it came"),
        ("when", "when"),
    ],
)
def test_an_occasion_stands_behind_the_word_when(description: str, shown: str) -> None:
    assert occasion(description) == shown


def test_a_number_agrees_with_its_noun() -> None:
    assert [counted(n, "memory", "memories") for n in (0, 1, 1_000)] == ["0 memories", "1 memory", "1,000 memories"]
    assert [counted(n, "step") for n in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]
