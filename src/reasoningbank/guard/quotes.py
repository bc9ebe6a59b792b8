"""Quotes a program's words in a lesson: short, factual, between marks. What reads otherwise is left out.

A tool's output is somebody else's text, and whoever reads a lesson would take it for advice of ours. So a lesson quotes
a report (names, numbers, the words in which programs complain, words of the reader's own action) and nothing else; free
prose, in whatever language, and anything that tells its reader what to do stays in the session, where it was said.

The words in which programs complain stand in `report_words.txt`. Verbs that tell a reader what to do are few there on
purpose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

from reasoningbank.core.patterns import pattern
from reasoningbank.guard.hidden import visible
from reasoningbank.guard.homoglyphs import is_disguised
from reasoningbank.guard.instruction_detection import instructs
from reasoningbank.guard.joining_words import FOREIGN_JOINING_WORDS

OPENING, CLOSING = "“", "”"
LONGEST_QUOTE_CHARS = 160
LONGEST_NAME_CHARS = 60
MOST_WORDS_OF_A_NAME = 8
MOST_STRANGE_WORDS = 1
SHARE_OF_STRANGE = 0.34
MOST_STRANGE_IN_NAMES = 10
MOST_JOINING = 2
_JOINING = FOREIGN_JOINING_WORDS | frozenset({
    "the", "and", "a", "an", "of", "that", "this", "these", "those", "it", "are", "was", "were", "be", "been",
    "being", "must", "should", "shall", "would", "could", "you", "your", "we", "our", "their", "them", "they",
    "then", "than", "with", "before", "after", "whenever", "always", "never", "not", "into", "there", "here",
    "to", "for", "in", "on", "has", "have", "do", "danach", "erst",
})  # fmt: skip
"""Words that join others: one of them may be a column's name."""
ADDRESS = "(an address)"
LEFT_OUT = "a message that is left out here: it does not read like a report"
_ADDRESS = pattern(
    r"\b[a-z]{2,10}://[^\s'\"<>”]+|\b(?:[\w.+-]+@)?(?:[a-z0-9-]+\.)+"
    r"(?:com|net|org|info|biz|io|dev|app|ai|co|me|xyz|top|site|online|cloud|gov|edu|int|mil|eu|uk|us|de|fr|nl|ru|cn|jp|in|br"
    r"|test|example|invalid|localhost)\b(?![\w.(-])(?:[:/][^\s'\"<>”]*)?",
    re.IGNORECASE,
)
_MARKS = str.maketrans({"“": "'", "”": "'", "„": "'", "`": "'", '"': "'", "«": "'", "»": "'"})
_SPACE = pattern("[\\s\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_TOKEN = pattern(r"(?:[^\s()\[\]{}\"'“”`,;!?|]|(?<=\w)['’](?=\w))+")
_PLAIN = pattern(r"[^\W\d_]+(?:['’][a-z]{1,2})?")
_PARTS = pattern(r"[^\W\d_]+")
_HUMP = pattern(r"(?<=[a-z])(?=[A-Z])")
_STOCK = pattern(
    r"you have an error in your (?:\w+ )?syntax; check the manual that corresponds to your [\w. ]{3,30} version for the"
    r" right syntax to use(?: near)?|did you mean:?|for (?:more )?(?:help|information|details)|most similar command is",
    re.IGNORECASE,
)
"""Sentences that programs have said to everybody for years, though they speak to their reader."""


def quote(text: str, own: str = "", limit_chars: int = LONGEST_QUOTE_CHARS) -> str:
    """The words between marks, or "" when they are no report. `own` is what the reader did, in the reader's words."""
    line = as_one_line(text)
    if not is_report(line, own):
        return ""
    return f"{OPENING}{clip(_ADDRESS.sub(ADDRESS, line).translate(_MARKS), limit_chars - 2)}{CLOSING}"


def as_one_line(text: str) -> str:
    return _SPACE.sub(" ", visible(text, markup=False)).strip()


@lru_cache(maxsize=512)
def is_report(line: str, own: str = "") -> bool:
    """True if a line is what a program reports, by its words alone."""
    prose = _STOCK.sub(" ", _ADDRESS.sub(" ", line))
    if any(len(address) > LONGEST_NAME_CHARS for address in _ADDRESS.findall(line)):
        return False
    if not line or "<!--" in line or is_disguised(prose) or instructs(prose):
        return False
    own_words = _words(own)
    plain = strange = in_names = 0
    for token in (raw.strip(".:*=-") for raw in _TOKEN.findall(prose)):
        if _PLAIN.fullmatch(token):
            plain += 1
            strange += len(token) > 1 and not _is_known(token, own_words)
        elif len(token) > LONGEST_NAME_CHARS and token.casefold() not in own.casefold():
            return False
        else:
            in_names += sum(not _is_known(part, own_words) for part in _parts(token) if len(part) > 1)
    few = strange <= MOST_STRANGE_WORDS or strange <= SHARE_OF_STRANGE * plain * (strange <= 2 * MOST_STRANGE_WORDS)
    return few and in_names <= MOST_STRANGE_IN_NAMES


def is_plain_name(name: str) -> bool:
    """True if a name that a tool listed is a name, and not a sentence with its words tied together."""
    parts = _parts(name)
    return len(name) <= LONGEST_NAME_CHARS and len(parts) <= MOST_WORDS_OF_A_NAME and not instructs(" ".join(parts))


def are_plain_names(names: Sequence[str]) -> bool:
    """True if names one after the other are a list, and not a sentence either: those have words that name nothing."""
    words = [part for name in names for part in _parts(name)]
    joining = _JOINING.intersection(map(str.casefold, names))
    return len(joining) < MOST_JOINING and not instructs(" ".join(words))


def _is_known(word: str, own: frozenset[str]) -> bool:
    plain = word.casefold().replace("’", "'")
    vocabulary = _report_words()
    return plain in vocabulary or plain in own or plain.removesuffix("s") in vocabulary


@lru_cache(maxsize=64)
def _words(own: str) -> frozenset[str]:
    return frozenset(part.casefold() for part in _parts(own))


def _parts(text: str) -> list[str]:
    return _PARTS.findall(_HUMP.sub(" ", text))


def clip(text: str, limit_chars: int) -> str:
    """At a word, with a mark where something is missing."""
    if len(text) <= limit_chars:
        return text
    cut = text[: limit_chars - 1]
    at_word = cut.rsplit(" ", 1)[0]
    return (at_word if len(at_word) > limit_chars // 2 else cut).rstrip(" ,;:.-(") + "…"


@cache
def _report_words() -> frozenset[str]:
    return frozenset((Path(__file__).parent / "report_words.txt").read_text("utf-8").split())
