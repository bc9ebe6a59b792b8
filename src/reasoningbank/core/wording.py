"""Numbers, headlines and occasions in words, for people and for models.

A label that is put before a text must not repeat its first word: "AVOID: Avoid …", "When: When …".
"""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import Memory, Outcome

_AVOIDING = pattern(r"(?:avoid|never|do not|don['’]t)\b[\s:,–—-]*", re.IGNORECASE)
_MADE_KEY = pattern(r"\w+ [0-9a-f]{16}")
TITLE_CHARS = 80
_OCCASION = pattern(r"(?:avoid(?:\s+(?:it|this))?\s+)?when(?:ever)?\b[\s:,–—-]*", re.IGNORECASE)


def shown_key(memory: Memory) -> str:
    """A key that somebody chose and that says more than the title; "" for one that a distiller made."""
    key = memory.key or ""
    return "" if key == memory.title or _MADE_KEY.fullmatch(key) else key


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: 1 memory, 2 memories."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(count: int) -> str:
    """A number of bytes: 512 B, 1.5 MB."""
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def clip_title(text: str, limit: int = TITLE_CHARS) -> str:
    """The first line, cut at a word when it is too long for a title."""
    line = text.strip().splitlines()[0].strip() if text.strip() else ""
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    return (head.rsplit(" ", 1)[0] if " " in head else head).rstrip(" ,;:.-") + "…"


def headline(title: str, outcome: str) -> str:
    """A title as a list shows it: one to be avoided says so, once."""
    return f"AVOID: {avoid_title(title)}" if outcome == Outcome.FAILURE else title


def avoid_title(title: str) -> str:
    """The title of a warning, to stand after the word AVOID."""
    return _rest(_AVOIDING, title)


def occasion(description: str) -> str:
    """When a memory applies, to stand after the word When."""
    return _rest(_OCCASION, description)


def _rest(opening: re.Pattern[str], text: str) -> str:
    match = opening.match(text.lstrip())
    rest = text.lstrip()[match.end() :] if match else ""
    return rest or text
