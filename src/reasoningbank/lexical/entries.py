"""Memories to entries of the forward file: which terms each has, and how much.

Knows field weights and the entry format. Refuses to know how entries are looked up or scored.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.stopwords import STOP_WORDS
from reasoningbank.core.text import tokens
from reasoningbank.core.types import Memory
from reasoningbank.lexical.bm25 import KEYWORDS, UNITS
from reasoningbank.lexical.hashing import exact_term, id_term, tag_term, term_keys

ENTRY = np.dtype([("term", "<u4"), ("weight", "u1")])
_HEAVIEST = 255
_TITLE = round(UNITS * KEYWORDS.title_weight)
_DESCRIPTION = round(UNITS * KEYWORDS.description_weight)
_CONTENT = round(UNITS * KEYWORDS.content_weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    packed: NDArray[Any]
    counts: NDArray[np.int64]
    """Entries of each memory."""
    lengths: NDArray[np.uint32]
    """Weighted number of terms of each memory, in half units."""


def entries_of(memories: Sequence[Memory]) -> Entries:
    terms, weights = array("I"), array("I")
    counts, lengths = [], []
    for memory in memories:
        found, length = _weigh(memory)
        # Id, tags and whole texts are found by terms of their own, that no text can produce and that no length counts.
        whole = filter(None, (memory.title, memory.content, memory.key))
        for term in (id_term(memory.id), *map(tag_term, memory.tags), *map(exact_term, whole)):
            found.setdefault(term, 1)
        terms.extend(found)
        weights.extend(found.values())
        counts.append(len(found))
        lengths.append(length)
    packed = np.empty(len(terms), ENTRY)
    packed["term"] = np.frombuffer(terms, np.uint32)
    packed["weight"] = np.minimum(np.frombuffer(weights, np.uint32), _HEAVIEST)
    return Entries(packed=packed, counts=np.array(counts, np.int64), lengths=np.array(lengths, np.uint32))


def _weigh(memory: Memory) -> tuple[dict[int, int], int]:
    found: dict[int, int] = {}
    known = found.get
    length = 0
    most = KEYWORDS.most_terms_per_memory
    parts = [(memory.title, _TITLE), (memory.description, _DESCRIPTION), (memory.content, _CONTENT)]
    if memory.tags or memory.key:
        own_key = memory.key if memory.key and memory.key != memory.title else ""
        parts.append((" ".join((own_key, *memory.tags)), _CONTENT))
    for text, weight in parts:
        keys = term_keys(tokens(text))[:most]
        for key in keys:
            found[key] = known(key, 0) + weight
        length += weight * len(keys)
        if len(found) >= most:
            break
    return found, length


def query_terms(text: str) -> dict[int, int]:
    """The terms of a query and how often it says them; function words only where it has no others."""
    found: dict[int, int] = {}
    for key in term_keys(tokens(text)):
        found[key] = found.get(key, 0) + 1
    meant = {key: times for key, times in found.items() if key not in stop_keys()}
    return meant or found


@cache
def stop_keys() -> frozenset[int]:
    return frozenset(term_keys(STOP_WORDS))
