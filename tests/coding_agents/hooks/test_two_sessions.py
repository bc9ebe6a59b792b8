"""The whole way, with nothing in place of anything: real commands, real transcripts, two sessions, one mistake."""

from __future__ import annotations


def bash(command: str, number: int) -> dict[str, object]:
    return {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"toolu_{number}"}


def test_a_mistake_of_the_first_session_is_warned_of_in_the_second_before_it_is_repeated(desktop) -> None:
    first = desktop.transcript("first")
    prompt = "Please run the unit tests of the parser"
    failure = "/bin/bash: line 1: pytest: command not found"
    assert desktop.spawn("SessionStart", "first", source="startup").out == ""
    assert desktop.spawn("UserPromptSubmit", "first", prompt=prompt).out == ""
    first.says(prompt)
    assert desktop.spawn("PreToolUse", "first", **bash("pytest tests/parser", 1)).out == ""
    first.runs("pytest tests/parser", failure, failed=True)
    told = desktop.spawn(
        "PostToolUseFailure",
        "first",
        **bash("pytest tests/parser", 1),
        error=f"Exit code 127\n{failure}",
        is_interrupt=False,
    )
    assert told.out == ""
    first.runs("uv run pytest tests/parser", "===== 12 passed in 0.31s =====")
    first.answers("All 12 tests pass.")
    assert desktop.spawn("Stop", "first", stop_hook_active=False, last_assistant_message="All 12 tests pass.").out == ""
    assert desktop.spawn("SessionEnd", "first", reason="prompt_input_exit").out == ""
    desktop.settle()

    started = desktop.spawn("SessionStart", "second", source="startup")
    assert "uv run" in started.context
    assert started.json["systemMessage"] == "ReasoningBank: 1 lesson recalled"
    desktop.spawn("UserPromptSubmit", "second", prompt="Make sure that nothing is broken before we release")
    assert desktop.spawn("PreToolUse", "second", **bash("cd app && pytest tests/lexer -q", 2)).out == "", "told before"
    refused = desktop.spawn("PreToolUse", "second", **bash("cd app && pytest tests/parser", 3))
    assert refused.json["hookSpecificOutput"]["hookEventName"] == "PreToolUse"
    assert "uv run" in refused.refusal
    assert desktop.spawn("PreToolUse", "second", **bash("cd app && pytest tests/parser", 4)).out == ""

    second = desktop.transcript("second")
    second.says("Make sure that nothing is broken before we release")
    second.runs("uv run pytest tests/lexer -q", "===== 7 passed in 0.2s =====")
    second.says("Thanks, perfect!")
    desktop.spawn("SessionEnd", "second", reason="exit")
    desktop.settle()
    with desktop.bank() as bank:
        (lesson,) = [memory for memory in bank.list() if "fix" in memory.tags]
        signals = [
            signal for signal in (point.signal for point in bank.history(lesson.id).points) if signal is not None
        ]
        assert [(signal.positive, signal.source) for signal in signals] == [(True, "hook")]
        assert (lesson.shown, lesson.usage_count) == (1, 1)
        assert {session.outcome for session in bank.sessions()} == {"success"}
