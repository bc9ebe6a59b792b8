"""Codex as it calls hooks: a failure without an exit code, a patch as a command."""

from __future__ import annotations

import json

import pytest

from reasoningbank_coding_agents.payload import event_from

PATCH = "*** Begin Patch\n*** Update File: src/api.py\n@@\n-old\n+new\n*** Add File: src/b.py\n+b\n*** End Patch"


def after(command, printed, transcript=None, call="call_1", tool="Bash"):
    """An event after a tool, as Codex 0.166 sends it."""
    return event_from(
        "codex",
        {
            "session_id": "s1",
            "turn_id": "t1",
            "transcript_path": None if transcript is None else str(transcript),
            "cwd": "/work",
            "hook_event_name": "PostToolUse",
            "model": "gpt-5.5",
            "permission_mode": "default",
            "tool_name": tool,
            "tool_input": {"command": command},
            "tool_response": printed,
            "tool_use_id": call,
        },
        event_name=None,
        cwd="/work",
    )


@pytest.fixture
def session_file(tmp_path):
    def write(*codes):
        lines = [
            {"type": "event_msg", "payload": {"type": "item_completed", "item": {
                "type": "CommandExecution", "id": call, "aggregated_output": "", "exit_code": code}}}
            for call, code in codes
        ]  # fmt: skip
        path = tmp_path / "rollout.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    return write


def test_the_session_file_tells_the_exit_code_that_the_event_leaves_out(session_file):
    path = session_file(("call_1", 1), ("call_2", 0))
    assert after("make test", "12 tests ran\n", path).failure == "12 tests ran\n"
    assert after("make test", "error: none was found\n", path, "call_2").failure is None


def test_without_it_what_was_printed_decides():
    said = "Traceback (most recent call last):\n  File 'x'\nModuleNotFoundError: No module named 'app'\n"
    assert after("python3 run.py", said).failure == said
    assert after("python3 run.py", "12 passed\n").failure is None


def test_a_command_that_shows_a_text_has_not_failed_because_of_what_the_text_says():
    assert after("cat errors.log", "ModuleNotFoundError: No module named 'app'\n").failure is None


def test_the_end_of_a_pipe_says_nothing_about_its_beginning(session_file):
    path = session_file(("call_1", 0))
    assert after("npm test 2>&1 | tail -3", "Error: Missing script: test\n", path).failure is not None
    assert after("npm test 2>&1 | tail -3", "ok\n", path).failure is None


def test_a_session_file_that_cannot_be_read_changes_nothing(tmp_path):
    torn = tmp_path / "torn.jsonl"
    torn.write_text('{"payload": {"item": {"id": "call_1", "exit_code": \n')
    for path in (torn, tmp_path / "none.jsonl", tmp_path):
        assert after("make test", "12 passed\n", path).failure is None


def test_a_patch_is_an_edit_of_its_files():
    event = after(PATCH, "Exit code: 0\nOutput:\nSuccess.\n", tool="apply_patch")
    assert event.tool_input == {"file_path": "src/api.py", "file_paths": ["src/api.py", "src/b.py"]}
    assert event.failure is None


def test_a_patch_is_warned_of_whichever_of_its_files_something_is_known_about(desktop):
    with desktop.bank() as bank:
        bank.record(
            title="src/b.py is generated",
            description="When src/b.py is edited",
            content="Do not edit src/b.py by hand: make overwrites it. Edit src/b.template instead.",
            outcome="failure",
        )
    desktop.hook("SessionStart", agent="codex", source="startup")
    desktop.read()
    given = {"tool_name": "apply_patch", "tool_input": {"command": PATCH}, "tool_use_id": "call_1"}
    assert "b.template" in desktop.hook("PreToolUse", "s2", agent="codex", **given).out
