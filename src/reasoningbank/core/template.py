"""The form of a short text: its words in order, with a slot where a parameter stands.

Two tasks of one form differ only in names, numbers and quoted words: "How many commits did Ann make on 3/2?" and "How
many commits did Bo make in May?". Independent of how forms are kept or compared.
"""

from __future__ import annotations

from reasoningbank.core.patterns import pattern
from reasoningbank.core.stem import stem

SLOT = ""
"""Stands for a parameter, and for several in a row."""
LONGEST_FORM_CHARS = 1_000
"""Two tasks that begin alike for so long are of one form."""
SENTENCE_ENDS = frozenset(".?!")

_QUOTED = pattern(r'"[^"\n]{1,200}"|\u201c[^\u201d\n]{1,200}\u201d|`[^`\n]{1,200}`|(?<!\w)\'[^\'\n]{1,200}\'(?!\w)')
_QUOTES = "\"'`\u201c"
_PIECE = pattern(r"\x00|\w+(?:['\u2019./\\:@-]\w+)*|[.?!]")
_PLAIN = bytes(code for code in range(128) if chr(code).isalnum() or chr(code) in "_ \n\t")
"""ASCII in which nothing but words between spaces makes pieces."""
_PLACEHOLDER = "X"
_INSIDE_NAMES = frozenset("/_@\\")


def pieces(text: str) -> list[str]:
    """Words and sentence ends in order; what stands in quotes is one piece, a NUL."""
    if text.isascii() and not text.encode("ascii").translate(None, _PLAIN):
        return text.split()
    if any(quote in text for quote in _QUOTES):
        text = _QUOTED.sub(" \0 ", text)
    return _PIECE.findall(text)


def word_of(piece: str, *, first: bool) -> str:
    """The stem of a piece, or `SLOT` when it is a parameter; `first` in a sentence, a capital says nothing."""
    return SLOT if _is_parameter(piece, first=first) else stem(piece.casefold())


def form_of(text: str) -> str:
    """The words in order, with a slot for each run of parameters: the same for two tasks of one form."""
    words: list[str] = []
    first = True
    for piece in pieces(text[:LONGEST_FORM_CHARS]):
        ends = piece in SENTENCE_ENDS
        word = "" if ends else word_of(piece, first=first)
        if not ends and not (word == SLOT and words and words[-1] == SLOT):
            words.append(word)
        first = ends
    return " ".join(word or _PLACEHOLDER for word in words)


def _is_parameter(word: str, *, first: bool) -> bool:
    """A number, a path, a name: whatever is not an ordinary word."""
    if word.isalpha() and word.islower():
        return False
    if word == "I" or word.startswith(("I'", "I\u2019")):
        return False
    if word == "\0" or any(c.isdigit() or c in _INSIDE_NAMES for c in word):
        return True
    if len(word) > 1 and word.isupper():
        return True
    return any(c.isupper() for c in (word[1:] if first else word))
