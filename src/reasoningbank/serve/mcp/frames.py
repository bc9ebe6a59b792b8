"""Parses one JSON-RPC message from bytes, or gives the error that answers them.

Stricter than a JSON parser: UTF-8 only, no NaN, no bottomless nesting, exactly one message. Both transports read
through here, so that a broken message gets the same answer at either. Independent of methods.
"""

from __future__ import annotations

import json
import re
from typing import Any

from reasoningbank.core.frozen import dataclass

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
MOST_BYTES = 4 * 1024 * 1024
MOST_DEPTH = 64
END_BYTES = 512
"""Bytes at either end of a message that is not read, looked at for the id that its sender waits for."""

RequestId = str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRefused:
    """The fault of a message; `id` is the request's where it could be read."""

    code: int
    message: str
    id: RequestId = None


def read_message(data: bytes) -> dict[str, Any] | FrameRefused:
    if len(data) > MOST_BYTES:
        return too_large(data[:END_BYTES], data[-END_BYTES:])
    request_id = _request_id_at(data[:END_BYTES], data[-END_BYTES:])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return FrameRefused(code=PARSE_ERROR, message="The message is not UTF-8.", id=request_id)
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return FrameRefused(code=PARSE_ERROR, message="The message is not valid JSON.", id=request_id)
    if _too_deep(value):
        return FrameRefused(
            code=PARSE_ERROR, message=f"The message nests deeper than {MOST_DEPTH} levels.", id=request_id
        )
    return _one_message(value)


def too_large(head: bytes, tail: bytes) -> FrameRefused:
    """A message of which only the ends were kept."""
    message = f"The message is larger than {MOST_BYTES:,} bytes. Send less in one call."
    return FrameRefused(code=INVALID_REQUEST, message=message, id=_request_id_at(head, tail))


_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")'
_HEADER = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"'
# As clients write it: before the parameters, or after them.
_ID_FIRST = re.compile(rb"\s*\{\s*(?:" + _HEADER + rb"\s*,\s*){0,2}" + _ID + rb"\s*,")
_ID_LAST = re.compile(rb"[}\"]\s*,\s*" + _ID + rb"\s*(?:,\s*" + _HEADER + rb"\s*){0,2}\}\s*$")


def _request_id_at(head: bytes, tail: bytes) -> RequestId:
    """The id of a request that cannot be read: whoever sent it waits for an answer that names it."""
    match = _ID_FIRST.match(head) or _ID_LAST.search(tail)
    try:
        value = json.loads(match[1]) if match is not None else None
    except ValueError:
        return None
    return value if _is_request_id(value) else None


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MOST_DEPTH):
        inner = (node.values() if isinstance(node, dict) else node for node in level if isinstance(node, (dict, list)))
        level = [child for children in inner for child in children if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _one_message(value: Any) -> dict[str, Any] | FrameRefused:
    if isinstance(value, list):
        return FrameRefused(code=INVALID_REQUEST, message="Batches are not supported: send one message at a time.")
    if not isinstance(value, dict):
        return FrameRefused(code=INVALID_REQUEST, message="A message must be a JSON object.")
    request_id = value["id"] if _is_request_id(value.get("id")) else None
    fault = next((words for is_broken, words in _faults(value) if is_broken), None)
    return value if fault is None else FrameRefused(code=INVALID_REQUEST, message=fault, id=request_id)


def _faults(value: dict[str, Any]) -> list[tuple[bool, str]]:
    version = (value.get("jsonrpc") != "2.0", 'A message must say "jsonrpc": "2.0".')
    method = value.get("method")
    if method is None:
        # A reply to a request of ours. There are none today, but a late one is not a broken request.
        answers = isinstance(value.get("result"), dict) is not isinstance(value.get("error"), dict)
        return [version, (not answers, "A message needs a method.")]
    return [
        version,
        (not _is_text(method), "method must be text."),
        ("id" in value and not _is_request_id(value["id"]), "id must be text or a whole number."),
        ("result" in value or "error" in value, "A request has no result or error."),
        (not isinstance(value.get("params", {}), dict), "params must be an object."),
        ("id" in value and str(method).startswith("notifications/"), "A notification has no id."),
    ]


def _is_request_id(value: object) -> bool:
    return _is_text(value) or (isinstance(value, int) and not isinstance(value, bool))


def _is_text(value: object) -> bool:
    """Half a surrogate pair can be escaped in JSON, but no reply could carry it back."""
    try:
        return isinstance(value, str) and value.encode("utf-8") is not None
    except UnicodeEncodeError:
        return False
