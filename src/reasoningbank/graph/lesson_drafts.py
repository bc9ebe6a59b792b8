"""Reads lessons in the names `rb_id key_lesson context_to_prefer tags link_nodes`; they are kept as memories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_DESCRIPTION_CHARS,
    MAX_TITLE_CHARS,
    clean_text,
    one_of,
    required_text,
)
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Outcome
from reasoningbank.core.wording import clip_title
from reasoningbank.graph.drafts import read_entries, read_names, read_tags, refuse_twice, require

_FIELDS = frozenset({"rb_id", "key_lesson", "context_to_prefer", "tags", "link_nodes", "title", "outcome"})
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDraft:
    place: str
    name: str
    """Its key; "": it has none, and is known again by its content and description."""
    title: str
    content: str
    description: str
    outcome: Outcome
    tags: tuple[str, ...]
    links: tuple[str, ...]
    """The nodes that taught it."""


def read_lessons(items: object) -> list[LessonDraft]:
    drafts = [_lesson(place, values) for place, values in read_entries("lessons", items)]
    refuse_twice(drafts, [(draft.name,) for draft in drafts], "rb_id")
    return drafts


def _lesson(place: str, values: Mapping[str, Any]) -> LessonDraft:
    if unknown := sorted(values.keys() - _FIELDS):
        raise InvalidInput(f"{place}.{unknown[0]}: a lesson has no such field; it has {', '.join(sorted(_FIELDS))}.")
    try:
        lesson = required_text(require(values, "key_lesson"), "key_lesson", MAX_CONTENT_CHARS)
        return LessonDraft(
            place=place,
            name=_key(values.get("rb_id")),
            title=clean_text(values.get("title") or "", "title", MAX_TITLE_CHARS) or clip_title(lesson, _TITLE_CHARS),
            content=lesson,
            description=clean_text(values.get("context_to_prefer") or "", "context_to_prefer", MAX_DESCRIPTION_CHARS),
            outcome=one_of(Outcome, values.get("outcome", Outcome.SUCCESS), "outcome"),
            tags=read_tags(values),
            links=read_names(values.get("link_nodes"), "link_nodes"),
        )
    except InvalidInput as error:
        raise InvalidInput(f"{place}.{error}") from None


def _key(value: object) -> str:
    if value is None:
        return ""
    # It is a number (INT64) where it comes from.
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return required_text(text, "rb_id", MAX_TITLE_CHARS)
