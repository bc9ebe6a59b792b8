"""What is known to fail is said where it still helps: at the start of a session, and by holding the call back once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from reasoningbank.agents.hosts import host_named
from reasoningbank.agents.policy import WARN, HookPolicy
from reasoningbank.agents.refusal import way_of
from reasoningbank.core.settings import WAYS_TO_WARN
from reasoningbank.core.tokens import count_tokens
from reasoningbank.learn.ingest.text import own_words_out

FAILS, WORKS = "python run_tests.py", "python run_tests.py --db sqlite"


def bash(command: str, **more: str) -> dict[str, object]:
    return {"tool_name": "Bash", "tool_input": {"command": command, **more}, "tool_use_id": "toolu_9"}


@pytest.fixture
def taught(desktop):
    told = desktop.transcript()
    told.says("Please run the test suite")
    told.runs(FAILS, "run_tests.py: error: ConfigError: DATABASE_URL is not set", failed=True)
    told.runs(WORKS, "===== 12 passed in 0.31s =====")
    desktop.hook("SessionEnd")
    desktop.read()
    return desktop


def test_a_session_starts_with_the_lesson_in_one_line(taught) -> None:
    said = taught.hook("SessionStart", "s2", source="startup")
    (line,) = [line for line in said.context.splitlines() if "sqlite" in line]
    assert "run_tests.py: error: ConfigError" in line
    assert "worked once" in line
    assert "[DO]" not in said.context
    assert count_tokens(line) <= 50
    assert said.json["systemMessage"] == "ReasoningBank: 1 lesson recalled"


def test_a_call_that_is_known_to_fail_is_held_back_once_with_the_lesson_as_its_reason(taught) -> None:
    taught.hook("SessionStart", "s2", source="startup")
    first = taught.hook("PreToolUse", "s2", **bash(FAILS))
    assert first.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "add --db sqlite" in first.refusal
    assert "run it again to go ahead" in first.refusal
    assert own_words_out(first.refusal) == "", "a reader of the transcript knows whose words they are"
    assert taught.hook("PreToolUse", "s2", **bash(FAILS)).out == ""
    assert taught.hook("PreToolUse", "s3", **bash(FAILS)).refusal, "another session is told too"


@pytest.mark.parametrize("command", [WORKS, "ls", "git status", "python other.py"])
def test_any_other_call_goes_on(taught, command: str) -> None:
    assert taught.hook("PreToolUse", "s2", **bash(command)).out == ""


def test_of_two_hooks_at_once_one_holds_the_call_back(taught) -> None:
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda _: taught.spawn("PreToolUse", "s2", **bash(FAILS)).refusal, range(2)))
    assert sum(map(bool, said)) == 1


def test_a_log_that_nobody_can_write_lets_the_call_go_on(taught) -> None:
    log = taught.place.session_log("claude-code", "s2")
    log.mkdir(parents=True)
    said = taught.hook_raw(json.dumps(taught.payload("PreToolUse", "s2", **bash(FAILS))).encode())
    assert said.code == 0
    assert "permissionDecision" not in said.out


@pytest.mark.parametrize(
    ("warn", "decision", "advised"),
    [("deny-once", "deny", False), ("ask", "ask", False), ("after", None, True), ("off", None, False)],
)
def test_how_to_warn_is_a_setting(taught, warn: str, decision: str | None, advised: bool) -> None:
    taught.environment["REASONINGBANK_HOOKS"] = f"deadline_ms=50000,warn={warn}"
    said = taught.hook("PreToolUse", "s2", **bash(FAILS))
    told = said.json["hookSpecificOutput"] if said.out else {}
    assert told.get("permissionDecision") == decision
    assert bool(said.context) is advised


def test_the_setting_is_one_of_the_configuration(taught) -> None:
    (taught.home / "config.toml").write_text('[hooks]\nwarn = "after"\n')
    said = taught.spawn("PreToolUse", "s2", **bash(FAILS))
    assert "sqlite" in said.context
    assert said.refusal == ""
    assert WARN == WAYS_TO_WARN
    assert HookPolicy().warn == WAYS_TO_WARN[0]


@pytest.mark.parametrize(
    ("agent", "warn", "way"),
    [
        ("claude-code", "deny-once", "deny-once"),
        ("claude-code", "ask", "ask"),
        ("codex", "deny-once", "deny-once"),
        ("codex", "ask", "deny-once"),
        ("codex", "off", "off"),
    ],
)
def test_each_agent_is_warned_in_the_way_that_it_can_be(agent: str, warn: str, way: str) -> None:
    assert way_of(warn, host_named(agent)) == way


def test_what_an_agent_noted_and_nobody_has_tried_does_not_stop_a_call(desktop) -> None:
    with desktop.bank() as bank:
        bank.record(
            title="`make deploy` fails", content="Use `make ship`.", outcome="failure", origin="agent", description="x"
        )
    desktop.hook("SessionStart", "s0")
    desktop.read()
    said = desktop.hook("PreToolUse", "s1", **bash("make deploy"))
    assert said.refusal == ""
    assert "make ship" in said.context


def test_what_has_proved_wrong_does_not_stop_a_call(taught) -> None:
    with taught.bank() as bank:
        (lesson,) = bank.list()
        for _ in range(4):
            bank.feedback(lesson.id, helpful=False)
    assert taught.hook("PreToolUse", "s2", **bash(FAILS)).refusal == ""


def test_nothing_is_announced_when_nothing_is_recalled(desktop) -> None:
    assert desktop.hook("SessionStart").out == ""
    assert desktop.hook("UserPromptSubmit", prompt="Translate the poem on roses into Latin").out == ""
