"""Spans of OpenTelemetry with GenAI attributes: OTLP JSON, or spans as SDKs print them.

Messages are in the attributes `gen_ai.input.messages` and `gen_ai.output.messages`, in the older events
(`gen_ai.user.message`, `gen_ai.choice`), or in numbered attributes (`gen_ai.prompt.0.content`). Spans of tools tell
what a call returned that no later request repeats, or all there is of the calls. A trace or conversation is a session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest import otel_messages
from reasoningbank.learn.ingest.messages import sessions_in
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

_SPANS = ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans", "data", "batches")
_ANSWERED_LATER = ("invoke_agent", "create_agent", "invoke_workflow")


def _is_span(value: object) -> bool:
    """A span that speaks of a model or a tool, or a list of such, nested as OTLP nests them."""
    return any(_speaks(span) for span in _spans_in(value))


def _spans_in(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        for part in value:
            yield from _spans_in(part)
    elif isinstance(value, Mapping):
        if "attributes" in value and any(name in value for name in ("name", "spanId", "span_id", "context")):
            yield value
            return
        for name in _SPANS:
            yield from _spans_in(value.get(name))


def _speaks(span: Mapping[str, Any]) -> bool:
    attributes = otel_messages.attributes_of(span)
    return any(name.startswith("gen_ai.") for name in attributes) or any(
        str(event.get("name", "")).startswith("gen_ai.") for event in otel_messages.events_of(span)
    )


def _sessions_of_spans(values: Iterable[Any], namespace: str) -> Iterator[Episode]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for value in values:
        for span in filter(_speaks, _spans_in(value)):
            groups.setdefault(_session_of(span), []).append(span)
    for spans in groups.values():
        yield from sessions_in(_lists(sorted(spans, key=_began)), namespace)


def _lists(spans: list[Mapping[str, Any]]) -> list[list[Any]]:
    """The messages of each request, in order, and what only the spans of tools tell."""
    requests = [span for span in spans if _operation(span) not in (*_ANSWERED_LATER, "execute_tool")]
    lists = [messages for messages in map(otel_messages.messages_of, requests) if messages]
    if not lists:
        whole = (span for span in spans if _operation(span) in _ANSWERED_LATER)
        lists = [messages for messages in map(otel_messages.messages_of, whole) if messages][:1]
    tools = [span for span in spans if _operation(span) == "execute_tool"]
    tool_messages = otel_messages.tool_messages(tools, [message for messages in lists for message in messages])
    return [*lists, tool_messages] if tool_messages else lists


def _operation(span: Mapping[str, Any]) -> str:
    attributes = otel_messages.attributes_of(span)
    operation = attributes.get("gen_ai.operation.name")
    return str(operation) if operation else ("execute_tool" if "gen_ai.tool.name" in attributes else "chat")


def _session_of(span: Mapping[str, Any]) -> str:
    conversation = otel_messages.attributes_of(span).get("gen_ai.conversation.id")
    context = span.get("context")
    inner = context if isinstance(context, Mapping) else {}
    trace = span.get("traceId") or span.get("trace_id") or inner.get("trace_id") or inner.get("traceId")
    return str(conversation or trace or "")


def _began(span: Mapping[str, Any]) -> tuple[int, str]:
    """Nanoseconds as OTLP writes them, else a date as SDKs print it."""
    start = next(
        (span[n] for n in ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime") if n in span), ""
    )
    text = str(start)
    return (int(text), "") if text.isdecimal() else (0, text)


FORMAT = TranscriptFormat(
    name="otel",
    about="OpenTelemetry spans with `gen_ai.*` attributes or events (OTLP JSON, or lists of spans)",
    knows=_is_span,
    episodes=_sessions_of_spans,
    hint="Were contents captured? Instrumentations keep messages out of spans unless they are told otherwise.",
)
