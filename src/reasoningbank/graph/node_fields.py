"""Special fields of each node label: which there are, which must be there, and what each may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_DESCRIPTION_CHARS,
    clean_metadata,
    clean_name,
    clean_text,
    required_text,
)
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Node, NodeLabel
from reasoningbank.graph.moments import parse_moment

_MOST_PARTS = 1_000


class SpecialField(NamedTuple):
    read: Callable[[Any, str], Any]
    is_required: bool = True


def _names(value: Any, name: str) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be a list of words.")
    return list(dict.fromkeys(clean_name(item, name) for item in value))


def _text(value: Any, name: str) -> str:
    return required_text(value, name, MAX_DESCRIPTION_CHARS)


def _parts(value: Any, name: str) -> str | list[str]:
    """One part, such as "Slide 4", or several."""
    if isinstance(value, str):
        return clean_text(value, name, MAX_DESCRIPTION_CHARS)
    if not isinstance(value, (list, tuple)):
        raise InvalidInput(f"{name} must be text or a list of texts.")
    if len(value) > _MOST_PARTS:
        raise InvalidInput(f"{name} has {len(value):,} parts; the limit is {_MOST_PARTS:,}.")
    return [_text(part, name) for part in value]


def _parameters(value: Any, name: str) -> Any:
    """The parameters of an action, exactly as they were given: SQL or other text, or the JSON of a request."""
    if isinstance(value, str):
        return clean_text(value, name, MAX_CONTENT_CHARS)
    if not isinstance(value, (Mapping, list, tuple)):
        raise InvalidInput(f"{name} must be text or JSON, not {type(value).__name__}.")
    try:
        return clean_metadata({name: value})[name]
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("metadata", name, 1)) from None


def _date(value: Any, name: str) -> str:
    return parse_moment(value, name).text


FIELDS: Mapping[NodeLabel, Mapping[str, SpecialField]] = {
    NodeLabel.USER_REQUEST: {
        "user_role": SpecialField(clean_name),
        "user_id": SpecialField(clean_name, is_required=False),
    },
    NodeLabel.USER_PREFERENCE: {"preference_type": SpecialField(clean_name)},
    NodeLabel.AGENT_ANSWER: {
        "analysis_types": SpecialField(_names, is_required=False),
        "metrics": SpecialField(_names, is_required=False),
    },
    NodeLabel.AGENT_ACTION: {"status": SpecialField(clean_name), "parameter_field": SpecialField(_parameters)},
    NodeLabel.EVENT: {
        "source_type": SpecialField(clean_name),
        "start_date": SpecialField(_date),
        "end_date": SpecialField(_date, is_required=False),
    },
    NodeLabel.DATA_SOURCE: {
        "source_type": SpecialField(clean_name),
        "doc_pointer": SpecialField(_text),
        "relevant_parts": SpecialField(_parts, is_required=False),
    },
}


def read_fields(label: NodeLabel, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The special fields of a node as they are kept; an error says which is missing, too much or wrong."""
    fields = FIELDS[label]
    if unknown := sorted(raw.keys() - fields.keys()):
        raise InvalidInput(f"{unknown[0]}: {_a(label)} has no such field; it has {', '.join(fields)}.")
    values: dict[str, Any] = {}
    for name, field in fields.items():
        value = raw.get(name)
        if value is not None:
            values[name] = field.read(value, name)
        elif field.is_required:
            needs = " and ".join(other for other, its_field in fields.items() if its_field.is_required)
            raise InvalidInput(f"{name} is missing: {_a(label)} needs {needs}.")
    return values


def window_of(fields: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The first and the last second of an event; of a node without dates, nothing."""
    if "start_date" not in fields:
        return None, None
    start = parse_moment(fields["start_date"], "start_date")
    end = parse_moment(fields["end_date"], "end_date") if "end_date" in fields else start
    if end.last < start.first:
        raise InvalidInput(f"end_date: {end.text} is before start_date, {start.text}.")
    return start.first, end.last


def valid_node(node: Node) -> Node:
    """A node that was kept or exported, with its fields and window read anew; an error says what is wrong with them."""
    fields = read_fields(node.label, node.fields)
    start_at, end_at = window_of(fields)
    return replace(node, fields=fields, start_at=start_at, end_at=end_at)


def _a(label: NodeLabel) -> str:
    return f"{'an' if label.value[0] in 'AEIO' else 'a'} {label.value}"
