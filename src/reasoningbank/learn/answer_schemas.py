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


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _text(most_chars: int | None = None) -> dict[str, Any]:
    """Lengths are told, not set: many servers refuse a schema that sets them, and some become slow by it."""
    told = {} if most_chars is None else {"description": f"at most {most_chars} characters"}
    return {"type": "string", **told}


VERDICT_SCHEMA: Final = _object(
    reason=_text(),
    evidence=_text(),
    verdict={"type": "string", "enum": [outcome.value for outcome in VerdictOutcome]},
)
"""The reason first: what is written first is what the rest is written from."""


def lessons_schema(outcome: VerdictOutcome, most: int) -> dict[str, Any]:
    """For so many lessons of a session that ended like this; of one that nobody could judge, of either kind."""
    both = [VerdictOutcome.SUCCESS.value, VerdictOutcome.FAILURE.value]
    lesson = _object(
        title=_text(LONGEST_LESSON_TITLE_CHARS),
        description=_text(LONGEST_LESSON_DESCRIPTION_CHARS),
        content=_text(LONGEST_LESSON_CONTENT_CHARS),
        tags={"type": "array", "items": _text(), "maxItems": MOST_TAGS},
        outcome={"type": "string", "enum": both if outcome is VerdictOutcome.UNKNOWN else [outcome.value]},
    )
    return _object(memories={"type": "array", "items": lesson, "maxItems": most})


def graph_schema(labels: Sequence[str], special_fields: Sequence[str]) -> dict[str, Any]:
    """For the nodes and edges that a model finds in a conversation."""
    several = ("analysis_types", "metrics", "relevant_parts")
    words = {"type": "array", "items": _text()}
    fields = {name: words if name in several else _text() for name in special_fields}
    node = _object(id=_text(), label={"type": "string", "enum": list(labels)}, quote=_text(), tags=words, **fields)
    edge = _object(source=_text(), target=_text(), text=_text(), weight={"type": "number"}, tags=words)
    return _object(nodes={"type": "array", "items": node}, edges={"type": "array", "items": edge})
