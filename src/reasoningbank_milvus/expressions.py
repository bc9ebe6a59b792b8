"""Filters as Milvus expressions: what `recall.reach.is_allowed` means, to the letter.

Every text in one is quoted here and nowhere else. A literal may hold anything but its quote, a backslash and line
breaks, and those have escapes that every version knows.
"""

from __future__ import annotations

from collections.abc import Iterable

from reasoningbank.core.types import Scope
from reasoningbank.ports import Filter

NOTHING = 'rb_id == ""'
"""Passed by no row."""
MEMORIES = 'tenant != ""'
"""Passed by every row but those that keep a position."""
EMBEDDED, UNEMBEDDED = "is_embedded == true", "is_embedded == false"
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


def quote_text(text: str) -> str:
    # What UTF-8 cannot say is in no row either, and need not match anything.
    return f'"{text.encode("utf-8", "replace").decode().translate(_ESCAPES)}"'


def quote_list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(quote_text, texts))}]"


def expression_for(where: Filter) -> str:
    """Which rows pass a filter."""
    parts = [
        f"tenant == {quote_text(where.tenant)}",
        f"state in {quote_list(where.states)}",
        f"scope in {quote_list(where.scopes)}",
    ]
    if where.namespace is not None:
        parts.append(f"({_reach_of(where, where.namespace)})")
    for field, value in (("outcome", where.outcome), ("agent", where.agent), ("task_type", where.task_type)):
        if value is not None:
            # None is kept as "", which nobody is named.
            parts.append(f"{field} == {quote_text(value)}" if value else NOTHING)
    if where.tags:
        parts.append(f"array_contains_all(tags, {quote_list(where.tags)})")
    if where.without_tags:
        parts.append(f"not array_contains_any(tags, {quote_list(where.without_tags)})")
    return " and ".join(parts)


def _reach_of(where: Filter, namespace: str) -> str:
    team = f"scope == {quote_text(Scope.TEAM)}"
    if where.team is not None:
        word = "in" if where.team.inside else "not in"
        team = f"({team} and namespace {word} {quote_list(where.team.namespaces)})"
    return f"scope == {quote_text(Scope.ORG)} or namespace == {quote_text(namespace)} or {team}"
