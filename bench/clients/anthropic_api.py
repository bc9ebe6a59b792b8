"""The Messages API of Anthropic as a client meets it: requests read, a turn streamed as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from bench.clients.script import Request, Turn


def request_of(body: Mapping[str, Any]) -> Request:
    texts: list[str] = []
    results: list[str] = []
    opening: list[str] = []
    answered = False
    for message in body.get("messages", ()):
        answered = answered or message.get("role") == "assistant"
        content = message.get("content")
        told = list(_texts(content))
        texts += told
        opening += [] if answered else told
        blocks = content if isinstance(content, list) else ()
        results += ["\n".join(_texts([block])) for block in blocks if block.get("type") == "tool_result"]
    return Request(body, tuple(texts), tuple(results), "\n".join(opening), side=not body.get("tools"))


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        match block.get("type"):
            case "text":
                yield block["text"]
            case "tool_use":
                yield json.dumps(block["input"], ensure_ascii=False)
            case "tool_result":
                yield from _texts(block.get("content"))


def message_of(turn: Turn, body: Mapping[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": use.tool, "input": use.given} for use in turn.uses
    ]
    return {
        "id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": body.get("model", "scripted"),
        "content": content, "stop_reason": "tool_use" if turn.uses else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": turn.context_tokens, "output_tokens": 10},
    }  # fmt: skip


def events_of(turn: Turn, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    message = message_of(turn, body)
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            begun = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}
