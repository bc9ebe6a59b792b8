"""The Claude Agent SDK: `ClaudeAgentOptions(hooks=memory_hooks(bank))`.

A prompt begins a task and gets the advice for it as additional context; each tool call becomes a step; a tool that
failed gets the advice for its error; the stop ends the task. These hooks live in the caller's process. For Claude Code
itself there is `reasoningbank install claude-code`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.task_tracker import Followed, Following, as_text, aside, follow
from reasoningbank.core.errors import MissingExtra

MOST_SESSIONS = 1_000
"""That are followed at the same time; the one that was silent longest ends."""
FAILURE_TOKENS = 200


def memory_hooks(
    bank: Bank,
    *,
    succeeded: Callable[[str], bool | None] | None = None,
    namespace: str | None = None,
    agent: str | None = None,
    max_tokens: int = 500,
) -> dict[str, list[Any]]:
    """`succeeded` is given the last message of the agent. Add matchers of your own to the lists as you like."""
    try:
        from claude_agent_sdk import HookMatcher
    except ImportError as error:
        raise MissingExtra(
            package="claude-agent-sdk", extra="claude-agent-sdk", purpose="The adapter for the Claude Agent SDK"
        ) from error
    how = Following(bank=bank, namespace=namespace, agent=agent or "claude", max_tokens=max_tokens)
    sessions = _Sessions(how, succeeded)
    callbacks: dict[str, Any] = {
        "UserPromptSubmit": sessions.prompted,
        "PostToolUse": sessions.worked,
        "PostToolUseFailure": sessions.failed,
        "Stop": sessions.stopped,
    }
    return {event: [HookMatcher(hooks=[callback])] for event, callback in callbacks.items()}


class _Sessions:
    """The tasks under way, by the session of the SDK that they belong to."""

    def __init__(self, how: Following, judge: Callable[[str], bool | None] | None) -> None:
        self._how = how
        self._succeeded = judge
        self._following: OrderedDict[str, Followed] = OrderedDict()

    async def prompted(self, event: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        del tool_use_id, context
        await self._end(event["session_id"], "unknown")
        tracker = await follow(self._how, event["prompt"])
        self._following[event["session_id"]] = tracker
        if len(self._following) > MOST_SESSIONS:
            await self._end(next(iter(self._following)), "unknown")
        return _context(event, tracker.advice)

    async def worked(self, event: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        del tool_use_id, context
        tracker = self._following.get(event["session_id"])
        if tracker is not None:
            await aside(tracker.step, _action(event), event.get("tool_response"))
        return {}

    async def failed(self, event: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        del tool_use_id, context
        tracker = self._following.get(event["session_id"])
        if tracker is None:
            return {}
        await aside(tracker.step, _action(event), event["error"], ok=False)
        advice: list[str] = []
        await aside(lambda: advice.append(tracker.ask(event["error"], max_tokens=FAILURE_TOKENS)))
        return _context(event, advice[0])

    async def stopped(self, event: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        del tool_use_id, context
        last = event.get("last_assistant_message") or ""
        tracker = self._following.get(event["session_id"])
        if tracker is not None and last:
            await aside(tracker.step, "answered", last)
        verdict = None if self._succeeded is None else self._succeeded(last)
        await self._end(event["session_id"], "unknown" if verdict is None else "success" if verdict else "failure")
        return {}

    async def _end(self, session: str, outcome: str) -> None:
        tracker = self._following.pop(session, None)
        if tracker is not None:
            await aside(tracker.finish, outcome)


def _action(event: Any) -> str:
    tool_input = event.get("tool_input") or {}
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    # A command says by itself what it is; anything else is known by its tool.
    return command if isinstance(command, str) else f"{event['tool_name']} {as_text(tool_input or '')}".strip()


def _context(event: Any, text: str) -> dict[str, Any]:
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"], "additionalContext": text}}
