"""What an edit may change while the evidence goes on counting, as a table of edits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasoningbank.core.advice import is_same_advice
from reasoningbank.core.drafts import memory_from
from reasoningbank.core.types import Draft, Memory


def saying(content: str, **others: Any) -> Memory:
    draft = Draft(**{"title": "t", "content": content, **others})
    return memory_from(draft, memory_id="mem_1", tenant="local", namespace="n", initial_confidence=0.8, now=1.0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Use MD5 for passwords.", "use MD5 for passwords"),
        ("You recieve a token.", "You receive a token."),
        ("It is neccesary to lock.", "It is necessary to lock."),
        ("Use seperate tables.", "Use separate tables."),
        ("Hash the passwords", "Hash the pasword"),
        ("Wrap the errors with context", "Wrapping errors with the context"),
        ("You should always run the tests", "Always run tests, please"),
        ("- Run tests\n- Push", "1. Run tests\n2. Push."),
        ("`git push`, then *wait*", "git push then wait"),
        ("Use the data base pool", "Use the database pool"),
        ("re-run the job", "rerun the job"),
        ("Don\u2019t push to main", "Do not push to main"),
        ("Retry with backoff.", "Retry with backoff. Log each attempt."),
        ("Retry with backoff and jitter. Log attempts.", "Retry with backoff and jitter."),
    ],
)
def test_these_edits_leave_the_advice_as_it_was(before: str, after: str) -> None:
    assert is_same_advice(saying(before), saying(after))
    assert is_same_advice(saying(after), saying(before))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Use MD5 for passwords", "Use argon2id for passwords"),
        ("Use Redis", "Use Memcached"),
        ("Use tabs", "Use spaces"),
        ("use tabs here", "use tags here"),
        ("Retry 3 times", "Retry 5 times"),
        ("Set the timeout to 30s", "Set the timeout to 60s"),
        ("Use bcrypt", "Use bcrypt with 12 rounds"),
        ("push --force", "push --force-with-lease"),
        ("Call fooBar", "Call fooBaz"),
        ("Use JWT", "Use JVT"),
        ("x == y", "x != y"),
        ("Deploy on Friday", "Do not deploy on Friday"),
        ("Never log tokens", "Log tokens"),
        ("Use MD5.", "Use MD5. Never for passwords."),
        ("Include the header", "Exclude the header"),
        ("Enable sync mode", "Enable async mode"),
        ("Sort ascending", "Sort descending"),
        ("Commit before pulling", "Commit after pulling"),
        ("Use tabs and spaces", "Use tabs"),
        ("Prefer tabs over spaces", "Prefer spaces over tabs"),
        ("Use tabs.", "Use tabs. " + "Set up the editor of everybody so that it knows. " * 3),
        ("\u8bf7\u4f7f\u7528\u7f13\u5b58\u5427", "\u8bf7\u7981\u7528\u7f13\u5b58\u5427"),
    ],
)
def test_these_edits_make_other_advice(before: str, after: str) -> None:
    assert not is_same_advice(saying(before), saying(after))
    assert not is_same_advice(saying(after), saying(before))


def test_to_follow_and_to_avoid_are_two_advices() -> None:
    assert not is_same_advice(saying("Use MD5."), saying("Use MD5.", outcome="failure"))


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("Hash with MD5", "Password hashing", True),
        ("Fix CI", "Fix CI on Python 3.12", True),
        ("Hash with MD5", "Hash with argon2id", False),
        ("Deploy on Friday", "Never deploy on Friday", False),
    ],
)
def test_a_title_or_a_description_may_be_polished_but_not_exchange_a_name(before: str, after: str, same: bool) -> None:
    content = "Look it up."
    assert is_same_advice(saying(content, title=before), saying(content, title=after)) is same
    assert is_same_advice(saying(content, description=before), saying(content, description=after)) is same


def test_tags_scope_and_the_rest_say_nothing_about_the_advice() -> None:
    assert is_same_advice(saying("Use MD5."), saying("Use MD5.", tags=("x",), scope="team", agent="a", key="k"))


@given(st.text(min_size=1, max_size=200).filter(str.strip))
def test_a_text_is_the_same_advice_as_itself_however_it_is_spaced(text: str) -> None:
    assert is_same_advice(saying(text), saying(text))
    assert is_same_advice(saying(text), saying(f"  {text}\n"))


def test_a_long_text_that_is_another_one_is_told_at_once() -> None:
    one, other = (" ".join(f"{word}{number}" for number in range(20_000)) for word in ("a", "b"))
    assert not is_same_advice(saying(one), saying(other))
