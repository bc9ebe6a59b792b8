"""Messages of OpenAI's chat completions, old and new, of tau2, and of those who write them alike.

A call stands in `tool_calls` or `function_call`; a result in a message of the role tool or function. A model's reply is
read inside its `choices` too. A call that an agent writes into its text is a call all the same (`inline_calls`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.learn.ingest import inline_calls
from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.text import plain

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_EXAMPLES = ("example_user", "example_assistant")


def is_message(value: object) -> bool:
    message = _unwrap(value)
    return message.get("role") in _ROLES and any(name in message for name in ("content", "tool_calls", "function_call"))


def take(value: object, talk: Conversation) -> None:
    message = _unwrap(value)
    if message.get("name") in _EXAMPLES or message.get("is_demo"):
        return
    role = message["role"]
    if role in ("tool", "function"):
        _take_result(message, talk)
    elif role == "user":
        inline_calls.take_user_words(plain(message.get("content")), talk)
    elif role == "assistant":
        _take_reply(message, talk)


def _unwrap(value: object) -> Mapping[str, Any]:
    """The message of a choice; any other value as it is."""
    message = value.get("message") if isinstance(value, Mapping) and "finish_reason" in value else value
    return message if isinstance(message, Mapping) else {}


def _take_reply(message: Mapping[str, Any], talk: Conversation) -> None:
    calls = message.get("tool_calls")
    tool_calls = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    text = plain(message.get("content"))
    if tool_calls or isinstance(message.get("function_call"), Mapping):
        talk.say("assistant", text)
    else:
        inline_calls.take_agents_words(text, talk)
    for call in tool_calls:
        inner = call.get("function")
        function = inner if isinstance(inner, Mapping) else call
        talk.call(function.get("name"), function.get("arguments"), call.get("id"))
    old = message.get("function_call")
    if isinstance(old, Mapping):
        talk.call(old.get("name"), old.get("arguments"))


def _take_result(message: Mapping[str, Any], talk: Conversation) -> None:
    results = message.get("tool_messages")
    if isinstance(results, list):
        for result in results:
            if isinstance(result, Mapping):
                _take_result(result, talk)
        return
    has_failed = message.get("error") is True or message.get("is_error") is True or message.get("status") == "error"
    talk.result(
        plain(message.get("content")),
        message.get("tool_call_id") or message.get("id"),
        ok=False if has_failed else None,
    )
