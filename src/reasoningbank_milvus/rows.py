"""Memories as rows of a collection.

The weight of a term is kept with the length of its memory worked in, so that an inner product with what the terms of a
question are worth ranks as BM25 does; only that the mean length, which changes with each memory, is taken to be a
usual one. Recall scores what is found by the real one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.core.types import Memory
from reasoningbank.lexical.bm25 import length_terms
from reasoningbank.ports import IndexPosition
from reasoningbank_milvus.shape import MOST_IN_ARRAY, MOST_TEXT_BYTES

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

USUAL_LENGTH = 120.0
"""In the half units of `lexical.bm25`: some sixty words, those of the title counted twice."""
WORDS, VECTORS = "words", "vectors"
HALVES = (WORDS, VECTORS)
Row = dict[str, Any]


def dimension_of(term: int) -> int:
    """A sparse vector has one dimension less than there are terms: the last two share one."""
    return min(term, 2**32 - 2)


def row_of(memory: Memory, terms: Mapping[int, int], length: int, dimension: int) -> Row:
    """A row of a memory without a vector yet."""
    base, slope = map(float, length_terms(USUAL_LENGTH))
    beyond = base + slope * length
    weights = {dimension_of(term): weight / (weight + beyond) for term, weight in terms.items()}
    return {
        "rb_id": memory.id,
        "tenant": memory.tenant,
        "namespace": memory.namespace,
        "scope": memory.scope.value,
        "state": memory.state.value,
        "outcome": memory.outcome.value,
        "agent": memory.agent or "",
        "task_type": memory.task_type or "",
        "tags": list(memory.tags),
        "key_lesson": _clip_bytes(memory.content),
        "context_to_prefer": _clip_bytes(memory.description),
        "terms": list(weights)[:MOST_IN_ARRAY],
        "terms_vector": weights,
        "length": length,
        "is_embedded": False,
        "text_vector": [0.0] * dimension,
    }


def with_vector(row: Row, vector: Floats) -> Row:
    return {**row, "is_embedded": True, "text_vector": vector.tolist()}


def without_vector(row: Row, dimension: int) -> Row:
    return {**row, "is_embedded": False, "text_vector": [0.0] * dimension}


def position_id(half: str) -> str:
    return f"position of {half}"


def position_row(half: str, position: IndexPosition, dimension: int) -> Row:
    """Belongs to no tenant, so that no filter lets it through. It goes with the rows: nobody can drop them and leave
    word that they are there.
    """
    nobody = dict.fromkeys(("tenant", "namespace", "scope", "state", "outcome", "agent", "task_type"), "")
    return {
        **nobody,
        "rb_id": position_id(half),
        "tags": [],
        "key_lesson": "",
        "context_to_prefer": "",
        "terms": [],
        "terms_vector": {0: 1.0},
        "length": 0,
        "is_embedded": False,
        "text_vector": [0.0] * dimension,
        "applied": position.applied,
        "mark": str(position.mark),
    }


def position_in(row: Mapping[str, Any] | None) -> IndexPosition:
    return IndexPosition() if row is None else IndexPosition(applied=int(row["applied"]), mark=int(row["mark"]))


def _clip_bytes(text: str) -> str:
    """As much of a text as a field holds; what we search by is kept in the terms, whole."""
    if len(text) * 4 <= MOST_TEXT_BYTES:
        return text
    return text.encode("utf-8", "replace")[:MOST_TEXT_BYTES].decode("utf-8", "ignore")


def pages(rows: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [rows[first : first + size] for first in range(0, len(rows), size)]
