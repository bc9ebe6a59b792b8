"""Our own format on paper: JSON Lines, a header and then one object a line.

Knows how each record is written as a line and read back without loss: times stay numbers, ids stay ids. Bare objects with
only title, content and a few other fields are taken as drafts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from reasoningbank.core.drafts import one_of
from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.ids import derived_id
from reasoningbank.core.types import (
    Draft,
    Edge,
    EdgeKind,
    Exposure,
    KeptVector,
    Memory,
    Outcome,
    Record,
    Scope,
    Sidecar,
    Signal,
    SignalKind,
    State,
    Step,
    Tombstone,
    Trajectory,
)
from reasoningbank.exchange.items import IncomingMemory, Skipped

FORMAT = "reasoningbank"
VERSION = 1
KINDS: dict[str, type[Record] | type[Sidecar]] = {
    "memory": Memory,
    "revision": Memory,
    "signal": Signal,
    "trajectory": Trajectory,
    "step": Step,
    "edge": Edge,
    "vector": KeptVector,
    "shown": Exposure,
    "erased": Tombstone,
}
"""In the order of an export: what others refer to comes first."""
_ENUMS: dict[type[Record] | type[Sidecar], dict[str, Any]] = {
    Memory: {"scope": Scope, "outcome": Outcome, "state": State},
    Signal: {"kind": SignalKind},
    Edge: {"kind": EdgeKind},
}
_DRAFT_FIELDS = {f.name for f in fields(Draft)}


class Line:
    """A record read back, with the noun under which it was written."""

    __slots__ = ("noun", "number", "record")

    def __init__(self, number: int, noun: str, record: Record | Sidecar) -> None:
        self.number = number
        self.noun = noun
        self.record = record


def header_line(tenant: str, now: float) -> str:
    return _dump({"type": "header", "format": FORMAT, "version": VERSION, "tenant": tenant, "exported_at": now})


def record_line(noun: str, record: Record | Sidecar) -> str:
    values: dict[str, Any] = {"type": noun}
    for f in fields(record):
        value = getattr(record, f.name)
        values[f.name] = base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
    return _dump(values)


def _dump(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=dict)


def read_lines(path: Path) -> Iterator[Line | IncomingMemory | Skipped]:
    """Every line as a record, a draft or a reason why not. Never raises for a bad line."""
    try:
        with path.open("r", encoding="utf-8", errors="surrogateescape") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    item = _item(number, text)
                    if item is not None:
                        yield item
    except OSError as error:
        raise ImportRejected(f"{path} cannot be read: {error.strerror}.") from error


def _item(number: int, text: str) -> Line | IncomingMemory | Skipped | None:
    what = f"line {number}"
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Skipped(what=what, why=f"not JSON ({error})")
    if not isinstance(values, dict):
        return Skipped(what=what, why="not a JSON object")
    noun = values.pop("type", None)
    if noun == "header":
        return _header(what, values)
    if noun is None or (noun == "memory" and "id" not in values):
        return _draft(what, values)
    if noun not in KINDS:
        return Skipped(what=what, why=f"unknown type {noun!r}")
    try:
        return Line(number, noun, _record(KINDS[noun], values))
    except (InvalidInput, TypeError, ValueError, KeyError) as error:
        return Skipped(what=what, why=f"not a {noun}: {error}")


def _header(what: str, values: dict[str, Any]) -> Skipped | None:
    if values.get("format") != FORMAT:
        return Skipped(what=what, why=f"the header says format {values.get('format')!r}")
    version = values.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ImportRejected(
            f"This export has format version {version!r}; this program reads up to {VERSION}. Upgrade it first."
        )
    return None


def _record(kind: type[Record] | type[Sidecar], values: dict[str, Any]) -> Record | Sidecar:
    known = fields(kind)
    unknown = sorted(set(values) - {f.name for f in known})
    if unknown:
        raise ValueError(f"unknown fields {', '.join(unknown)}")
    made: dict[str, Any] = {}
    for f in known:
        if f.name not in values:
            raise ValueError(f"{f.name} is missing")
        made[f.name] = _typed(kind, f.name, values[f.name])
    return kind(**made)


_NUMBERS = {"initial_confidence", "created_at", "updated_at", "weight", "at", "started_at"}
_OPTIONAL_NUMBERS = {"ended_at"}
_WHOLE = {"revision", "number", "rank"}
_FLAGS = {"positive", "used"}
_LISTS = {"tags", "parents"}
_OPTIONAL_TEXTS = {"key", "agent", "task_type", "cognitive_pattern", "source", "trajectory_id"}


def _typed(kind: type[Record] | type[Sidecar], name: str, value: Any) -> Any:  # noqa: PLR0911 - one line per type of field
    enum = _ENUMS.get(kind, {}).get(name)
    if enum is not None:
        return one_of(enum, value, name)
    if name in _NUMBERS or (name in _OPTIONAL_NUMBERS and value is not None):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN
            raise ValueError(f"{name} must be a number")
        return float(value)
    if name in _WHOLE:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{name} must be a whole number")
        return value
    if name in _FLAGS:
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false")
        return value
    if name in _LISTS:
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise ValueError(f"{name} must be a list of texts")
        return tuple(value)
    if name == "metadata":
        if not isinstance(value, dict):
            raise ValueError("metadata must be an object")
        return value
    if name == "vector":
        return base64.b64decode(value, validate=True)
    optional = name in _OPTIONAL_TEXTS or name in _OPTIONAL_NUMBERS or (kind is Trajectory and name == "outcome")
    if optional and value is None and not (kind is Signal and name == "source"):
        return None
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text")
    return value


def _draft(what: str, values: dict[str, Any]) -> IncomingMemory | Skipped:
    given = {name: value for name, value in values.items() if name in _DRAFT_FIELDS and value is not None}
    missing = [f.name for f in fields(Draft) if f.default is MISSING and f.default_factory is MISSING]
    lacking = [name for name in missing if name not in given]
    if lacking:
        return Skipped(what=what, why=f"neither a record of ours nor a memory: {', '.join(lacking)} missing")
    for name in ("tags", "parents"):
        if name in given:
            if not isinstance(given[name], list):
                return Skipped(what=what, why=f"{name} must be a list")
            given[name] = tuple(given[name])
    given.setdefault("origin", "import:jsonl")
    draft = Draft(**given)
    identity = "\x1f".join(str(part) for part in (draft.namespace, draft.title, draft.description, draft.content))
    return IncomingMemory(identity=f"jsonl:{derived_id('x', identity)}", draft=draft)
