"""Our own export format: JSON Lines, a header and then one object a line.

Records are read back without loss: times stay numbers, ids stay ids. Bare objects with only title, content and a few
other fields are taken as drafts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache, partial
from io import TextIOWrapper
from itertools import count
from pathlib import Path
from typing import Any, cast

from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_DESCRIPTION_CHARS,
    MAX_NAME_CHARS,
    MAX_TITLE_CHARS,
    clean_fraction,
    clean_name,
    clean_namespace,
    clean_tags,
    clean_text,
    clean_time,
    one_of,
    required_text,
)
from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.record_kinds import BY_NOUN, RecordKind, kind_of
from reasoningbank.core.types import EVERY_NAMESPACE, Consolidation, Edge, Node, Record, SideRecord, State
from reasoningbank.exchange.coerce import LINE_BYTES
from reasoningbank.exchange.items import IncomingMemory, SkippedItem
from reasoningbank.exchange.plain_memory import is_lesson, is_memory, item_from, make_storable
from reasoningbank.files import open_plain
from reasoningbank.graph.node_fields import valid_node

FORMAT = "reasoningbank"
VERSION = 1
Reading = Callable[[Any], Any]
KINDS: dict[str, RecordKind] = {noun: kind for noun, kind in BY_NOUN.items() if kind.exported}


class ExportLine:
    """A record read back, with the noun under which it was written."""

    __slots__ = ("noun", "number", "record")

    def __init__(self, number: int, noun: str, record: Record | SideRecord) -> None:
        self.number = number
        self.noun = noun
        self.record = record


def header_line(tenant: str, now: float) -> str:
    return _dump({"type": "header", "format": FORMAT, "version": VERSION, "tenant": tenant, "exported_at": now})


def record_line(noun: str, record: Record | SideRecord) -> str:
    values: dict[str, Any] = {"type": noun}
    for f in fields(record):
        value = getattr(record, f.name)
        values[f.name] = base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
    return _dump(values)


def _dump(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=dict)


def read_lines(path: Path) -> Iterator[ExportLine | IncomingMemory | SkippedItem]:
    """Every line as a record, a draft or a reason why not. Never raises for a bad line."""
    try:
        with TextIOWrapper(open_plain(path), "utf-8-sig", "surrogateescape") as file:
            for number in count(1):
                text = file.readline(LINE_BYTES)
                if not text:
                    return
                if len(text) == LINE_BYTES:
                    while len(file.readline(LINE_BYTES)) == LINE_BYTES:
                        pass
                    yield SkippedItem(what=f"line {number}", why=f"longer than {LINE_BYTES:,} characters")
                elif text.strip():
                    item = _item(number, text)
                    if item is not None:
                        yield item
    except OSError as error:
        raise ImportRejected(f"{path} cannot be read: {error.strerror}.") from error


def _item(  # noqa: PLR0911 - one for each reason
    number: int, text: str
) -> ExportLine | IncomingMemory | SkippedItem | None:
    what = f"line {number}"
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        return SkippedItem(what=what, why=f"not JSON ({error})")
    if not isinstance(values, dict):
        return SkippedItem(what=what, why="not a JSON object")
    noun = values.pop("type", None)
    if noun == "header":
        return _header(what, values)
    if noun is None or (noun == "memory" and "id" not in values):
        return item_from(what, _storable_from(text, values))
    if not isinstance(noun, str) or noun not in KINDS:
        if isinstance(noun, str) and (is_memory(values) or is_lesson(values)):
            # Another system's own word for what it keeps, such as reasoning_memory.
            return item_from(what, _storable_from(text, {**values, "type": noun}))
        return SkippedItem(what=what, why=f"unknown type {noun!r}")
    try:
        return ExportLine(number, noun, _record(KINDS[noun], values))
    except (InvalidInput, TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
        return SkippedItem(what=what, why=f"not a {noun}: {error}")


def _storable_from(text: str, values: dict[str, Any]) -> Any:
    """The values of a line as any store accepts them: plain ASCII without escapes holds nothing that one does not."""
    return values if text.isascii() and "\\u" not in text else make_storable(values)


def _header(what: str, values: dict[str, Any]) -> SkippedItem | None:
    if values.get("format") != FORMAT:
        return SkippedItem(what=what, why=f"the header says format {values.get('format')!r}")
    version = values.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ImportRejected(
            f"This export has format version {version!r}; this program reads up to {VERSION}. Upgrade it first."
        )
    return None


def _record(kind: RecordKind, values: dict[str, Any]) -> Record | SideRecord:
    readings = _readings(cast("Any", kind.record_type))
    unknown = values.keys() - readings.keys()
    if unknown:
        raise ValueError(f"unknown fields {', '.join(sorted(unknown))}")
    contents: dict[str, Any] = {}
    for name, read in readings.items():
        if name not in values:
            if name in kind.later:
                continue
            raise ValueError(f"{name} is missing")
        contents[name] = read(values[name])
    record = kind.record_type(**contents)
    return valid_node(record) if isinstance(record, Node) else record


@cache
def _readings(kind: Any) -> dict[str, Reading]:
    """For each field of a kind, how a value from a file becomes one that can be kept."""
    entry = kind_of(kind)
    return {f.name: _optional(entry, f.name, _reading(entry, f.name)) for f in fields(kind)}


def _optional(entry: RecordKind, name: str, read: Reading) -> Reading:
    return (lambda value: None if value is None else read(value)) if name in entry.optional else read


def _reading(entry: RecordKind, name: str) -> Reading:
    kind, enum = entry.record_type, entry.enums.get(name)
    if enum is not None:
        return lambda value: one_of(enum, value, name)
    if name == "weight":
        return partial(clean_fraction, name=name) if kind is Edge else _weight
    if name == "namespace":
        return _namespace_or_all if kind is Consolidation else clean_namespace
    if name == "name" and kind is Edge:
        return lambda value: clean_name(value, name) if value else ""
    return _BY_NAME.get(name) or partial(clean_name, name=name)


def _weight(value: Any) -> float:
    """Below zero it is muted (`guard.peers`)."""
    return clean_time(value, "weight")


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 62:
        raise ValueError(f"{name} must be a whole number from 1 on")
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be true or false")
    return value


def _parents(value: Any) -> tuple[str, ...]:
    return tuple(clean_name(parent, "a parent") for parent in value)


def _states(value: Any) -> dict[str, State]:
    return {clean_name(memory_id, "a memory"): one_of(State, state, "state") for memory_id, state in value.items()}


def _bytes(value: Any) -> bytes:
    return base64.b64decode(value, validate=True)


def _namespace_or_all(value: Any) -> str:
    return clean_name(value, "namespace") if value == EVERY_NAMESPACE else clean_namespace(value)


def _metadata(value: Any) -> Any:
    if not isinstance(value, dict):
        raise InvalidInput("metadata must be an object")
    json.dumps(value, allow_nan=False)
    return make_storable(value)


_TIMES = ("created_at", "updated_at", "at", "started_at", "ended_at", "start_at", "end_at")
_BY_NAME: dict[str, Reading] = {
    "title": partial(required_text, name="title", limit_chars=MAX_TITLE_CHARS),
    "description": partial(clean_text, name="description", limit_chars=MAX_DESCRIPTION_CHARS),
    "content": partial(required_text, name="content", limit_chars=MAX_CONTENT_CHARS),
    "key": partial(required_text, name="key", limit_chars=MAX_TITLE_CHARS),
    **{
        name: partial(clean_text, name=name, limit_chars=MAX_CONTENT_CHARS)
        for name in ("task", "action", "result", "text", "evidence", "comment")
    },
    **{name: partial(clean_time, name=name) for name in _TIMES},
    **{name: partial(clean_fraction, name=name) for name in ("initial_confidence", "holdout")},
    **{name: partial(_whole, name=name) for name in ("revision", "number", "rank")},
    **{name: partial(_flag, name=name) for name in ("positive", "used", "withheld")},
    "advice_id": partial(clean_text, name="advice_id", limit_chars=MAX_NAME_CHARS),
    "tags": clean_tags,
    "parents": _parents,
    "metadata": _metadata,
    "fields": _metadata,
    "changes": _metadata,
    "memories": _states,
    "vector": _bytes,
}
