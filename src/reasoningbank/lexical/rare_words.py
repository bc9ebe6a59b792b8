"""Finds the rare words of a question: names, codes and whatever an everyday text does not hold by chance.

A memory that holds such a word is worth showing, however little a model makes of it. Words are judged by their shape
and by a table of ordinary stems (`ordinary_words.bin`, made by `scripts/build_ordinary_words.py`), not by how many
memories hold them.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.patterns import pattern
from reasoningbank.core.text import LONGEST_TERM, forms, tokens
from reasoningbank.lexical.entries import stop_keys
from reasoningbank.lexical.hashing import term_keys

FILE = Path(__file__).with_name("ordinary_words.bin")
SHORTEST = 3
"""Characters of a rare word: one or two letters or digits stand anywhere."""
_NAMING = pattern(r"[\d_./\\:]|[a-z][A-Z]|[A-Z][A-Z]")
MOST_RARE_WORDS = 16
_RARE_ONE_IN = 50


def most_holders(rows: int) -> int:
    """How many of a tenant's memories may hold a word that still counts as rare: one in fifty, and one in any case."""
    return max(1, rows // _RARE_ONE_IN)


def find_rare_terms(text: str) -> tuple[NDArray[np.uint32], int]:
    """The terms of a text that are rare words, as keys, at most `MOST_RARE_WORDS`; and how many words it has in all,
    function words aside.
    """
    words = dict.fromkeys(tokens(text))
    rare = dict.fromkeys(key for key in map(_rare_term, words) if key is not None)
    content_words = sum(map(_is_meant, words))
    return np.array(list(rare)[:MOST_RARE_WORDS], np.uint32), max(1, content_words)


def is_rare(word: str) -> bool:
    """True if a word is a name, a code, or one that an everyday text does not hold by chance."""
    return any(_rare_term(token) is not None for token in tokens(word))


@lru_cache(maxsize=4096)
def _rare_term(token: str) -> int | None:
    parts = forms(token)
    if not parts or not SHORTEST <= len(parts[0]) <= LONGEST_TERM:
        return None
    key = term_keys([token])[0]
    if len(parts) > 1:
        # Of an identifier only the whole counts: its parts are words like others, and so are those of "third-party".
        return key if _NAMING.search(token) else None
    return None if key in stop_keys() or key in _ordinary() else key


@lru_cache(maxsize=4096)
def _is_meant(token: str) -> bool:
    return not stop_keys().issuperset(term_keys([token]))


@cache
def _ordinary() -> frozenset[int]:
    return frozenset(np.frombuffer(FILE.read_bytes(), "<u4").tolist())
