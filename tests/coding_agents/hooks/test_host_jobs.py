"""Where a bank leaves distilling to the coding agent, the agent is asked for it: once, in words that it can act on."""

from __future__ import annotations

import pytest


@pytest.fixture
def hosted(desktop, monkeypatch):
    monkeypatch.setenv("REASONINGBANK_DISTILLER", "host")
    return desktop


def finish_sessions(desktop, count: int) -> None:
    with desktop.bank() as bank:
        for number in range(count):
            session = bank.start_session(f"build part {number}")
            bank.add_step(session.id, "make", "error: missing header")
            bank.end_session(session.id, "success")


def test_the_agent_is_asked_at_the_start_of_its_next_session_and_not_again(hosted):
    finish_sessions(hosted, 2)
    said = hosted.hook("SessionStart", "a").context
    assert "2 finished sessions wait for you to distil" in said
    assert "action next_job" in said
    assert said.startswith("<reasoningbank>")
    assert hosted.hook("SessionStart", "b").context == ""
    finish_sessions(hosted, 1)
    assert "1 finished session waits for you" in hosted.hook("SessionStart", "c").context


def test_nobody_else_is_asked(desktop):
    finish_sessions(desktop, 2)
    assert desktop.hook("SessionStart", "a").context == ""


def test_an_agent_that_does_not_read_what_is_said_at_a_start_is_not_asked(hosted):
    finish_sessions(hosted, 1)
    hosted.hook("SessionStart", "a", agent="cline")
    assert "1 finished session waits" in hosted.hook("SessionStart", "b").context


def test_what_the_user_said_for_good_is_kept_although_nobody_has_distilled_the_session_yet(hosted):
    told = hosted.transcript()
    hosted.types("Always use tabs in new files.")
    told.says("Always use tabs in new files.")
    told.runs("cat lexer.py", "def lex(): ...")
    hosted.hook("SessionEnd")
    hosted.read()
    with hosted.bank() as bank:
        assert [rule.text for rule in bank.rules.in_force()] == ["Always use tabs in new files."]
        assert bank.list() == []
        assert set(bank.jobs.tally()) == {"waiting"}
