"""Cursor, whose transcripts do not tell what tools returned: its hooks write the session down themselves."""

from __future__ import annotations

import json


def event(desktop, name: str, **more) -> None:
    told = {
        "conversation_id": "c1",
        "generation_id": "g1",
        "hook_event_name": name,
        "cursor_version": "2.4.0",
        "workspace_roots": [str(desktop.repository)],
        "transcript_path": None,
        **more,
    }
    assert json.loads(desktop.here(json.dumps(told).encode(), "cursor"))["continue"] is True


def test_a_session_in_cursor_is_learned_from(desktop) -> None:
    key = "sk-ant-api03-" + "Ab1_" * 23 + "AA"
    event(
        desktop, "beforeSubmitPrompt", prompt=f"Run the tests of the parser, {key} <private>hush-hush words</private>"
    )
    event(
        desktop,
        "postToolUseFailure",
        tool_name="Shell",
        tool_input={"command": "pytest tests/parser"},
        tool_use_id="t1",
        error_message="bash: pytest: command not found",
        failure_type="error",
        is_interrupt=False,
    )
    event(
        desktop,
        "postToolUse",
        tool_name="Shell",
        tool_input={"command": "uv run pytest tests/parser"},
        tool_use_id="t2",
        tool_output=json.dumps({"output": "=== 3 passed in 0.1s ===", "exitCode": 0}),
    )
    event(desktop, "stop", status="completed", loop_count=0)
    event(desktop, "sessionEnd", reason="user_close")
    desktop.read()
    with desktop.bank() as bank:
        (session,) = bank.sessions()
        assert (session.agent, session.outcome) == ("cursor", "success")
        assert [memory.title for memory in bank.list()] == ["add `uv run`"]
    kept = b"".join(path.read_bytes() for path in desktop.home.rglob("*") if path.is_file())
    assert b"hush-hush" not in kept
    assert key.encode() not in kept


def test_a_warning_reaches_cursor_too(desktop) -> None:
    told = desktop.transcript()
    told.says("Please deploy the application")
    told.runs("fly deploy", "/bin/bash: line 1: fly: command not found", failed=True)
    told.runs("npx fly deploy", "deployed")
    desktop.hook("Stop")
    desktop.read()
    told = {
        "conversation_id": "c2",
        "hook_event_name": "preToolUse",
        "workspace_roots": [str(desktop.repository)],
        "tool_name": "Shell",
        "tool_input": {"command": "fly deploy"},
    }
    said = json.loads(desktop.here(json.dumps(told).encode(), "cursor"))
    assert said["permission"] == "deny"
    assert "npx" in said["agent_message"]
    again = json.loads(desktop.here(json.dumps(told).encode(), "cursor"))
    assert again == {"continue": True}
