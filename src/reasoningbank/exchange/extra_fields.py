"""Fields of other systems that a memory has no place for: kept in its metadata, or named as left out.

Nothing is dropped silently. Vectors are left out by rule, since they are made anew here by this bank's own embedder,
and so is what does not fit into the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from reasoningbank.core.drafts import MAX_METADATA_CHARS, MAX_TAG_CHARS, MAX_TAGS, MAX_TAGS_CHARS
from reasoningbank.exchange.coerce import json_or_text, text_of

_ROOM_CHARS = MAX_METADATA_CHARS - 2_048
"""Less than there is, since what guards a memory may add its warnings."""
_MOST_NUMBERS = 64
"""A longer list of nothing but numbers is a vector."""


def extra_fields(
    values: Mapping[str, Any], used: Collection[str], base: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields that are not `used`, over the metadata of `base`, and the names of those left out."""
    metadata: dict[str, Any] = dict(base or {})
    candidates = [(name, value) for name, value in values.items() if name not in used and value is not None]
    if not candidates:
        return metadata, ()
    room = _ROOM_CHARS - len(json.dumps(metadata, default=str))
    left_out = []
    for name, value in candidates:
        size = _size(name, value)
        if _is_vector(name, value) or size is None or size > room:
            left_out.append(str(name))
            continue
        metadata[text_of(name)] = value
        room -= size
    return metadata, tuple(left_out)


def _size(name: str, value: object) -> int | None:
    """How many characters a field takes as JSON; None when it cannot be written."""
    try:
        return len(json.dumps({name: value}, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None


def _is_vector(name: str, value: object) -> bool:
    if name.endswith("_vector") and isinstance(value, (list, dict)):
        return True
    return isinstance(value, list) and len(value) > _MOST_NUMBERS and all(isinstance(v, (int, float)) for v in value)


def whole_tags(value: object) -> tuple[tuple[str, ...], bool]:
    """Tags from a list, a JSON text or words between commas, each in full; and whether some had to stay behind."""
    plain = json_or_text(value)
    entries = plain.split(",") if isinstance(plain, str) else plain if isinstance(plain, (list, tuple)) else ()
    tags = dict.fromkeys(
        tag for entry in entries if isinstance(entry, (str, int, float)) and (tag := " ".join(text_of(entry).split()))
    )
    whole: list[str] = []
    room = MAX_TAGS_CHARS
    for tag in tags:
        if len(tag) <= min(MAX_TAG_CHARS, room) and len(whole) < MAX_TAGS:
            whole.append(tag)
            room -= len(tag)
    return tuple(whole), len(whole) < len(tags)
