"""Validates what a caller hands over and makes a record of it, or says why not.

Text is taken as it is, except that what no UTF-8 file can hold (an unpaired surrogate) and what ends strings elsewhere
(NUL) become U+FFFD.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any, TypeVar, cast

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import replace
from reasoningbank.core.origins import clean_origin
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import EVERY_NAMESPACE, Draft, Memory, Outcome, Scope, State

MAX_TITLE_CHARS = 500
MAX_DESCRIPTION_CHARS = 10_000
MAX_CONTENT_CHARS = 1_000_000
MAX_NAME_CHARS = 200
LONGEST_RULE_CHARS = 500
MAX_TAGS = 4_096
MAX_TAG_CHARS = 4_096
MAX_TAGS_CHARS = 65_535
"""Characters of all tags together."""
_FEW_TAGS = MAX_TAGS_CHARS // MAX_TAG_CHARS
MAX_METADATA_CHARS = 65_536
MAX_TIME_S = 1e13
"""Some 300,000 years either way; also what keeps out NaN and infinity."""
_REPLACED = pattern("[\ud800-\udfff\x00]")
_TENANT = pattern(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
_CONTROL = pattern(r"[\x00-\x1f\x7f]")

E = TypeVar("E", bound=StrEnum)


def clean_text(value: object, name: str, limit_chars: int) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}.")
    if len(value) > limit_chars:
        raise InvalidInput(
            f"{name} has {len(value):,} characters; the limit is {limit_chars:,}. Keep the lesson, point to the rest."
        )
    # Both checks are far cheaper than the search, and most text passes them.
    return value if value.isascii() and "\0" not in value else _REPLACED.sub("\ufffd", value)


def required_text(value: object, name: str, limit_chars: int) -> str:
    text = clean_text(value, name, limit_chars)
    if not text or text.isspace():
        raise InvalidInput(f"{name} is empty.")
    return text


def clean_name(value: object, name: str) -> str:
    """A namespace, tag, agent or other short name: one line, no control characters, no spaces around it."""
    return _clean_name(value, name) if isinstance(value, str) else required_text(value, name, MAX_NAME_CHARS)


# The same few names come with every memory.
@lru_cache(maxsize=1024)
def _clean_name(value: str, name: str) -> str:
    return _clean_line(value, name, MAX_NAME_CHARS)


def _clean_line(value: object, name: str, limit_chars: int) -> str:
    text = required_text(value, name, limit_chars).strip()
    if not text.isprintable() and _CONTROL.search(text):
        raise InvalidInput(f"{name} {text!r} has control characters in it.")
    return text


def optional_name(value: object, name: str) -> str | None:
    return None if value is None or value == "" else clean_name(value, name)


def clean_namespace(value: object) -> str:
    namespace = clean_name(value, "namespace")
    if namespace == EVERY_NAMESPACE:
        raise InvalidInput(f"{EVERY_NAMESPACE!r} means every namespace and can only be searched, not stored in.")
    return namespace


def clean_tenant(value: object) -> str:
    """Plain ASCII and nothing that could stand for another tenant, for all of them, or for none."""
    if not isinstance(value, str) or not _TENANT.fullmatch(value):
        raise InvalidInput(
            "A tenant is named by 1 to 128 letters (a-z, A-Z), digits or any of . _ : @ -, and begins with a letter "
            "or a digit."
        )
    return value


def one_of(enum: type[E], value: object, name: str) -> E:
    if isinstance(value, enum):
        return value
    try:
        return cast("E", _members(enum)[cast("str", value)])
    except (KeyError, TypeError):
        raise InvalidInput(f"{name} {value!r} is unknown: use one of {', '.join(enum)}.") from None


@cache
def _members(enum: type[StrEnum]) -> dict[str, Any]:
    # A look into a dictionary takes a fifth of the time that asking the class takes.
    return {member.value: member for member in enum}


def clean_tags(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput("tags must be a list of words.")
    tags = tuple(dict.fromkeys([_clean_tag(tag) for tag in value]))
    if len(tags) > MAX_TAGS:
        raise InvalidInput(f"{len(tags):,} tags; the limit is {MAX_TAGS:,}.")
    if len(tags) > _FEW_TAGS and sum(map(len, tags)) > MAX_TAGS_CHARS:
        raise InvalidInput(f"The tags have more than {MAX_TAGS_CHARS:,} characters together, which is the limit.")
    return tags


def _clean_tag(value: object) -> str:
    if isinstance(value, str) and len(value) <= MAX_NAME_CHARS:
        return clean_name(value, "a tag")
    # Too long to be remembered with the names that come again and again.
    return _clean_line(value, "a tag", MAX_TAG_CHARS)


def clean_metadata(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput("metadata must be a mapping of names to JSON values.")
    if not value:
        return {}
    try:
        # Not escaped, so that what UTF-8 cannot hold stands in the text as itself and NUL alone as an escape.
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"metadata cannot be written as JSON: {error}.") from None
    if len(text) > MAX_METADATA_CHARS:
        raise InvalidInput(f"metadata takes {len(text):,} characters as JSON; the limit is {MAX_METADATA_CHARS:,}.")
    return dict(json.loads(_ESCAPED_NUL.sub("\\1\ufffd", _REPLACED.sub("\ufffd", text))))


# An even number of backslashes before it: those are escaped backslashes, and this one really begins an escape.
_ESCAPED_NUL = pattern(r"(?<!\\)((?:\\\\)*)\\u0000")


def clean_fraction(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {value!r}.")
    return float(value)


def clean_time(value: object, name: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_TIME_S:
        return float(value)
    raise InvalidInput(f"{name} must be seconds since 1970, not {value!r}.")


def memory_from(
    draft: Draft, *, memory_id: str, tenant: str, namespace: str, initial_confidence: float, now: float
) -> Memory:
    """`namespace` (a clean one) and `initial_confidence` stand in where the draft is silent."""
    created_at = now if draft.created_at is None else clean_time(draft.created_at, "created_at")
    confidence = initial_confidence if draft.initial_confidence is None else draft.initial_confidence
    return Memory(
        id=memory_id,
        tenant=tenant,
        namespace=namespace if draft.namespace is None else clean_namespace(draft.namespace),
        scope=one_of(Scope, draft.scope, "scope"),
        title=required_text(draft.title, "title", MAX_TITLE_CHARS),
        description=clean_text(draft.description, "description", MAX_DESCRIPTION_CHARS),
        content=required_text(draft.content, "content", MAX_CONTENT_CHARS),
        outcome=one_of(Outcome, draft.outcome, "outcome"),
        key=None if draft.key is None else required_text(draft.key, "key", MAX_TITLE_CHARS),
        tags=clean_tags(draft.tags) if draft.tags else (),
        agent=optional_name(draft.agent, "agent"),
        task_type=optional_name(draft.task_type, "task_type"),
        cognitive_pattern=optional_name(draft.cognitive_pattern, "cognitive_pattern"),
        origin=clean_origin(draft.origin),
        parents=() if draft.parents == () else _parents(draft.parents),
        source=optional_name(draft.source, "source"),
        metadata=clean_metadata(draft.metadata) if draft.metadata else {},
        initial_confidence=clean_fraction(confidence, "initial_confidence"),
        created_at=created_at,
        updated_at=created_at,
        revision=1,
        state=State.ACTIVE,
    )


def _parents(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput("parents must be a list of ids.")
    return tuple(clean_name(parent, "a parent") for parent in value)


_EDITABLE: dict[str, Any] = {
    "title": lambda value: required_text(value, "title", MAX_TITLE_CHARS),
    "description": lambda value: clean_text(value, "description", MAX_DESCRIPTION_CHARS),
    "content": lambda value: required_text(value, "content", MAX_CONTENT_CHARS),
    "outcome": lambda value: one_of(Outcome, value, "outcome"),
    "scope": lambda value: one_of(Scope, value, "scope"),
    "namespace": clean_namespace,
    "tags": clean_tags,
    "agent": lambda value: optional_name(value, "agent"),
    "task_type": lambda value: optional_name(value, "task_type"),
    "cognitive_pattern": lambda value: optional_name(value, "cognitive_pattern"),
    "metadata": clean_metadata,
    "state": lambda value: one_of(State, value, "state"),
}
EDITABLE_FIELDS = tuple(_EDITABLE)
AUTO, KEEP, RESET = "auto", "keep", "reset"
EVIDENCE_WISHES = (AUTO, KEEP, RESET)
"""Treatments of the evidence about the text before an edit: by its words (`core.advice`), keep it, or begin anew."""


def evidence_wish(value: object) -> str:
    if value not in EVIDENCE_WISHES:
        raise InvalidInput(f"evidence {value!r} is unknown: use one of {', '.join(EVIDENCE_WISHES)}.")
    return str(value)


def next_revision(memory: Memory, changes: Mapping[str, Any], now: float) -> Memory:
    """The next revision, or the memory itself when nothing really changes."""
    unknown = sorted(set(changes) - set(_EDITABLE))
    if unknown:
        raise InvalidInput(f"{', '.join(unknown)} cannot be edited: choose from {', '.join(EDITABLE_FIELDS)}.")
    contents = {name: _EDITABLE[name](value) for name, value in changes.items()}
    if all(getattr(memory, name) == value for name, value in contents.items()):
        return memory
    return replace(memory, **contents, revision=memory.revision + 1, updated_at=max(now, memory.updated_at))
