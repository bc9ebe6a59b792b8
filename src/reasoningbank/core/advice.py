"""Tells whether an edited memory still gives the same advice, so that its evidence goes on counting.

A text is the same advice when the same words are left once these are set aside: case, punctuation and layout, small
words that carry nothing ("the", "please"), the endings of words, a compound written apart, and a misspelt word.
Numbers, names (anything with a digit, a sign or a capital inside) and denials are never misspelt. Whole sentences may
come or go while at least half of the words stay and none of those sentences says no.

Pure, and about words alone: it cannot know that two texts mean the same, so in doubt it says that they do not.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import chain

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank.core.stem import stem
from reasoningbank.core.types import Memory

DENIALS = frozenset({
    "not", "no", "never", "none", "nor", "neither", "cannot", "without", "avoid", "stop", "skip", "unless", "except",
    "only", "instead", "disable", "false", "off",
})  # fmt: skip
"""Words that turn an advice round or bound it."""
FILLERS = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "which", "who", "it", "its", "is", "are", "was", "were", "be",
    "been", "being", "to", "of", "and", "also", "then", "so", "just", "simply", "really", "very", "please", "quite",
    "basically", "you", "your", "we", "our", "us", "i", "me", "my", "should", "must", "ought", "need", "needs", "do",
    "does", "will", "would",
})  # fmt: skip
"""Words whose coming and going changes no advice."""
MOST_WORDS_COMPARED = 400
"""On either side, after what begins and ends alike; where more than that differs, it is another text."""
SHORTEST_MISSPELT = 4
SHORTEST_WITH_ANOTHER_LETTER = 6
"""In shorter words another letter makes another word: tabs, tags."""
SHORTEST_MISSPELT_TWICE = 9
_LAYOUT = pattern(r"(?m)^[ \t]*(?:[-*+\u2022>]+|#{1,6}|\d{1,3}[.)])[ \t]+")
_SENTENCE_END = pattern(r"(?<=[.!?;:])\s+|\n+")
_NEGATED = pattern(r"(?i)\b(?:(ca|wo|sha)|([a-z]+))n't\b")
_EDGES = "\"'`*_~.,;:!?()[]{}\u2013\u2014\u2026"
_LEADING = "\"'`*_~,;:!?()[]{}\u2013\u2014\u2026"
_OPERATOR = pattern(r"[=<>!&|+/%^]+")
_QUOTES = str.maketrans("\u2018\u2019\u02bc\u201c\u201d", "'''\"\"")


@dataclass(frozen=True, slots=True)
class Word:
    key: str
    """Under which it is compared."""
    text: str
    is_name: bool


def is_same_advice(before: Memory, after: Memory) -> bool:
    """True if evidence about the one text is evidence about the other."""
    if before.outcome is not after.outcome:
        return False
    if before.content != after.content and not _is_same_text(before.content, after.content):
        return False
    # Titles and descriptions get polished: they are other advice only where one name or number took another's place.
    return not any(
        _is_swapped(old, new)
        for old, new in ((before.title, after.title), (before.description, after.description))
        if old != new
    )


def _is_same_text(before: str, after: str) -> bool:
    old, new = _sentences(before), _sentences(after)
    if _has_same_words(list(chain(*old)), list(chain(*new))):
        return True
    omissions: list[Word] = []
    additions: list[Word] = []
    # Compared by their words, each sentence as one item.
    keys_old, keys_new = ([tuple(word.key for word in sentence) for sentence in text] for text in (old, new))
    for tag, i, j, k, m in SequenceMatcher(None, keys_old, keys_new, autojunk=False).get_opcodes():
        if tag == "delete":
            omissions += chain(*old[i:j])
        elif tag == "insert":
            additions += chain(*new[k:m])
        elif tag == "replace" and not _has_same_words(list(chain(*old[i:j])), list(chain(*new[k:m]))):
            return False
    if any(word.key in _DENIAL_KEYS for word in chain(omissions, additions)):
        return False
    return 2 * len(omissions) <= sum(map(len, old)) and 2 * len(additions) <= sum(map(len, new))


def _has_same_words(before: Sequence[Word], after: Sequence[Word]) -> bool:
    """True if two runs of words are the same, apart from misspelt words and compounds written apart."""
    start, end = 0, 0
    shorter = min(len(before), len(after))
    while start < shorter and before[start].key == after[start].key:
        start += 1
    while end < shorter - start and before[-1 - end].key == after[-1 - end].key:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(old), len(new)) > MOST_WORDS_COMPARED:
        return False
    matcher = SequenceMatcher(None, [word.key for word in old], [word.key for word in new], autojunk=False)
    return all(
        tag == "equal" or (tag == "replace" and _is_respelt(old[i:j], new[k:m]))
        for tag, i, j, k, m in matcher.get_opcodes()
    )


def _is_respelt(old: Sequence[Word], new: Sequence[Word]) -> bool:
    if len(old) == len(new):
        return all(_is_misspelling(word, other) for word, other in zip(old, new, strict=True))
    names = any(word.is_name for word in (*old, *new))
    return not names and "".join(word.text for word in old) == "".join(word.text for word in new)


def _is_misspelling(word: Word, other: Word) -> bool:
    if word.is_name or other.is_name or not _DENIAL_KEYS.isdisjoint((word.key, other.key)):
        return False
    return any(map(_is_slip, (word.text, word.key), (other.text, other.key)))


def _is_slip(a: str, b: str) -> bool:
    if a[0] != b[0] or min(len(a), len(b)) < SHORTEST_MISSPELT:
        return False
    distance = _distance(a, b)
    replacements = sum((Counter(a) - Counter(b)).values()) and sum((Counter(b) - Counter(a)).values())
    if distance == 1:
        return not replacements or max(len(a), len(b)) >= SHORTEST_WITH_ANOTHER_LETTER
    return distance == 2 and replacements <= 1 and min(len(a), len(b)) >= SHORTEST_MISSPELT_TWICE


def _distance(a: str, b: str) -> int:
    """Letters put in, left out, exchanged, or swapped with their neighbour."""
    if abs(len(a) - len(b)) > 2:
        return 3
    rows = [list(range(len(b) + 1))]
    for i, letter in enumerate(a, start=1):
        row = [i]
        for j, other in enumerate(b, start=1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def _is_swapped(before: str, after: str) -> bool:
    # Names and denials alone.
    old, new = (
        Counter(word.key for word in chain(*_sentences(text)) if word.is_name or word.key in _DENIAL_KEYS)
        for text in (before, after)
    )
    removals, additions = old - new, new - old
    denials = (sum(n for key, n in words.items() if key in _DENIAL_KEYS) for words in (removals, additions))
    return bool(removals and additions) or any(denials)


# ---------------------------------------------------------------- words


def _sentences(text: str) -> list[list[Word]]:
    plain = _LAYOUT.sub("", unicodedata.normalize("NFKC", text).translate(_QUOTES))
    plain = _NEGATED.sub(lambda match: f"{match[2] or _WHOLE[match[1].casefold()]} not", plain)
    sentences = (
        [word for raw in part.split() if (word := _word(raw)) is not None] for part in _SENTENCE_END.split(plain)
    )
    return [sentence for sentence in sentences if sentence]


_WHOLE = {"ca": "can", "wo": "will", "sha": "shall"}


def _word(raw: str) -> Word | None:
    """None for what says nothing: a filler, or punctuation alone."""
    token = raw.lstrip(_LEADING).rstrip(_EDGES)
    if not any(map(str.isalnum, token)):
        # A sign of a comparison or a joint is advice; a dash or a bullet is not.
        return Word(raw, raw, is_name=True) if _OPERATOR.fullmatch(raw) else None
    compound = token.replace("-", "") if not token.startswith("-") else token
    if not compound.replace("'", "").isalpha():
        return Word(token.casefold(), token.casefold(), is_name=True)
    text = compound.replace("'", "").casefold()
    if text in FILLERS:
        return None
    # Where letters have no case (Chinese, Arabic), a "word" may be a whole sentence, and one sign another one.
    is_name = any(map(str.isupper, compound[1:])) or text.upper() == text
    return Word(stem(text), text, is_name=is_name)


_DENIAL_KEYS = frozenset(map(stem, DENIALS))
