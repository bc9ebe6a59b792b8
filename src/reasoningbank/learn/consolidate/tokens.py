"""Tokenizes a text for comparison: words, and literals such as numbers, paths, flags and identifiers.

Pure. What the tokens mean is decided in `wording` and `claims`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b

from reasoningbank.core.stem import stem
from reasoningbank.learn.consolidate import vocabulary

LONGEST_CHARS = 20_000
"""Longest text that is compared; a longer one is merged only with the very same."""
LONGEST_TOKEN_CHARS = 100
"""A longer one is known by its beginning and a digest: no list of words may grow with what somebody writes."""
_APOSTROPHES = re.compile("[\u2019\u02bc\u2018]")
_NEGATED = re.compile(r"\b(can|won|shan|[a-z]+)n't\b|\bcannot\b", re.IGNORECASE)
_WHOLE = {"can": "can", "wo": "will", "sha": "shall", "ca": "can"}
_TOKEN = re.compile(r"""[^\s,;()\[\]{}"'`<>|!?\u201c\u201d\u2026]+""")
_EDGE = ".:;,*#~\u2013\u2014"
_INSIDE_LITERALS = re.compile(r"[0-9/_\\=@$%.:+&^~*]")
_HUMP = re.compile(r"[a-z][A-Z]")
_TELLING = re.compile(r"\w")


def tokens_of(text: str) -> Iterator[str]:
    text = _APOSTROPHES.sub("'", text[:LONGEST_CHARS])
    text = _NEGATED.sub(lambda match: f"{_WHOLE.get((match[1] or 'can').lower(), match[1] or 'can')} not", text)
    for match in _TOKEN.finditer(text):
        token = match.group().strip(_EDGE)
        if not _TELLING.search(token):
            continue
        if len(token) > LONGEST_TOKEN_CHARS:
            token = f"{token[:LONGEST_TOKEN_CHARS]}#{digest(token)}"
        if is_literal(token):
            yield token
        else:
            yield from (part for part in token.split("-") if part)


def is_literal(token: str) -> bool:
    if token.startswith("-") or _INSIDE_LITERALS.search(token):
        return True
    return bool(_HUMP.search(token)) and stem(token.casefold()) not in vocabulary.SAME


def digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
