"""English words to their stems, by M. F. Porter's algorithm of 1980.

Knows the suffixes of English and nothing else; a word of another language or with anything but a–z comes back as it is.
Stems are for comparing, not for reading: "relational" and "relate" both become "relat".
"""

from __future__ import annotations

import re
from functools import lru_cache

from reasoningbank.core.patterns import pattern

_SHORTEST, _LONGEST = 3, 64
_MOST_REMEMBERED = 1 << 16
"""Words; a language has about as many that occur twice, and each takes as long as looking up a hundred."""
_C = "[^aeiou]"
_V = "[aeiouy]"
_WORD = pattern("[a-z]+")

# Porter's measure, how many runs of vowels followed by consonants there are: one or more, just one, two or more.
_SOME = pattern(f"^(?:{_C}[^aeiouy]*)?{_V}[aeiou]*{_C}")
_ONE = pattern(f"^(?:{_C}[^aeiouy]*)?{_V}[aeiou]*{_C}[^aeiouy]*(?:{_V}[aeiou]*)?$")
_MORE = pattern(f"^(?:{_C}[^aeiouy]*)?{_V}[aeiou]*{_C}[^aeiouy]*{_V}[aeiou]*{_C}")
_VOWEL = pattern(f"^(?:{_C}[^aeiouy]*)?{_V}")
_SHORT = pattern(f"^{_C}[^aeiouy]*{_V}[^aeiouwxy]$")
_DOUBLE = pattern(r"([^aeiouylsz])\1$")

_SECOND = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_THIRD = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_FOURTH = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


def _suffix(suffixes: list[str]) -> re.Pattern[str]:
    return pattern(f"^(.+?)({'|'.join(sorted(suffixes, key=len, reverse=True))})$")


_SECOND_SUFFIX = _suffix(list(_SECOND))
_THIRD_SUFFIX = _suffix(list(_THIRD))
_FOURTH_SUFFIX = _suffix(list(_FOURTH))


def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if not _SHORTEST <= len(word) <= _LONGEST or not _WORD.fullmatch(word):
        return word
    return _stemmed(word)


def remembered() -> int:
    """How many words are kept with their stems: a bound on memory that a hostile text must not lift."""
    return _stemmed.cache_info().currsize


@lru_cache(maxsize=_MOST_REMEMBERED)
def _stemmed(word: str) -> str:
    word = _past_and_progressive(_plural(word))
    if word.endswith("y") and _VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _SECOND_SUFFIX, _SECOND)
    word = _replaced(word, _THIRD_SUFFIX, _THIRD)
    return _tidied(_without_ending(word))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_and_progressive(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _SOME.match(word[:-3]) else word
    for ending in ("ed", "ing"):
        left = word.removesuffix(ending)
        if left != word and _VOWEL.match(left):
            if left.endswith(("at", "bl", "iz")) or (_ONE.match(left) and _SHORT.match(left)):
                return left + "e"
            return left[:-1] if _DOUBLE.search(left) else left
    return word


def _replaced(word: str, pattern: re.Pattern[str], endings: dict[str, str]) -> str:
    found = pattern.match(word)
    if found and _SOME.match(found[1]):
        return found[1] + endings[found[2]]
    return word


def _without_ending(word: str) -> str:
    found = _FOURTH_SUFFIX.match(word)
    if found and _MORE.match(found[1]) and (found[2] != "ion" or found[1].endswith(("s", "t"))):
        return found[1]
    return word


def _tidied(word: str) -> str:
    left = word.removesuffix("e")
    if left != word and (_MORE.match(left) or (_SOME.match(left) and not _SHORT.match(left))):
        word = left
    if word.endswith("ll") and _MORE.match(word):
        word = word[:-1]
    return word
