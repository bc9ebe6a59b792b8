"""Features of a question: its words, the names in it, and what kind of question it is.

For people who ask why a search found what it did. Nothing is ranked by it.
"""

from __future__ import annotations

import re

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.core.text import tokens
from reasoningbank.recall.gaps import ASKING
from reasoningbank.recall.plan import FAULT, NAME, plan_query

MOST_KEYWORDS = 24
_QUESTION = pattern(
    r"\?\s*$|^\s*(?:how|what|why|where|when|who|which|can|could|should|may|must|is|are|does|do|did|will)\b",
    re.IGNORECASE,
)
_MOST_CHARS_FOR_NAMES = 20_000
"""A question of more is one word without end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    keywords: tuple[str, ...]
    """The words that carry the question, in its order, once each."""
    names: tuple[str, ...]
    """Paths, flags, identifiers and codes, which are matched to the letter."""
    kind: str
    """error, question or task."""
    is_cut: bool
    """True if the text was long, so that only what it asks, what went wrong and its names are looked for."""


def features_of(text: str) -> Features:
    question = plan_query(text)
    words = [word.casefold() for word in tokens(question)]
    keywords = [word for word in dict.fromkeys(words) if word not in ASKING and any(map(str.isalnum, word))]
    return Features(
        keywords=tuple(keywords[:MOST_KEYWORDS]),
        names=tuple(dict.fromkeys(NAME.findall(question[:_MOST_CHARS_FOR_NAMES]))),
        kind=_kind(question),
        is_cut=question != text,
    )


def _kind(question: str) -> str:
    if _QUESTION.search(question):
        return "question"
    return "error" if FAULT.search(question) else "task"
