"""JSON schemas of what models are asked for, for servers that can hold a model to one.

In the strict form that they take: every property is required and no other is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from reasoningbank.core.learning import (
    LONGEST_LESSON_CONTENT_CHARS,
    LONGEST_LESSON_DESCRIPTION_CHARS,
    LONGEST_LESSON_TITLE_CHARS,
    VerdictOutcome,
)

MOST_TAGS = 8
BRIEF_CONTENT_CHARS = 500


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _text(most_chars: int | None = None, *, has_limit: bool = False) -> dict[str, Any]:
    """Schema of a text. Lengths are told and, unless a model has shown that it needs it, not set: some servers
    become slow by it, and some refuse it.
    """
    hint: dict[str, Any] = {} if most_chars is None else {"description": f"at most {most_chars} characters"}
    return {"type": "string", **hint, **({"maxLength": most_chars} if has_limit else {})}


VERDICT_SCHEMA: Final = _object(
    reason=_text(),
    evidence=_text(),
    verdict={"type": "string", "enum": [outcome.value for outcome in VerdictOutcome]},
)
"""The reason first: what is written first is what the rest is written from."""


def lessons_schema(outcome: VerdictOutcome, most: int, *, brief: bool = False) -> dict[str, Any]:
    """Schema for up to `most` lessons of a session that ended as `outcome`; where nobody could judge it, of either
    kind.

    `brief` is for a model that did not come to an end: every text is bound, and there are no tags, in which a small
    model repeats itself until it is cut off.
    """
    both = [VerdictOutcome.SUCCESS.value, VerdictOutcome.FAILURE.value]
    lesson = _object(
        title=_text(LONGEST_LESSON_TITLE_CHARS, has_limit=brief),
        description=_text(LONGEST_LESSON_DESCRIPTION_CHARS, has_limit=brief),
        content=_text(BRIEF_CONTENT_CHARS if brief else LONGEST_LESSON_CONTENT_CHARS, has_limit=brief),
        outcome={"type": "string", "enum": both if outcome is VerdictOutcome.UNKNOWN else [outcome.value]},
        **({} if brief else {"tags": {"type": "array", "items": _text(), "maxItems": MOST_TAGS}}),
    )
    return _object(memories={"type": "array", "items": lesson, "maxItems": most})


def graph_schema(labels: Sequence[str], special_fields: Sequence[str]) -> dict[str, Any]:
    """Schema for the nodes and edges that a model finds in a conversation."""
    list_fields = ("analysis_types", "metrics", "relevant_parts")
    words = {"type": "array", "items": _text()}
    fields = {name: words if name in list_fields else _text() for name in special_fields}
    node = _object(id=_text(), label={"type": "string", "enum": list(labels)}, quote=_text(), tags=words, **fields)
    edge = _object(source=_text(), target=_text(), text=_text(), weight={"type": "number"}, tags=words)
    return _object(nodes={"type": "array", "items": node}, edges={"type": "array", "items": edge})
