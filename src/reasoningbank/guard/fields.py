"""Scrubs every text field of a record.

A record is made of texts, lists and JSON, whatever its kind; ids are no text. A record in which nothing was found is
handed back as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_DESCRIPTION_CHARS,
    MAX_NAME_CHARS,
    MAX_TAG_CHARS,
    MAX_TITLE_CHARS,
)
from reasoningbank.core.frozen import fields, replace
from reasoningbank.core.ids import ID_CHARS, is_own
from reasoningbank.core.origins import FINGERPRINT_ORIGIN_CHARS, is_by_fingerprint
from reasoningbank.core.record_kinds import find_kind
from reasoningbank.guard.secrets import Scrubber

V = TypeVar("V", bound=Hashable)

_LIMITS = {
    **dict.fromkeys(("title", "key"), MAX_TITLE_CHARS),
    **dict.fromkeys(("description", "comment", "text", "evidence"), MAX_DESCRIPTION_CHARS),
    "tags": MAX_TAG_CHARS,
    **dict.fromkeys(("content", "task", "action", "result"), MAX_CONTENT_CHARS),
}
_CHARS_OF_NAMES = (ID_CHARS, FINGERPRINT_ORIGIN_CHARS)
"""Lengths of what is no text: told by its length first, since every text of every record is asked."""
_NOTHING: Mapping[str, int] = {}


def scrubbed_record(scrubber: Scrubber, record: V) -> tuple[V, Mapping[str, int]]:
    """The record without secrets, and how many of which kind it held."""
    clean = scrubber.clean
    if clean.records.get(id(record)) is record:
        return record, _NOTHING
    names, values_of = _plan(record.__class__)
    values = values_of(record)
    parts = _texts_in(values)
    mark = hash((record.__class__, *parts))
    if mark in clean.marks or not scrubber.suspects("\n".join(parts)):
        clean.note(record, mark)
        return record, _NOTHING
    counts: Counter[str] = Counter()
    changes: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        new_value = _scrub(scrubber, "", value, counts)
        if new_value != value:
            changes[name] = _within(name, new_value, value)
    if not changes:
        clean.note(record, mark)
        return record, _NOTHING
    return replace(record, **changes), dict(counts)  # type: ignore[type-var]  # V is a value


def outgoing(scrubber: Scrubber, record: V) -> V:
    """On the way out: what was kept before it was scrubbed, or by other rules, does not leave."""
    return scrubbed_record(scrubber, record)[0]


def scrubbed_json(scrubber: Scrubber, value: Any) -> tuple[Any, Mapping[str, int]]:
    """Any JSON value, keys and all."""
    counts: Counter[str] = Counter()
    return _scrub(scrubber, "", value, counts), dict(counts)


@cache
def _plan(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The fields of a record that are declared to hold text; of any other value all fields: what they hold tells."""
    entry = find_kind(kind)
    names = tuple(f.name for f in fields(kind)) if entry is None else entry.texts
    # Two at least, since of one alone the getter would not make a tuple.
    names = names if len(names) > 1 else (*names, *names)
    return names, attrgetter(*names)


def _texts_in(values: Sequence[Any]) -> list[str]:
    """The texts of all fields, so that a clean record costs one look. An id of ours or a peer's
    fingerprint is no text: it is long enough to be a token and would cost the record a closer look.
    """
    texts: list[str] = []
    for value in values:
        if not value:
            continue
        kind = value.__class__
        if kind is str:
            if len(value) not in _CHARS_OF_NAMES or not (is_own(value) or is_by_fingerprint(value)):
                texts.append(value)
        elif kind is tuple or kind is list:
            texts += [part for part in value if type(part) is str and (len(part) != ID_CHARS or not is_own(part))]
        elif kind is dict or isinstance(value, Mapping):
            texts.append(json.dumps(value, default=str, ensure_ascii=False))
    return texts


def _scrub(scrubber: Scrubber, name: str, value: Any, counts: Counter[str]) -> Any:
    kind = type(value)
    if value is None or (kind is str and not name and scrubber.passes(value)):
        # Most of what stands beside the one field that made the whole suspect.
        return value
    if isinstance(value, str):
        if isinstance(value, Enum):
            return value
        clean = scrubber.scrub_value(name, value) if name else scrubber.scrub(value)
        counts.update(clean.found)
        return clean.text
    if isinstance(value, (list, tuple)):
        return kind([_scrub(scrubber, name, inner, counts) for inner in value])
    if isinstance(value, Mapping):
        return {
            _scrub(scrubber, "", key, counts): _scrub(scrubber, key if isinstance(key, str) else "", inner, counts)
            for key, inner in value.items()
        }
    return value


def _within(name: str, clean: Any, before: Any) -> Any:
    # A placeholder may be longer than what it stands for, and a field that was full must stay readable.
    limit = _LIMITS.get(name, MAX_NAME_CHARS)
    if isinstance(clean, str):
        return clean[: max(limit, len(before))]
    return tuple(dict.fromkeys(part[:limit] for part in clean)) if isinstance(clean, tuple) else clean
