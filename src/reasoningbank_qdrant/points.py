"""Memories as Qdrant's points: their UUIDs, payloads and sparse vectors.

A sparse vector holds for each term what BM25 gives it in a memory of that length, and a question what each term is
worth, so that the engine's dot product is BM25 but for one thing: the mean length is taken to be `USUAL_LENGTH`, for
what is stored cannot change with every memory that comes. Recall scores what is found by the true mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid5

from qdrant_client import models

from reasoningbank.lexical.bm25 import length_terms
from reasoningbank.lexical.hashing import text_key
from reasoningbank.ports import WordRow

MEANING, WORDS = "meaning", "words"
"""The names of the dense and the sparse vector."""
USUAL_LENGTH = 120.0
"""In the half units of `WordRow.length`."""
MOST_POINTS, MOST_NUMBERS = 500, 200_000
"""That one request holds: a server takes 32 MB of JSON."""
_OURS = UUID("6f0d1c6e-52a5-4a3c-9d5b-8f2f2f6a7c10")
_PLAIN = ("namespace", "scope", "state", "outcome", "tenant", "id")
_BASE, _SLOPE = map(float, length_terms(USUAL_LENGTH))


def point_id(memory_id: str) -> str:
    """The UUID of a memory, the same in every process."""
    return str(uuid5(_OURS, memory_id))


def word_point(row: WordRow) -> models.PointStruct:
    terms = list(row.terms)
    spread = _BASE + _SLOPE * row.length
    values = [round(weight / (weight + spread), 6) for weight in row.terms.values()]
    memory = row.memory
    # The id and what a `Filter` asks for.
    payload: dict[str, Any] = {field: str(getattr(memory, field)) for field in _PLAIN}
    payload |= {field: value for field in ("agent", "task_type") if (value := getattr(memory, field)) is not None}
    if memory.tags:
        payload["tags"] = list(memory.tags)
    payload |= {"length": row.length, "terms": term_keys(memory.tenant, terms)}
    sparse = models.SparseVector.model_construct(indices=terms, values=values)
    return models.PointStruct.model_construct(id=point_id(memory.id), vector={WORDS: sparse}, payload=payload)


def vector_of(worths: Mapping[int, float]) -> models.SparseVector:
    return models.SparseVector(indices=list(worths), values=list(worths.values()))


def term_keys(tenant: str, terms: Sequence[int]) -> list[int]:
    """Terms as the payload has them: with a mark of the tenant before them, so that counting those of one tenant looks
    at no other's. Which tenant it is, a condition says besides: marks are not proof against chance.
    """
    mark = _tenant_mark(tenant)
    return [mark | term for term in terms]


def in_requests(points: Sequence[tuple[Any, int]]) -> Iterator[list[Any]]:
    """Points in as few requests as a server takes; each comes with how many numbers it has."""
    request: list[Any] = []
    size = 0
    for point, numbers in points:
        if request and (len(request) == MOST_POINTS or size + numbers > MOST_NUMBERS):
            yield request
            request, size = [], 0
        request.append(point)
        size += numbers
    if request:
        yield request


@lru_cache(maxsize=4096)
def _tenant_mark(tenant: str) -> int:
    return text_key(tenant) >> 33 << 32
