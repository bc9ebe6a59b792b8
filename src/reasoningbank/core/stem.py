"""Porter stemmer: English words to their stems, by M. F. Porter's algorithm of 1980.

A word of another language or with anything but a–z comes back as it is. Stems are for comparing, not for reading:
"relational" and "relate" both become "relat".
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_SHORTEST, _LONGEST = 3, 64
_MOST_REMEMBERED = 1 << 16
"""Words; a language has about as many that occur twice, and each takes as long as looking up a hundred."""
# Without patterns: compiling nine of them took a tenth of a first search, and short words are walked as fast.
_VOWELS, _VOWELS_AND_Y = frozenset("aeiou"), frozenset("aeiouy")
_NEVER_DOUBLED = frozenset("aeiouylsz")
_NEVER_SHORT = frozenset("aeiouwxy")

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


def _longest_first(suffixes: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(suffixes, key=len, reverse=True))


_SECOND_SUFFIXES, _THIRD_SUFFIXES, _FOURTH_SUFFIXES = map(_longest_first, (_SECOND, _THIRD, _FOURTH))


def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if not _SHORTEST <= len(word) <= _LONGEST or not (word.isascii() and word.isalpha() and word.islower()):
        return word
    return _stem(word)


def cache_size() -> int:
    """How many words are kept with their stems: a bound on memory that a hostile text must not lift."""
    return _stem.cache_info().currsize


@lru_cache(maxsize=_MOST_REMEMBERED)
def _stem(word: str) -> str:
    word = _past_and_progressive(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _SECOND_SUFFIXES, _SECOND)
    word = _replace(word, _THIRD_SUFFIXES, _THIRD)
    base, suffix = _split_suffix(word, _FOURTH_SUFFIXES)
    if suffix and _measure(base) > 1 and (suffix != "ion" or base.endswith(("s", "t"))):
        word = base
    return _tidy(word)


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_and_progressive(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word and _has_vowel(base):
            if base.endswith(("at", "bl", "iz")) or (1 in _measures(base) and _is_short(base)):
                return base + "e"
            is_double = base[-2:-1] == base[-1:] and base[-1:] not in _NEVER_DOUBLED
            return base[:-1] if is_double else base
    return word


def _replace(word: str, suffixes: tuple[str, ...], endings: dict[str, str]) -> str:
    base, suffix = _split_suffix(word, suffixes)
    return base + endings[suffix] if suffix and _measure(base) else word


def _tidy(word: str) -> str:
    base = word.removesuffix("e")
    if base != word and ((measure := _measure(base)) > 1 or (measure and not _is_short(base))):
        word = base
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


# ---------------------------------------------------------------- letters


def _split_suffix(word: str, suffixes: tuple[str, ...]) -> tuple[str, str]:
    """The word without the longest of the suffixes that leaves something of it, and that suffix; "" when none does."""
    if word.endswith(suffixes):
        for suffix in suffixes:
            if word.endswith(suffix) and len(word) > len(suffix):
                return word[: -len(suffix)], suffix
    return word, ""


def _has_vowel(word: str) -> bool:
    return not _VOWELS_AND_Y.isdisjoint(word)


def _measure(word: str) -> int:
    """Porter's: how many runs of vowels followed by consonants there are."""
    return max(_measures(word), default=0)


def _measures(word: str) -> list[int]:
    """One, or two for a word that begins with y, which may stand for either."""
    measures: list[int] = []
    if word and word[0] in _VOWELS_AND_Y:
        measures.append(_turns(word, 0))
    if word and word[0] not in _VOWELS:
        measures.append(_turns(word, _after_consonants(word, 1)))
    return measures


def _turns(word: str, at: int) -> int:
    """From a vowel or y on: within a word y is a vowel after consonants and a consonant after vowels."""
    count, size = 0, len(word)
    while at < size:
        at += 1
        while at < size and word[at] in _VOWELS:
            at += 1
        if at < size:
            count += 1
            at = _after_consonants(word, at + 1)
    return count


def _after_consonants(word: str, at: int) -> int:
    while at < len(word) and word[at] not in _VOWELS_AND_Y:
        at += 1
    return at


def _is_short(word: str) -> bool:
    """Consonants, one vowel and a consonant that is not w, x or y."""
    if word[:1] in _VOWELS:
        return False
    at = _after_consonants(word, 1)
    return at == len(word) - 2 and word[-1] not in _NEVER_SHORT
