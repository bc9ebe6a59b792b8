"""A memory from a bare JSON object: our own field names, contextd's, or those of a lesson.

    ours       title content description outcome tags namespace key …
    contextd   id project_id tenant_id confidence usage_count source_session created_at last_used …
    lesson     rb_id key_lesson context_to_prefer tags link_nodes …

What has no field of its own goes into the metadata under its own name, so that an export in the same names gives it
back. Nothing is dropped silently: vectors are left out by rule, since they are made anew here by this bank's own
embedder, and so is what does not fit into the metadata; both are named.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any

from reasoningbank.core.drafts import (
    MAX_METADATA_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
    MAX_TAGS_CHARS,
    clean_text,
    memory_from,
)
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.ids import derived_id
from reasoningbank.core.types import Draft, Outcome, Scope
from reasoningbank.core.wording import clip_title
from reasoningbank.exchange.coerce import identity_of, json_or_text, moment_of, outcome_of, share_of, text_of
from reasoningbank.exchange.items import IncomingMemory, SkippedItem
from reasoningbank.guard.speakers import without_witness

LESSON, WHEN, LESSON_ID, LINKS = "key_lesson", "context_to_prefer", "rb_id", "link_nodes"
LESSON_ORIGIN = "import:lessons"
LESSON_TITLE_CHARS = 80
NAMESPACE_NAMES = ("namespace", "project_id", "domain")
_DRAFT_FIELDS = frozenset(f.name for f in fields(Draft))
_DRAFT_NEEDS = [f.name for f in fields(Draft) if f.default is MISSING and f.default_factory is MISSING]
_OTHER_NAMES = {"project_id": "namespace", "domain": "namespace", "source_session": "source", "id": "key"}
_OF_A_LESSON = frozenset(
    {LESSON, WHEN, "tags", "title", "outcome", "key", "scope", "agent", "task_type", "confidence", "metadata", "origin"}
)

_ROOM_CHARS = MAX_METADATA_CHARS - 2_048
"""Less than there is, since what guards a memory may add its warnings."""
_MOST_NUMBERS = 64
"""A longer list of nothing but numbers is a vector."""


def is_lesson(values: Mapping[str, Any]) -> bool:
    return bool(text_of(values.get(LESSON)))


def is_memory(values: Mapping[str, Any]) -> bool:
    return isinstance(values.get("title"), str) and isinstance(values.get("content"), str)


def item_from(what: str, values: Mapping[str, Any]) -> IncomingMemory | SkippedItem:
    """From values that are `make_storable`; `what` names the place in the file, for the reason why it is skipped."""
    item = _lesson(what, values) if is_lesson(values) else _memory(what, values)
    if isinstance(item, IncomingMemory):
        try:
            memory_from(item.draft, memory_id="", tenant="", namespace="", initial_confidence=0.5, now=0.0)
        except InvalidInput as error:
            return SkippedItem(what=what, why=str(error))
    return item


def make_storable(value: Any) -> Any:
    """With texts that any store accepts: JSON allows halves of characters, UTF-8 does not."""
    # By exact types, which are all that JSON has: every field of every line comes here.
    kind = type(value)
    if kind is str:
        return clean_text(value, "text", len(value))
    if kind is list:
        return [make_storable(entry) for entry in value]
    if kind is dict:
        return {make_storable(name): make_storable(entry) for name, entry in value.items()}
    return value


# ---------------------------------------------------------------- title, content and what else there may be


def _memory(what: str, values: Mapping[str, Any]) -> IncomingMemory | SkippedItem:
    fields = {name: value for name, value in values.items() if name in _DRAFT_FIELDS and value is not None}
    lacking = [name for name in _DRAFT_NEEDS if name not in fields]
    if lacking:
        return SkippedItem(what=what, why=f"neither a record of ours nor a memory: {', '.join(lacking)} missing")
    for name in ("tags", "parents"):
        if name in fields:
            if not isinstance(fields[name], list):
                return SkippedItem(what=what, why=f"{name} must be a list")
            fields[name] = tuple(fields[name])
    if not isinstance(fields.get("metadata", {}), dict):
        return SkippedItem(what=what, why="metadata must be an object")
    used = _DRAFT_FIELDS.union(_translate(fields, values))
    fields["metadata"], left_out = _extra_fields(values, used, fields.get("metadata"))
    origin = fields.setdefault("origin", "import:jsonl")
    fields["origin"] = without_witness(origin.strip()) if isinstance(origin, str) else origin
    draft = Draft(**fields)
    identity = "\x1f".join(str(part) for part in (draft.namespace, draft.title, draft.description, draft.content))
    return IncomingMemory(identity=f"jsonl:{derived_id('x', identity)}", draft=draft, left_out=left_out)


def _translate(fields: dict[str, Any], values: Mapping[str, Any]) -> set[str]:
    """Put what stands under other names into the fields of a draft; says which names were used up."""
    used: set[str] = set()
    for other, ours in _OTHER_NAMES.items():
        text = text_of(values.get(other))
        if text and ours not in fields:
            fields[ours] = text
            used.add(other)
    share = share_of(values.get("confidence"))
    if share is not None and "initial_confidence" not in fields:
        fields["initial_confidence"] = share
        used.add("confidence")
    created_at = fields.pop("created_at", None)
    moment = moment_of(created_at) if isinstance(created_at, str) else created_at
    if moment is not None:
        fields["created_at"] = moment
    return used


# ---------------------------------------------------------------- a lesson


def _lesson(what: str, values: Mapping[str, Any]) -> IncomingMemory | SkippedItem:
    lesson, when, own_id = (text_of(values.get(name)) for name in (LESSON, WHEN, LESSON_ID))
    outcome = outcome_of(values.get("outcome"))
    if values.get("outcome") is not None and outcome is None:
        return SkippedItem(
            what=what, why=f"its outcome {text_of(values['outcome'])[:40]!r} is neither success nor failure"
        )
    tags, beyond = _whole_tags(values.get("tags"))
    # A number is given back from the key; anything else must be kept as it was written.
    number = values.get(LESSON_ID)
    is_text_id = "key" in values or (number is not None and (isinstance(number, bool) or not isinstance(number, int)))
    used = {*_OF_A_LESSON, *([] if is_text_id else [LESSON_ID])}
    namespace_name = next((name for name in NAMESPACE_NAMES if text_of(values.get(name))), None)
    own_metadata = values.get("metadata")
    metadata, left_out = _extra_fields(
        values, used | {namespace_name or ""}, own_metadata if isinstance(own_metadata, dict) else None
    )
    draft = Draft(
        title=text_of(values.get("title")) or clip_title(lesson, LESSON_TITLE_CHARS),
        description=when,
        content=lesson,
        key=text_of(values.get("key")) or own_id or None,
        namespace=text_of(values[namespace_name]) if namespace_name else None,
        tags=tags,
        agent=text_of(values.get("agent")) or None,
        task_type=text_of(values.get("task_type")) or None,
        origin=LESSON_ORIGIN,
        metadata=metadata,
        initial_confidence=share_of(values.get("confidence")),
        created_at=moment_of(values.get("created_at")),
        outcome=outcome or Outcome.SUCCESS,
        scope=values.get("scope") or Scope.PROJECT,
    )
    identity = identity_of("lesson", own_id, lesson, when)
    return IncomingMemory(identity=identity, draft=draft, left_out=(*left_out, *(["some tags"] if beyond else [])))


# ---------------------------------------------------------------- fields without a place of their own


def _extra_fields(
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


def _whole_tags(value: object) -> tuple[tuple[str, ...], bool]:
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
