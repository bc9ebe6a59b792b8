"""One JSON-RPC message from bytes, or the error that answers them.

Stricter than a JSON parser: UTF-8 only, no NaN, no bottomless nesting, exactly one message. Both transports read through
here, so that a broken message gets the same answer at either. Knows nothing of methods.
"""

from __future__ import annotations

import json
from typing import Any

from reasoningbank.core.values import dataclass

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
MOST_BYTES = 4 * 1024 * 1024
MOST_DEPTH = 64

RequestId = str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """What is wrong with a message; `id` is the request's where it could be read."""

    code: int
    message: str
    id: RequestId = None


def read_message(data: bytes) -> dict[str, Any] | Refused:
    if len(data) > MOST_BYTES:
        return Refused(code=INVALID_REQUEST, message=f"The message is larger than {MOST_BYTES:,} bytes.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Refused(code=PARSE_ERROR, message="The message is not UTF-8.")
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return Refused(code=PARSE_ERROR, message="The message is not valid JSON.")
    if _too_deep(value):
        return Refused(code=PARSE_ERROR, message=f"The message nests deeper than {MOST_DEPTH} levels.")
    return _one_message(value)


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


def _one_message(value: Any) -> dict[str, Any] | Refused:
    if isinstance(value, list):
        return Refused(code=INVALID_REQUEST, message="Batches are not supported: send one message at a time.")
    if not isinstance(value, dict):
        return Refused(code=INVALID_REQUEST, message="A message must be a JSON object.")
    request_id = value.get("id")
    known = request_id if is_request_id(request_id) else None
    if value.get("jsonrpc") != "2.0":
        return Refused(code=INVALID_REQUEST, message='A message must say "jsonrpc": "2.0".', id=known)
    if "method" not in value:
        return _answer(value, known)
    if not _is_text(value["method"]):
        return Refused(code=INVALID_REQUEST, message="method must be text.", id=known)
    if "id" in value and known is None:
        return Refused(code=INVALID_REQUEST, message="id must be text or a whole number.")
    if "result" in value or "error" in value:
        return Refused(code=INVALID_REQUEST, message="A request has no result or error.", id=known)
    if not isinstance(value.get("params", {}), dict):
        return Refused(code=INVALID_REQUEST, message="params must be an object.", id=known)
    if value["method"].startswith("notifications/") and "id" in value:
        return Refused(code=INVALID_REQUEST, message="A notification has no id.", id=known)
    return value


def _answer(value: dict[str, Any], known: RequestId) -> dict[str, Any] | Refused:
    """Replies to requests of ours; there are none today, but a late one must not be taken for a broken request."""
    if isinstance(value.get("result"), dict) is isinstance(value.get("error"), dict):
        return Refused(code=INVALID_REQUEST, message="A message needs a method.", id=known)
    return value


def is_request_id(value: object) -> bool:
    return _is_text(value) or (isinstance(value, int) and not isinstance(value, bool))


def _is_text(value: object) -> bool:
    """Half a surrogate pair can be escaped in JSON, but no reply could carry it back."""
    try:
        return isinstance(value, str) and value.encode("utf-8") is not None
    except UnicodeEncodeError:
        return False
