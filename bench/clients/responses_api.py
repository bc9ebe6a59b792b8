"""The Responses API of OpenAI as a client meets it: requests read, a turn streamed as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from bench.clients.script import Request, Turn, Use

_OURS = ("function_call", "custom_tool_call", "reasoning", "local_shell_call")


def request_of(body: Mapping[str, Any]) -> Request:
    texts: list[str] = []
    results: list[str] = []
    opening: list[str] = []
    answered = False
    for item in body.get("input", ()):
        answered = answered or item.get("role") == "assistant" or item.get("type") in _OURS
        told = list(_texts(item))
        texts += told
        opening += [] if answered else told
        results += ["\n".join(told)] if str(item.get("type")).endswith("_output") else []
    return Request(body, tuple(texts), tuple(results), "\n".join(opening), side=not body.get("tools"))


def _texts(item: Mapping[str, Any]) -> Iterator[str]:
    for name in ("arguments", "input", "content", "output"):
        value = item.get(name)
        if isinstance(value, str):
            yield value
        for part in value if isinstance(value, list) else ():
            if isinstance(part.get("text"), str):
                yield part["text"]


def events_of(turn: Turn, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    items = [_said(turn.text)] if turn.text else []
    items += [_used(use) for use in turn.uses]
    response = {"id": f"resp_{uuid4().hex}", "object": "response", "model": body.get("model"), "output": []}
    yield {"type": "response.created", "response": response}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage = {"input_tokens": turn.context_tokens, "output_tokens": 10, "total_tokens": turn.context_tokens + 10}
    yield {"type": "response.completed", "response": {**response, "output": items, "usage": usage}}


def _said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{uuid4().hex}", "role": "assistant", "content": content}


def _used(use: Use) -> dict[str, Any]:
    named = {"id": f"item_{uuid4().hex}", "call_id": f"call_{uuid4().hex}", "name": use.tool, "status": "completed"}
    if use.namespace:
        named["namespace"] = use.namespace
    if isinstance(use.given, str):
        return {"type": "custom_tool_call", **named, "input": use.given}
    return {"type": "function_call", **named, "arguments": json.dumps(use.given)}
