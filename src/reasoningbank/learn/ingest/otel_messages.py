"""Messages in one OpenTelemetry span, in the form of chat messages: from attributes, events and tools' spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.learn.ingest.text import parse_json, plain

_WHOLE = ("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.request.messages", "pydantic_ai.all_messages")
_REPLY = ("gen_ai.output.messages", "gen_ai.completion")
_NUMBERED = ("gen_ai.prompt.", "gen_ai.completion.")
_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}


def attributes_of(holder: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of a span or an event, from OTLP's list of keys with typed values or from a mapping."""
    attributes = holder.get("attributes")
    if isinstance(attributes, Mapping):
        return {str(name): value for name, value in attributes.items()}
    if not isinstance(attributes, list):
        return {}
    return {
        str(entry["key"]): _value(entry.get("value"))
        for entry in attributes
        if isinstance(entry, Mapping) and isinstance(entry.get("key"), str)
    }


def _value(any_value: object) -> Any:
    """`{"stringValue": "a"}` is "a"."""
    if not isinstance(any_value, Mapping) or len(any_value) != 1:
        return any_value
    kind, value = next(iter(any_value.items()))
    if kind == "arrayValue" and isinstance(value, Mapping):
        return [_value(part) for part in value.get("values", ())]
    if kind == "kvlistValue":
        return attributes_of({"attributes": value.get("values") if isinstance(value, Mapping) else None})
    return int(value) if kind == "intValue" and str(value).lstrip("-").isdecimal() else value


def events_of(span: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    events = span.get("events")
    return [event for event in events if isinstance(event, Mapping)] if isinstance(events, list) else []


def messages_of(span: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Messages that were sent to the model and its answers, from the newest convention that the span keeps."""
    attributes = attributes_of(span)
    messages = [*_attribute_messages(attributes, _WHOLE, "user"), *_attribute_messages(attributes, _REPLY, "assistant")]
    return messages or list(_event_messages(span)) or list(_indexed_messages(attributes))


def _attribute_messages(attributes: Mapping[str, Any], names: Sequence[str], role: str) -> list[dict[str, Any]]:
    content = next((_parse(attributes[name]) for name in names if attributes.get(name)), None)
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    entries = content if isinstance(content, list) else [content]
    return [message for entry in entries if isinstance(entry, Mapping) for message in _chat_messages(entry, role)]


def _chat_messages(entry: Mapping[str, Any], role: str) -> Iterator[dict[str, Any]]:
    """A message with parts as the chat messages that say the same."""
    who = str(entry.get("role") or role)
    parts = entry.get("parts")
    if not isinstance(parts, list):
        yield {**entry, "role": who, "tool_calls": _parse(entry.get("tool_calls"))}
        return
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        kind = part.get("type")
        if kind == "tool_call":
            yield {"role": "assistant", "content": None, "tool_calls": [part]}
        elif kind == "tool_call_response":
            response = next((part[name] for name in ("response", "result", "content") if name in part), "")
            yield {"role": "tool", "tool_call_id": part.get("id"), "content": _text(response)}
        elif kind == "text":
            yield {"role": who, "content": _text(part.get("content"))}


def _event_messages(span: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for event in events_of(span):
        name = str(event.get("name", ""))
        details = {key: _parse(value) for key, value in attributes_of(event).items()}
        body = event.get("body")
        details.update(body if isinstance(body, Mapping) else {})
        if name in ("gen_ai.content.prompt", "gen_ai.content.completion", "gen_ai.client.inference.operation.details"):
            yield from _attribute_messages(details, _WHOLE, "user")
            yield from _attribute_messages(details, _REPLY, "assistant")
        elif name in _EVENTS:
            inner = details.get("message")
            fields = {**details, **inner} if isinstance(inner, Mapping) else {"content": inner, **details}
            yield {**fields, "role": _EVENTS[name], "content": _text(fields.get("content"))}


def _indexed_messages(attributes: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """`gen_ai.prompt.0.role` and its like, as messages."""
    for prefix in _NUMBERED:
        tree: dict[str, Any] = {}
        for name, value in attributes.items():
            if name.startswith(prefix):
                _put(tree, name.removeprefix(prefix).split("."), value)
        for entry in _in_order(tree):
            if isinstance(entry, Mapping):
                calls = entry.get("tool_calls")
                yield {
                    "role": entry.get("role") or ("user" if prefix == _NUMBERED[0] else "assistant"),
                    "content": _text(_parse(entry.get("content"))),
                    "tool_call_id": entry.get("tool_call_id"),
                    "tool_calls": _in_order(calls) if isinstance(calls, Mapping) else None,
                }


def _put(tree: dict[str, Any], path: Sequence[str], value: object) -> None:
    for name in path[:-1]:
        inner = tree.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        tree = inner
    tree[path[-1]] = value


def _in_order(tree: Mapping[str, Any]) -> list[Any]:
    return [tree[number] for number in sorted(filter(str.isdecimal, tree), key=int)]


def tool_messages(spans: Sequence[Mapping[str, Any]], messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Results that no message brings; with their calls, where no message makes any."""
    result_ids = {str(message.get("tool_call_id")) for message in messages if message.get("role") == "tool"}
    has_calls = any(message.get("tool_calls") for message in messages)
    extra: list[dict[str, Any]] = []
    for span in spans:
        attributes = attributes_of(span)
        call_id = attributes.get("gen_ai.tool.call.id")
        if has_calls and (call_id is None or str(call_id) in result_ids):
            continue
        arguments = attributes.get("gen_ai.tool.call.arguments", attributes.get("tool_arguments"))
        if not has_calls:
            call = {"id": call_id, "name": attributes.get("gen_ai.tool.name"), "arguments": arguments}
            extra.append({"role": "assistant", "content": None, "tool_calls": [call]})
        result = _text(_parse(attributes.get("gen_ai.tool.call.result", attributes.get("tool_response", ""))))
        status = span.get("status")
        code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else status
        has_failed = code in (2, "2", "ERROR", "STATUS_CODE_ERROR", "Error") or bool(attributes.get("error.type"))
        extra.append({"role": "tool", "tool_call_id": call_id, "content": result, "is_error": has_failed})
    return extra


def _parse(value: object) -> Any:
    """Structured values are often kept as text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        inner = parse_json(value)
        return value if inner is None else inner
    return value


def _text(value: object) -> str:
    return plain(value) or ("" if value is None or isinstance(value, str) else str(value))
