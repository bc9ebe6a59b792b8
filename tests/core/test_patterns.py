"""A pattern that is compiled when it is first used is otherwise what `re.compile` gives."""

from __future__ import annotations

import re

import pytest

from reasoningbank.core.patterns import pattern


def test_it_finds_what_a_compiled_one_finds() -> None:
    late, early = pattern(r"(?P<word>[a-z]+)", re.IGNORECASE), re.compile(r"(?P<word>[a-z]+)", re.IGNORECASE)
    text = "One two 3"
    assert late.findall(text) == early.findall(text) == late.findall(text)
    assert late.sub("x", text) == early.sub("x", text)
    assert late.groupindex == early.groupindex
    assert (late.pattern, late.flags & re.IGNORECASE) == (early.pattern, re.IGNORECASE)


def test_a_mistake_shows_when_it_is_used() -> None:
    late = pattern("(")
    with pytest.raises(re.error):
        late.match("x")
