"""Finds where a value that was used came from: the words or the result in which it was seen last."""

from __future__ import annotations

import re
from collections import deque

from reasoningbank.core.patterns import pattern
from reasoningbank.core.stopwords import STOP_WORDS

MOST_REMEMBERED = 60
LONGEST_READ_CHARS = 40_000
SHORTEST_VALUE_CHARS = 3
_VALUE = pattern(r"[#$]?[A-Za-z0-9][\w@-]*(?:\.\w+)*")
_DIGIT = pattern(r"\d")


class ValuesSeen:
    """What was said and returned so far, the latest first."""

    def __init__(self) -> None:
        self._told: deque[tuple[str, str]] = deque(maxlen=MOST_REMEMBERED)

    def add(self, ref: str, text: str) -> None:
        self._told.appendleft((ref, text[:LONGEST_READ_CHARS].casefold()))

    def source_of(self, value: str) -> str | None:
        """The name of what told this value last; None where nobody did, or where it may be chance."""
        if not is_telling(value):
            return None
        wanted = value.casefold()
        for ref, text in self._told:
            at = text.find(wanted)
            if at >= 0 and _stands_alone(text, at, len(wanted)):
                return ref
        return None


def is_telling(value: str) -> bool:
    """Whether a value is seen again for a reason: not a small number, a flag or a common word."""
    if len(value) < SHORTEST_VALUE_CHARS or "\n" in value or len(value) > 200:
        return False
    if _DIGIT.search(value):
        return len(value) >= 4 or not value.isdigit()
    if value.islower() and value.isalpha():
        return False
    return value.casefold() not in STOP_WORDS


def shared_values(answer: str, result: str) -> list[str]:
    """Values with digits in an answer that a result returned, in the order of the answer."""
    there = {found.strip("$#").casefold() for found in _VALUE.findall(result[:LONGEST_READ_CHARS])}
    told = dict.fromkeys(
        found for found in _VALUE.findall(answer) if _DIGIT.search(found) and len(found.strip("$#")) >= 3
    )
    return [value for value in told if value.strip("$#").casefold() in there]


def _stands_alone(text: str, at: int, length: int) -> bool:
    before, after = text[at - 1 : at], text[at + length : at + length + 1]
    return not re.match(r"\w", before or " ") and not re.match(r"\w", after or " ")
