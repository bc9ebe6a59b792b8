"""Hides what a user marked as private wherever it comes back later: in a command, an output, an answer.

A value is seldom repeated with the sentence that told it. So besides whole lines these are values: what stands after
`=`, `:` or "is", what is quoted, and every word that is no plain one: with a digit, a sign or a capital inside a
sentence, or too rare for an everyday text. An ordinary word ("server") stays: a session could not be learned from
without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from reasoningbank.core.patterns import pattern
from reasoningbank.lexical.rare_words import is_rare

HIDDEN = "[private]"
SHORTEST_CHARS = 4
MOST_VALUES = 2_000
_WORD = pattern(r"[^\s\"'`<>()\[\]{},;]+")
_INNER = pattern(r"[/:@=?&|#]+")
_EDGES = ".,;:!?\"'`()[]{}<>"
_QUOTED = pattern(r"\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n]+)`|«([^»\n]+)»|“([^”\n]+)”|„([^“\n]+)“")
_NAMING = pattern(
    r"(?i)(?:[=:：](?!//)|->|=>|\b(?:is|are|was|named|called|namely|ist|sind|heißt|lautet|est|sont|es|son|é|è|sono)\b"
    r"|\b(?:pass(?:word|phrase|wd)|pw|pwd|pin|token|secret|login|user(?:name)?)\b|是|は)\s*"
)
_ENDS_SENTENCE = pattern(r"[.!?](?:\s|$)|[\n;]")


def private_values(spans: Iterable[str]) -> list[str]:
    """Values in these texts that must not be kept, the longest first."""
    values: dict[str, None] = {}
    for span in spans:
        values.update(dict.fromkeys(value for value in _values(span) if len(value) >= SHORTEST_CHARS))
    return sorted(values, key=len, reverse=True)[:MOST_VALUES]


def _values(span: str) -> Iterator[str]:
    for line in filter(None, map(str.strip, span.splitlines())):
        yield line
        for groups in _QUOTED.findall(line):
            yield from filter(None, groups)
        for naming in _NAMING.finditer(line):
            name = _ENDS_SENTENCE.split(line[naming.end() :], maxsplit=1)[0].strip(f" {_EDGES}")
            yield from (name, name.partition(" ")[0].strip(_EDGES))
        begins = True
        for match in _WORD.finditer(line):
            word = match[0].strip(_EDGES)
            parts = [part.strip(_EDGES) for part in _INNER.split(word)]
            yield from (part for part in (word, *parts) if _is_no_plain_word(part, begins=begins))
            begins = match[0].endswith((".", "!", "?"))


def _is_no_plain_word(word: str, *, begins: bool) -> bool:
    """True if a word is a name or a value by its form; a capital says nothing where a sentence begins."""
    if any(letter.isdigit() for letter in word) or any(sign in word for sign in "._-@/$%+*~\\"):
        return any(letter.isalnum() for letter in word)
    return any(letter.isupper() for letter in (word[1:] if begins else word)) or is_rare(word)


def hiding(values: Iterable[str]) -> Callable[[str], str]:
    """A function that takes these values out of a text: as whole words, in any case, escaped or not."""
    forms = {form for value in values for form in (value, json.dumps(value, ensure_ascii=False)[1:-1], quote(value))}
    if not forms:
        return lambda text: text
    longest_first = sorted(forms, key=len, reverse=True)
    finder = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)
    return lambda text: finder.sub(HIDDEN, text)
