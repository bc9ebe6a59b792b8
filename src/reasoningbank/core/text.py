"""Splits text into the terms that keyword search compares.

Words, identifiers, scripts without spaces, and the caps that keep hostile text cheap; independent of what a term is
worth, of a text's language and of where terms are kept. `terms` is `tokens` followed by `forms` of each; an index calls
the two apart so that it can remember the forms of a token it has met before.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import islice

from reasoningbank.core.patterns import pattern

Stem = Callable[[str], str]

LONGEST_TERM = 64
"""Longer words and identifiers are known by their first characters only."""
MOST_TOKENS = 20_000
"""Tokens taken from one text; what comes later in it is not found by keywords."""

_LONGEST_TOKEN = 4096

# `\w` leaves out the combining marks without which Hebrew, Arabic and Indic words fall apart.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0903\u093a-\u0963\u0980-\u0983\u09bc-\u09d7\u0a00-\u0a03"
    "\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56"
    "\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf"
)
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)


def _join(letter: str) -> str:
    word = rf"{letter}+(?:['\u2019]{letter}+)*"
    return rf"{word}(?:[./\\:-]{word}){{0,63}}"


_ASCII_TOKEN = pattern(_join(r"\w"), re.ASCII)
_APART = bytes(code if chr(code).isalnum() or chr(code) in "_'./\\:-" else 32 for code in range(128)) + bytes(128)
"""From ASCII to what can stand in a token; everything else parts them."""
_PLAIN = bytes(code for code in range(128) if chr(code).isalnum() or chr(code) == " ")
_PIECE = pattern(r"[^\W_](?:[^./\\:_-]*[^./\\:_-])?")
_HUMP = pattern(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_POSSESSIVE = pattern(r"['\u2019][sS](?![^\W_])")
_APOSTROPHES = pattern(r"['\u2019]")


# Compiled when the first text beyond ASCII comes: they take ten milliseconds, which most starts can spare.
@cache
def _any_token() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]+|" + _join(rf"(?:(?![{_UNSPACED}])[\w{_MARKS}])"))


@cache
def _invisible() -> re.Pattern[str]:
    return re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]")


def encodable(text: str) -> str:
    """Without unpaired surrogates, which have no UTF-8 and would fail inside a client that sends them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def terms(text: str, *, stem: Stem | None = None) -> list[str]:
    """Every term of a text, in order, repeated as often as it occurs."""
    return [term for token in tokens(text) for term in forms(token, stem=stem)]


def tokens(text: str) -> list[str]:
    """Words, joined identifiers and runs of unspaced script, case kept; at most `MOST_TOKENS` of them."""
    if text.isascii():
        if len(text) <= MOST_TOKENS:
            return _plain_tokens(text)
        pattern = _ASCII_TOKEN
    else:
        pattern = _any_token()
        text = _invisible().sub("", unicodedata.normalize("NFKC", text))
    if len(text) <= MOST_TOKENS:
        return pattern.findall(text)
    return [match.group() for match in islice(pattern.finditer(text), MOST_TOKENS)]


def _plain_tokens(text: str) -> list[str]:
    """The same tokens as by `_ASCII_TOKEN`, in a third of the time: most words stand alone and need no pattern."""
    ascii_bytes = text.encode("ascii").translate(_APART)
    pieces = ascii_bytes.decode("ascii").split()
    if not ascii_bytes.translate(None, _PLAIN):
        return pieces
    words: list[str] = []
    for piece in pieces:
        if piece.isalnum():
            words.append(piece)
        else:
            words += _ASCII_TOKEN.findall(piece)
    return words


def forms(token: str, *, stem: Stem | None = None) -> tuple[str, ...]:
    """The terms of one token: an identifier whole and in parts, an unspaced run in pairs, a word as itself."""
    if token.isalpha() and token.isascii() and (token.islower() or token.istitle()):
        return (_term(token, stem),)
    if not token.isascii() and _unspaced_pattern().match(token):
        return _pairs(token)
    token = _APOSTROPHES.sub("", _POSSESSIVE.sub("", token[:_LONGEST_TOKEN]))
    parts = [part for piece in _PIECE.findall(token) for part in _HUMP.split(piece)]
    if len(parts) == 1 and len(parts[0]) == len(token):
        return (_term(token, stem),)
    token_terms = [_term(part, stem) for part in parts]
    if len(token) <= LONGEST_TERM and parts:
        token_terms.insert(0, token.casefold())
    return tuple(token_terms)


def _term(word: str, stem: Stem | None) -> str:
    term = word[:LONGEST_TERM].casefold()
    return stem(term) if stem else term


def _pairs(run: str) -> tuple[str, ...]:
    run = run[:MOST_TOKENS]
    return (run,) if len(run) == 1 else tuple(run[i : i + 2] for i in range(len(run) - 1))
