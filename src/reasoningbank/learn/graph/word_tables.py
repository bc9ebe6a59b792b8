"""Patterns made from lists of words: alternatives that stand alone, written without a thought for line lengths."""

from __future__ import annotations

import re

from reasoningbank.core.patterns import pattern

WordTable = tuple[tuple[str, re.Pattern[str]], ...]
"""Names, each with the words that it goes by; the first that is found counts."""


def any_word(words: str) -> re.Pattern[str]:
    """Whole words, each an expression of its own, between spaces; an underscore stands for a space."""
    alternatives = "|".join(word.replace("_", " ") for word in words.split())
    return pattern(rf"\b(?:{alternatives})\b", re.IGNORECASE)


def first_named(table: WordTable, text: str) -> str:
    """The name of the first row of which a word is in a text; "" for none."""
    return next((name for name, words in table if words.search(text)), "")
