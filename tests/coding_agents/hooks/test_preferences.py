"""What a user wants everywhere is kept where every repository finds it; what a repository wants stays there."""

from __future__ import annotations

import pytest

from reasoningbank.learn.offline.user_sentences import is_about_the_user


@pytest.mark.parametrize(
    "wish",
    [
        "Always answer in German.",
        "From now on be brief.",
        "Never apologize.",
        "From now on call me Kim.",
        "Always ask me before you commit.",
        "From now on I want short commit messages.",
    ],
)
def test_how_to_work_with_a_person_is_theirs(wish) -> None:
    assert is_about_the_user(wish)


@pytest.mark.parametrize(
    "wish",
    [
        "Always use tabs.",
        "We never commit to main.",
        "Always run `make lint` before you answer.",
        "In this repository, always explain changes in CHANGES.md.",
        "Never edit src/generated.",
        "Always tell me when tests/slow fails.",
    ],
)
def test_how_to_work_on_a_thing_is_not(wish) -> None:
    assert not is_about_the_user(wish)
