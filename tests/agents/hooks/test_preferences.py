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


def test_a_preference_of_the_user_is_seen_in_another_repository_and_one_of_the_repository_is_not(desktop) -> None:
    told = desktop.transcript()
    told.says("Please look at the parser. From now on answer me in German.")
    told.runs("cat parser.py", "def parse(): ...")
    told.says("Look at the lexer too. Always use tabs in new files.")
    told.runs("cat lexer.py", "def lex(): ...")
    desktop.hook("SessionEnd")
    desktop.read()
    with desktop.bank("user") as bank:
        assert [memory.content for memory in bank.list()] == ["From now on answer me in German."]
    with desktop.bank() as bank:
        assert [memory.content for memory in bank.list()] == ["Always use tabs in new files."]
    other = desktop.folder / "other"
    (other / ".git").mkdir(parents=True)
    context = desktop.hook("SessionStart", "s2", cwd=str(other)).context
    assert "German" in context
    assert "tabs" not in context
