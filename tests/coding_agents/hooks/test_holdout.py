"""What hooks withhold, now and then, so that the worth of a memory can be known: by the rule of every other search."""

from __future__ import annotations

import pytest

from reasoningbank.core.types import Exposure

PROMPT = "Please run the unit tests of the parser"
SESSIONS = [f"session-{number}" for number in range(24)]


@pytest.fixture
def taught(desktop):
    with desktop.bank() as bank:
        lesson = bank.record(title="Parser tests", description="run the parser tests", content="Use uv run pytest.").id
    return desktop, lesson


def exposures(desktop) -> list[Exposure]:
    with desktop.bank() as bank, bank.context.store.read(bank.tenant) as reader:
        return reader.side_records(Exposure)


def worked(desktop, session: str) -> None:
    told = desktop.transcript(session)
    told.says(PROMPT)
    told.runs("uv run pytest tests/parser", "12 passed")
    desktop.hook("SessionEnd", session)


def test_hooks_withhold_nothing_unless_they_are_told_to(taught) -> None:
    desktop, _ = taught
    assert all(desktop.hook("UserPromptSubmit", session, prompt=PROMPT).context for session in SESSIONS)


def test_some_sessions_do_without_a_memory_and_the_log_says_which(taught, monkeypatch) -> None:
    desktop, lesson = taught
    monkeypatch.setenv("REASONINGBANK_HOLDOUT", "0.5")
    had = {session for session in SESSIONS if desktop.hook("UserPromptSubmit", session, prompt=PROMPT).context}
    assert 0 < len(had) < len(SESSIONS)
    for session in SESSIONS:
        worked(desktop, session)
    for _ in range(2):
        desktop.read()
    lines = [line for line in exposures(desktop) if line.memory_id == lesson]
    assert len(lines) == len(SESSIONS)
    assert sum(not line.withheld for line in lines) == len(had)
    assert {line.holdout for line in lines} == {0.5}
    with desktop.bank() as bank:
        assert bank.get(lesson).shown == len(had)


def test_what_a_session_does_without_it_does_without_to_its_end(taught, monkeypatch) -> None:
    desktop, _ = taught
    monkeypatch.setenv("REASONINGBANK_HOLDOUT", "0.5")
    without = next(s for s in SESSIONS if not desktop.hook("UserPromptSubmit", s, prompt=PROMPT).context)
    monkeypatch.delenv("REASONINGBANK_HOLDOUT")
    assert not desktop.hook("UserPromptSubmit", without, prompt=PROMPT).context


def test_what_the_user_asked_for_is_never_withheld(desktop, monkeypatch) -> None:
    monkeypatch.setenv("REASONINGBANK_HOLDOUT", "0.5")
    desktop.types("Always answer in German.", "s0")
    assert all("German" in desktop.hook("SessionStart", session, source="startup").context for session in SESSIONS)
