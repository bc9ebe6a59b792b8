"""Term entries of memories: the terms of each, and their weights.

Field weights and the entry format; independent of how entries are looked up or scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.stopwords import STOP_WORDS
from reasoningbank.core.text import tokens
from reasoningbank.core.types import Memory
from reasoningbank.lexical.bm25 import KEYWORDS, UNITS
from reasoningbank.lexical.hashing import TERM_BYTES, exact_term, id_term, packed_term_keys, tag_term, term_keys

ENTRY = np.dtype([("term", "<u4"), ("weight", "u1")])
_HEAVIEST = 255
_OWNER_AT, _TERM_AT, _WEIGHT = np.uint64(40), np.uint64(8), np.uint64(255)
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
    parts = [part for number, memory in enumerate(memories) for part in _parts(number, memory)]
    owners, weights = (np.array([part[at] for part in parts], np.uint64) for at in (0, 1))
    sizes = np.array([len(keys) // TERM_BYTES for _, _, keys in parts], np.int64)
    terms = np.frombuffer(b"".join([keys for _, _, keys in parts]), "<u4").astype(np.uint64)
    # Sorted by memory and term with the weight behind them, so that what is counted together stands side by side.
    weighted_terms = np.repeat(owners << _OWNER_AT | weights, sizes)
    weighted_terms |= terms << _TERM_AT
    weighted_terms.sort()
    pairs = weighted_terms >> _TERM_AT
    first = np.flatnonzero(np.diff(pairs, prepend=~pairs[:1]))
    postings = np.empty(len(first), ENTRY)
    postings["term"] = pairs[first].astype(np.uint32)
    postings["weight"] = np.add.reduceat(weighted_terms & _WEIGHT, first).clip(1, _HEAVIEST)
    counts = np.bincount((weighted_terms[first] >> _OWNER_AT).astype(np.int64), minlength=len(memories))
    lengths = np.bincount(owners.astype(np.int64), weights * sizes, len(memories)).astype(np.uint32)
    return Entries(packed=postings, counts=counts, lengths=lengths)


def _parts(number: int, memory: Memory) -> Iterator[tuple[int, int, bytes]]:
    """Packed keys of a memory's terms, with the number of the memory and their weight."""
    texts = [(memory.title, _TITLE), (memory.description, _DESCRIPTION), (memory.content, _CONTENT)]
    if memory.tags or memory.key:
        own_key = memory.key if memory.key and memory.key != memory.title else ""
        texts.append((" ".join((own_key, *memory.tags)), _CONTENT))
    all_keys = b""
    for text, weight in texts:
        keys = packed_term_keys(tokens(text))[: TERM_BYTES * KEYWORDS.most_terms_per_memory]
        yield number, weight, keys
        all_keys += keys
        if len(all_keys) >= TERM_BYTES * KEYWORDS.most_terms_per_memory and _is_full(all_keys):
            break
    # Id, tags and whole texts are found by terms of their own, that no text can produce and that no length counts.
    whole = filter(None, (memory.title, memory.content, memory.key))
    own = (id_term(memory.id), *map(tag_term, memory.tags), *map(exact_term, whole))
    yield number, 0, b"".join([term.to_bytes(TERM_BYTES, "little") for term in own])


def _is_full(keys: bytes) -> bool:
    return len(np.unique(np.frombuffer(keys, "<u4"))) >= KEYWORDS.most_terms_per_memory


def query_terms(text: str) -> dict[int, int]:
    """The terms of a query and how often it says them; function words only where it has no others."""
    counts: dict[int, int] = {}
    for key in term_keys(tokens(text)):
        counts[key] = counts.get(key, 0) + 1
    content_counts = {key: counts[key] for key in counts.keys() - stop_keys()}
    return content_counts or counts


@cache
def stop_keys() -> frozenset[int]:
    return frozenset(term_keys(STOP_WORDS))
