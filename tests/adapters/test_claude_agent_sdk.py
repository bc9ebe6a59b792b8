"""Hooks for the Claude Agent SDK, called with its own payloads and read through its own types."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("claude_agent_sdk")
from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

from reasoningbank.adapters import claude_agent_sdk as adapter
from reasoningbank.adapters.claude_agent_sdk import memory_hooks


class Sdk:
    """Fires hooks as the SDK does: the first callback of the first matcher, with the fields of its types."""

    def __init__(self, bank, **options):
        self.options = ClaudeAgentOptions(hooks=memory_hooks(bank, **options))

    async def fire(self, event, session="s", **fields):
        [matcher] = self.options.hooks[event]
        assert isinstance(matcher, HookMatcher)
        given = {"session_id": session, "transcript_path": "", "cwd": "/", "hook_event_name": event, **fields}
        return await matcher.hooks[0](given, "toolu_1", {"signal": None})

    async def bash(self, command, *, session="s", error=None):
        tool = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "toolu_1"}
        if error is not None:
            return await self.fire("PostToolUseFailure", session, error=error, **tool)
        return await self.fire("PostToolUse", session, tool_response={"stdout": "ok"}, **tool)


def test_a_prompt_gets_its_advice_and_a_session_its_steps_and_its_end(bank):
    bank.record(title="Build with foo", description="When building the client", content="apt install libfoo-dev first")
    sdk = Sdk(bank, succeeded=lambda message: "builds" in message)

    async def use():
        told = await sdk.fire("UserPromptSubmit", prompt="building the client")
        assert told["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
        assert "libfoo-dev" in told["hookSpecificOutput"]["additionalContext"]
        assert await sdk.bash("ls") == {}
        assert await sdk.fire("Stop", stop_hook_active=False, last_assistant_message="It builds.") == {}

    asyncio.run(use())
    [session] = bank.sessions()
    assert (session.task, session.outcome) == ("building the client", "success")
    _, steps = bank.trajectory(session.id)
    assert [(step.action, step.result) for step in steps] == [("ls", '{"stdout": "ok"}'), ("answered", "It builds.")]


def test_a_tool_that_fails_gets_the_fix_that_worked_before(bank):
    sdk = Sdk(bank)
    error = "error: foo.h: No such file or directory"

    async def first():
        await sdk.fire("UserPromptSubmit", prompt="build the client")
        await sdk.bash("make", error=error)
        await sdk.bash("apt install libfoo-dev")
        await sdk.bash("make")
        await sdk.fire("Stop", stop_hook_active=False)

    async def second():
        await sdk.fire("UserPromptSubmit", prompt="something else entirely")
        return await sdk.bash("make", error=error)

    asyncio.run(first())
    bank.distill()
    told = asyncio.run(second())
    assert "libfoo-dev" in told["hookSpecificOutput"]["additionalContext"]


def test_a_second_prompt_ends_the_first_task_and_sessions_do_not_mix(bank, monkeypatch):
    monkeypatch.setattr(adapter, "MOST_SESSIONS", 2)
    sdk = Sdk(bank)

    async def use():
        await sdk.fire("UserPromptSubmit", "a", prompt="one")
        await sdk.fire("UserPromptSubmit", "a", prompt="two")
        await sdk.fire("UserPromptSubmit", "b", prompt="three")
        await sdk.bash("for b", session="b")
        await sdk.fire("UserPromptSubmit", "c", prompt="four")
        assert await sdk.bash("nobody follows this", session="unknown") == {}

    asyncio.run(use())
    assert {session.task: session.outcome for session in bank.sessions()} == {
        "one": "unknown",
        "two": "unknown",
        "three": None,
        "four": None,
    }


def test_a_bank_that_fails_is_no_hindrance(bank):
    sdk = Sdk(bank)
    bank.close()

    async def use():
        assert await sdk.fire("UserPromptSubmit", prompt="build") == {}
        assert await sdk.bash("make", error="broken") == {}
        assert await sdk.fire("Stop", stop_hook_active=False) == {}

    asyncio.run(use())
