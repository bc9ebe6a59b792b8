"""An estimate is held to its rule, and to the order of magnitude of what models charge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.tokens import count_tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 2),  # 4 / 3.9 = 1.03
        ("a" * 39, 10),
        ("a" * 390, 100),
        ("记忆系统", 4),  # four characters, one token each
        ("кот", 2),  # three halves
        ("naïve", 2),  # 4 / 3.9 + 0.5 = 1.53
        ("🎉", 2),
        ("\ud800", 1),  # half a surrogate pair, as broken JSON brings it
    ],
)
def test_tokens_are_counted_by_the_rule(text: str, expected: int) -> None:
    assert count_tokens(text) == expected


@given(st.text(), st.text())
def test_a_longer_text_never_costs_less_and_joining_never_costs_more(left: str, right: str) -> None:
    assert count_tokens(left) <= count_tokens(left + right) <= count_tokens(left) + count_tokens(right)
