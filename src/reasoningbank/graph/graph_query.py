"""Questions to the memory graph: the type, and its validation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.drafts import clean_fraction, clean_name, clean_tags, clean_text
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass, fields, replace
from reasoningbank.core.types import EVERY_NAMESPACE, NodeLabel
from reasoningbank.graph.moments import parse_moment
from reasoningbank.graph.subgraph import LESSON
from reasoningbank.graph.visible import namespace_asked

EDGE = "Edge"
"""The label of an edge's sentence among the nodes."""
LABELS = (*(label.value for label in NodeLabel), EDGE, LESSON)
MAX_QUESTION_CHARS = 200_000
MAX_HITS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuery:
    text: str
    labels: tuple[str, ...] = ()
    """Any of them; none is all, `Edge` and `Lesson` included."""
    tags: tuple[str, ...] = ()
    """All of them."""
    tags_first: bool = True
    """True if only what has the tags is compared; else the most alike are found first, and those with the tags kept."""
    roles: tuple[str, ...] = ()
    """Any of them: of those who asked (`user_role`)."""
    conv_id: str | None = None
    since: Any = None
    """An ISO date or time. Binds events by their windows, all else by when it was written down."""
    until: Any = None
    namespace: str | None = None
    """None is the bank's own, "*" is every one."""
    limit: int = 10
    floor: float | None = None
    """The relevance below which nothing is found; None is the calibrated one."""
    exclude: tuple[str, ...] = ()
    """Conversations that must not come back (for evaluation: a task must not find its own)."""


def make_query(context: BankContext, question: str | GraphQuery, filters: Mapping[str, Any]) -> GraphQuery:
    """A question with its filters, as it is asked: cleaned, without secrets, with times in seconds."""
    names = {field.name for field in fields(GraphQuery)} - {"text"}
    if unknown := sorted(filters.keys() - names):
        raise InvalidInput(f"{unknown[0]!r} is no filter of the graph: use {', '.join(sorted(names))}.")
    query = GraphQuery(text=question) if isinstance(question, str) else question
    if not isinstance(query, GraphQuery):
        raise InvalidInput(f"The question must be a text, not {question!r}.")
    query = replace(query, **filters)
    text = clean_text(query.text, "question", MAX_QUESTION_CHARS)
    if not text.strip():
        raise InvalidInput("The question is empty: say what you want to know.")
    if isinstance(query.limit, bool) or not isinstance(query.limit, int) or not 1 <= query.limit <= MAX_HITS:
        raise InvalidInput(f"limit must be a whole number from 1 to {MAX_HITS:,}, not {query.limit!r}.")
    if query.floor is not None:
        clean_fraction(query.floor, "floor")
    namespace = namespace_asked(context, query.namespace)
    return replace(
        query,
        text=context.scrubber.scrub(text).text,
        labels=tuple(_label(label) for label in _several(query.labels, "labels")),
        tags=clean_tags(_several(query.tags, "tags")),
        roles=tuple(clean_name(role, "role") for role in _several(query.roles, "roles")),
        conv_id=None if query.conv_id is None else clean_name(query.conv_id, "conv_id"),
        since=None if query.since is None else parse_moment(query.since, "since").first,
        until=None if query.until is None else parse_moment(query.until, "until").last,
        namespace=EVERY_NAMESPACE if namespace is None else namespace,
        exclude=tuple(
            clean_name(conversation, "a conversation to exclude") for conversation in _several(query.exclude, "exclude")
        ),
    )


def _several(values: object, name: str) -> tuple[Any, ...]:
    if isinstance(values, str):
        return (values,)
    if not isinstance(values, Iterable):
        raise InvalidInput(f"{name} must be a list, not {values!r}.")
    return tuple(values)


def _label(value: object) -> str:
    for label in LABELS:
        if isinstance(value, str) and value.lower() == label.lower():
            return label
    raise InvalidInput(f"label {value!r} is unknown: use one of {', '.join(LABELS)}.")
