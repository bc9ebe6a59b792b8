"""Finds where a value that was used came from: the user's words, or what an earlier action returned."""

from __future__ import annotations

from collections import deque

from reasoningbank.core.patterns import pattern

MOST_REMEMBERED = 60
LONGEST_READ_CHARS = 40_000
SHORTEST_VALUE_CHARS = 3
_VALUE = pattern(r"[#$]?[A-Za-z0-9][\w@-]*(?:\.\w+)*")
_DIGIT = pattern(r"\d")
_NAMES = pattern(r"[@/_]|\w\.\w")
_LETTER = pattern(r"[\w-]")
_YEAR = pattern(r"(?:19|20)\d\d")
SHORTEST_NUMBER_CHARS = 4


class ValuesSeen:
    """The texts that were said and returned so far, with the nodes that they come from."""

    def __init__(self) -> None:
        self._said: deque[tuple[str, str]] = deque(maxlen=MOST_REMEMBERED)
        self._returned: deque[tuple[str, str]] = deque(maxlen=MOST_REMEMBERED)

    def say(self, ref: str, text: str) -> None:
        """The user's words, for a request."""
        self._said.appendleft((ref, text[:LONGEST_READ_CHARS].casefold()))

    def give_back(self, ref: str, text: str) -> None:
        """Takes what an action returned."""
        self._returned.append((ref, text[:LONGEST_READ_CHARS].casefold()))

    def tellers_of(self, value: str) -> list[str]:
        """Origins of a value: the request with which the user named it last, and the action that returned it first.

        None where nobody did, or where it may be chance.
        """
        if not is_telling(value):
            return []
        needle = value.casefold()
        refs = (
            next((ref for ref, text in texts if _holds(text, needle)), None) for texts in (self._said, self._returned)
        )
        return [ref for ref in refs if ref is not None]


def is_telling(value: str) -> bool:
    """True if a value is seen again for a reason: not a small number, a flag or a common word."""
    if len(value) < SHORTEST_VALUE_CHARS or "\n" in value or len(value) > 200:
        return False
    if _DIGIT.search(value):
        return len(value) >= SHORTEST_NUMBER_CHARS or not value.isdigit()
    # A name, a path or an address; neither plain words, such as a reason chosen from a list, nor a code such as USA.
    return bool(_NAMES.search(value)) or (
        len(value) >= SHORTEST_NUMBER_CHARS and not value.islower() and not value.isupper()
    )


def shared_values(answer: str, result: str) -> list[str]:
    """Values with digits in an answer that a result returned, the most telling first."""
    there = {value.strip("$#").casefold() for value in _VALUE.findall(result[:LONGEST_READ_CHARS])}
    candidates = [value for value in _VALUE.findall(answer) if _DIGIT.search(value) and len(value.strip("$#")) >= 3]
    candidates = [value for value in candidates if not _YEAR.fullmatch(value)]
    common = [value for value in dict.fromkeys(candidates) if value.strip("$#").casefold() in there]
    return sorted(common, key=lambda value: len(value) < SHORTEST_NUMBER_CHARS)


def _holds(text: str, value: str) -> bool:
    at = text.find(value)
    if at < 0:
        return False
    before, after = text[at - 1 : at] if at else " ", text[at + len(value) : at + len(value) + 1] or " "
    return not _LETTER.match(before) and not _LETTER.match(after)
