"""Rules of the user: as said, at every start, whatever came of the tasks since; the newer one counts."""

from __future__ import annotations

import pytest

from reasoningbank.agents.user_rules import replaces

RULES = (
    "From now on always answer me in German.",
    "Never push to main without asking me",
    "Please use tabs",
    "don't touch the migrations folder",
    "we deploy on Fridays only after CI is green",
)


def say(desktop, *said: str, session: str = "s1") -> None:
    told = desktop.transcript(session)
    for words in said:
        told.says(words)
        told.answers("Understood.")
    desktop.hook("SessionEnd", session)
    desktop.read()


def test_plain_rules_open_every_session_under_what_the_user_said(desktop) -> None:
    say(desktop, *RULES)
    said = desktop.hook("SessionStart", "s2", source="startup")
    lines = said.context.splitlines()
    assert lines[1] == "The user said:"
    assert set(lines[2:7]) == {f"- {rule}" for rule in RULES}
    assert said.json["systemMessage"] == "ReasoningBank: 5 rules of yours recalled"
    assert "confidence" not in said.context


def test_where_nothing_was_said_at_the_start_the_first_prompt_brings_the_rules_once(desktop) -> None:
    say(desktop, "From now on always answer me in German.")
    first = desktop.hook("UserPromptSubmit", "s2", prompt="What is the capital of Norway?")
    assert "The user said:\n- From now on always answer me in German." in first.context
    assert "German" not in desktop.hook("UserPromptSubmit", "s2", prompt="And the capital of Sweden?").context


def test_a_rule_does_not_sink_by_tasks_that_it_had_no_part_in(desktop) -> None:
    say(desktop, "Never push to main without asking me")
    for number in range(4):
        session = f"t{number}"
        desktop.hook("SessionStart", session, source="startup")
        told = desktop.transcript(session)
        told.says(f"Fix bug {number}")
        told.runs("pytest -q", "FAILED tests/test_x.py::test_y\n1 failed", failed=True)
        told.says("No, that is wrong, it still fails")
        desktop.hook("SessionEnd", session)
        desktop.read()
    with desktop.bank("user") as bank:
        (rule,) = bank.list()
        assert [point.signal for point in bank.history(rule.id).points if point.signal is not None] == []
    assert "Never push to main" in desktop.hook("SessionStart", "last", source="startup").context


def test_a_rule_that_has_sunk_in_an_older_bank_is_shown_all_the_same(desktop) -> None:
    with desktop.bank("user") as bank:
        bank.record(title="Answer briefly", content="Answer briefly.", tags=["preference"], initial_confidence=0.2)
    assert "- Answer briefly." in desktop.hook("SessionStart").context


def test_a_rule_is_found_at_the_start_however_much_was_learned_since(desktop) -> None:
    say(desktop, "Please use tabs")
    with desktop.bank() as bank:
        for number in range(70):
            bank.record(title=f"Note {number}", content=f"Something of the day {number}.")
    assert "- Please use tabs" in desktop.hook("SessionStart", "s2").context


def test_the_newer_of_two_rules_that_contradict_each_other_is_shown(desktop) -> None:
    say(desktop, "From now on always answer me in German.")
    say(desktop, "From now on answer me in English, please.", session="s2")
    context = desktop.hook("SessionStart", "s3", source="startup").context
    assert "English" in context
    assert "German" not in context
    say(desktop, "From now on always answer me in German.", session="s4")
    context = desktop.hook("SessionStart", "s5", source="startup").context
    assert "German" in context
    assert "English" not in context


def test_a_rule_from_a_session_in_which_somebody_elses_words_were_shown_is_the_users(desktop) -> None:
    with desktop.bank() as bank:
        bank.record(
            title="Run the parser tests", description="parser tests", content="Use curl first.", origin="tool:web"
        )
        bank.record(title="Run the parser tests", description="parser tests", content="Use uv.")
    desktop.hook("UserPromptSubmit", prompt="Please run the parser tests")
    say(desktop, "Please run the parser tests", "Never commit to main.")
    assert "- Never commit to main." in desktop.hook("SessionStart", "s2", source="startup").context


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("Please answer in English", "Always answer me in German."),
        ("Use spaces, not tabs.", "Please use tabs"),
        ("Keep lines under 100 characters.", "Keep lines under 80 characters."),
        ("Never squash commits.", "Always squash commits."),
        ("You can push to main again.", "Never push to main"),
        ("Use single quotes.", "Use double quotes."),
    ],
)
def test_a_newer_rule_replaces_an_older_one_about_the_same_thing(newer: str, older: str) -> None:
    assert replaces(newer, older)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("Use uv.", "Use pnpm."),
        ("Use tabs in Go files.", "Use tabs in Python files."),
        ("Never push to main", "Never force push"),
        ("Never commit secrets.", "Always commit with a message."),
        ("No emojis, please.", "Answer me in German."),
        ("Never squash commits.", "Never squash commits."),
    ],
)
def test_rules_about_different_things_stand_beside_each_other(newer: str, older: str) -> None:
    assert not replaces(newer, older)
