"""Hooks that still name a bank which `migrate` has moved: the user is told, and no session is lost."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.cli.main import main
from reasoningbank.config import locate
from reasoningbank.core.errors import BankError
from reasoningbank.wiring.migrating import migrate_bank
from reasoningbank_coding_agents.capture_queue import waiting
from tests.coding_agents.hooks.test_capture import failing_then_mended

PROMPT = "Please run the parser tests"


@pytest.fixture
def moved(desktop) -> Path:
    with desktop.bank() as bank:
        bank.record(title="Run the parser tests with uv", description="parser tests", content="Use uv run pytest.")
    new = desktop.folder / "new place.db"
    migrate_bank(locate(desktop.bank_path), locate(new))
    return new


def test_the_user_hears_at_the_start_of_a_session_where_the_bank_is_and_how_to_name_it(desktop, moved) -> None:
    said = desktop.hook("SessionStart", source="startup").json["systemMessage"]
    assert f"was moved to {moved}" in said
    assert f"`reasoningbank --bank {shlex.quote(str(moved))} install claude-code`" in said
    assert "was moved" not in desktop.hook("UserPromptSubmit", prompt=PROMPT).out
    assert "was moved" in desktop.hook("SessionStart", "s2", source="startup").out


def test_a_bank_that_is_moved_during_a_session_is_told_of_at_its_next_prompt_once(desktop, moved) -> None:
    first = desktop.hook("UserPromptSubmit", prompt=PROMPT)
    assert f"was moved to {moved}" in first.json["systemMessage"]
    assert "was moved" not in desktop.hook("UserPromptSubmit", prompt=PROMPT + " again").out


@pytest.mark.parametrize("agent", ["cursor", "copilot-cli"])
def test_an_agent_that_shows_no_notices_is_asked_to_tell_the_user(desktop, moved, agent) -> None:
    said = desktop.hook("sessionStart", agent=agent, source="startup", conversation_id="c1", sessionId="c1")
    assert "Tell the user" in said.out
    assert moved.name in said.out


def test_a_session_that_ends_is_kept_where_the_bank_is_now(desktop, moved) -> None:
    failing_then_mended(desktop)
    desktop.spawn("Stop", stop_hook_active=False)
    desktop.settle()
    with ReasoningBank.open(moved, namespace="example.com/acme/app") as bank:
        assert [session.task for session in bank.sessions()] == ["Please run the unit tests of the parser"]


def test_a_session_waits_while_the_new_place_is_out_of_reach_and_doctor_says_so(desktop, moved, capsys) -> None:
    failing_then_mended(desktop)
    away = moved.with_name("away.db")
    moved.rename(away)
    desktop.hook("Stop", stop_hook_active=False)
    with pytest.raises(BankError):
        desktop.read()
    assert waiting(desktop.place) == 1
    main(["--bank", str(desktop.bank_path), "doctor"])
    told = " ".join(capsys.readouterr().out.split())
    assert f"1 session waits here to be read into {moved}" in told
    away.rename(moved)
    desktop.read()
    assert waiting(desktop.place) == 0
    with ReasoningBank.open(moved, namespace="example.com/acme/app") as bank:
        assert len(bank.sessions()) == 1
