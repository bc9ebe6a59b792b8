"""Tells a slip of the fingers from a mistake: a word that is a letter or two off the one that then worked."""

from __future__ import annotations

from collections.abc import Iterable

SHORTEST_WORD_CHARS = 3
LONGEST_WORD_CHARS = 40


def is_typo(wrong: str, right: str) -> bool:
    """True if two words differ as typing differs: letters only, few of them."""
    longest = max(len(wrong), len(right))
    if wrong == right or min(len(wrong), len(right)) < SHORTEST_WORD_CHARS or longest > LONGEST_WORD_CHARS:
        return False
    if wrong.casefold() == right.casefold():
        return False
    if _without_letters(wrong) != _without_letters(right):
        return False
    # In a short word one letter may differ, in a longer one two.
    return distance(wrong, right) <= (1 if longest <= 5 else 2)


def are_typos(pairs: Iterable[tuple[str, str]]) -> bool:
    """True if each replacement is a slip."""
    replacements = list(pairs)
    return bool(replacements) and all(is_typo(old, new) for old, new in replacements)


def distance(word: str, other: str) -> int:
    """Edit distance: letters to change, leave out, put in or swap with the next."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        current = [row]
        for column, there in enumerate(other, 1):
            best = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != there))
            if row > 1 and column > 1 and letter == other[column - 2] and word[row - 2] == there:
                best = min(best, before[column - 2] + 1)
            current.append(best)
        before, last = last, current
    return last[-1]


def _without_letters(word: str) -> str:
    return "".join(sign for sign in word if not sign.isalpha())
