"""Messages of LangChain and LangGraph: `type` human, ai or tool, with fields beside it, under `data`, or serialised.

A serialised one is `{"lc": 1, "id": […, "AIMessage"], "kwargs": {…}}`. Calls have `args` where others have arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.learn.ingest import inline_calls
from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.text import plain

_KINDS = {"human": "user", "ai": "assistant", "tool": "tool", "function": "tool", "system": "system"}


def is_message(value: object) -> bool:
    kind, fields = _unwrap(value)
    return kind is not None and "content" in fields and "role" not in fields


def take(value: object, talk: Conversation) -> None:
    kind, fields = _unwrap(value)
    role = _KINDS[kind or "system"]
    text = plain(fields.get("content"))
    if fields.get("example") is True:
        return
    if role == "tool":
        has_failed = fields.get("status") == "error"
        talk.result(text, fields.get("tool_call_id"), ok=False if has_failed else None)
    elif role == "user":
        inline_calls.take_user_words(text, talk)
    elif role == "assistant":
        _take_reply(fields, text, talk)


def _take_reply(fields: Mapping[str, Any], text: str, talk: Conversation) -> None:
    calls = [call for name in ("tool_calls", "invalid_tool_calls") for call in _calls(fields.get(name))]
    more = fields.get("additional_kwargs")
    calls = calls or (_calls(more.get("tool_calls")) if isinstance(more, Mapping) else [])
    if not calls:
        inline_calls.take_agents_words(text, talk)
        return
    talk.say("assistant", text)
    for call in calls:
        inner = call.get("function")
        function = inner if isinstance(inner, Mapping) else call
        talk.call(function.get("name"), function.get("args", function.get("arguments")), call.get("id"))


def _calls(value: object) -> list[Mapping[str, Any]]:
    return [call for call in value if isinstance(call, Mapping)] if isinstance(value, list) else []


def _unwrap(value: object) -> tuple[str | None, Mapping[str, Any]]:
    """The kind of a message and its fields; no kind when it is none."""
    if not isinstance(value, Mapping):
        return None, {}
    name = value.get("id")
    kwargs = value.get("kwargs")
    if "lc" in value and isinstance(kwargs, Mapping) and isinstance(name, list) and name:
        return _kind(name[-1]), kwargs
    data = value.get("data")
    return _kind(value.get("type")), data if isinstance(data, Mapping) else value


def _kind(name: object) -> str | None:
    """`AIMessageChunk` and `ai` are the same."""
    short = name.lower().removesuffix("chunk").removesuffix("message") if isinstance(name, str) else ""
    return short if short in _KINDS else None
