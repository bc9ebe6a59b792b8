"""Items of OpenAI's Responses API: messages, calls, their outputs, and thoughts, which are passed over.

Items of a run of the Agents SDK hold such an item under `raw_item`; events of a stream hold one under `item`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.learn.ingest.conversation import Conversation
from reasoningbank.learn.ingest.text import plain

_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call")
_HOSTED = ("mcp_call", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call")
"""Calls that the provider makes itself, so that one item holds the call and what came of it."""
_RAW = ("raw_item", "rawItem", "item")


def is_message(value: object) -> bool:
    item = _unwrap(value)
    kind = item.get("type")
    if kind == "message":
        return item.get("role") in ("user", "assistant", "system", "developer")
    return kind in (*_CALLS, *_HOSTED, "reasoning", "item_reference") or _is_output(item)


def take(value: object, talk: Conversation) -> None:
    item = _unwrap(value)
    kind = item.get("type")
    if kind == "message":
        talk.say(str(item["role"]), plain(item.get("content")))
    elif _is_output(item):
        talk.result(_text(item.get("output")), item.get("call_id"), ok=_ok(item))
    elif kind in _CALLS:
        arguments = item.get("arguments") or item.get("input") or item.get("action") or item.get("operation")
        talk.call(item.get("name") or str(kind).removesuffix("_call"), arguments, item.get("call_id") or item.get("id"))
    elif kind in _HOSTED:
        arguments = next((item[name] for name in ("arguments", "code", "action", "queries") if item.get(name)), None)
        talk.call(item.get("name") or str(kind).removesuffix("_call"), arguments, item.get("id"))
        output = next((item[name] for name in ("error", "output", "outputs", "results") if item.get(name)), None)
        if output is not None:
            talk.result(_text(output), item.get("id"), ok=_ok(item))


def _is_output(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith("_call_output")


def _ok(item: Mapping[str, Any]) -> bool | None:
    return False if item.get("error") or item.get("status") in ("failed", "incomplete") else None


def _text(output: object) -> str:
    return plain(output) or ("" if output is None else str(output))


def _unwrap(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        return {}
    inner = next((value[name] for name in _RAW if isinstance(value.get(name), Mapping)), value)
    return inner if isinstance(inner, Mapping) else {}
