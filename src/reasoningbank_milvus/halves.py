"""The two halves of an index in one collection of Milvus: vectors by inner product, words by a sparse vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import BankUnavailable
from reasoningbank.core.types import EmbedderIdentity, Memory
from reasoningbank.lexical.word_rows import word_rows
from reasoningbank.ports import Filter, Frequencies, IndexPosition, WordRow
from reasoningbank_milvus.collection import MOST_FOUND, MilvusCollection
from reasoningbank_milvus.expressions import EMBEDDED, MEMORIES, expression_for, quote_text
from reasoningbank_milvus.rows import VECTORS, WORDS, dimension_of, row_of, with_vector, without_vector

Floats = NDArray[np.float32]
_AND_EMBEDDED = f" and {EMBEDDED}"
_COMPARED_HERE = 1_000
_FEW = 256
"""Holders of a rare term are counted by finding them; of one with more by the server's own count."""
_KEPT_FIELDS = (
    "rb_id", "tenant", "namespace", "scope", "state", "outcome", "agent", "task_type", "tags", "key_lesson",
    "context_to_prefer", "terms", "terms_vector", "length",
)  # fmt: skip


class MilvusHalf:
    name = ""

    def __init__(self, collection: MilvusCollection) -> None:
        self._collection = collection

    @property
    def collection(self) -> MilvusCollection:
        return self._collection

    @property
    def position(self) -> IndexPosition:
        return self.collection.position(self.name)

    def advance(self, position: IndexPosition) -> None:
        self.collection.advance(self.name, position)

    def clear(self) -> None:
        self.collection.drop()

    def close(self) -> None:
        """The connection is closed with the builds."""


class MilvusVectors(MilvusHalf):
    name = VECTORS

    @property
    def identity(self) -> EmbedderIdentity:
        return self.collection.identity

    def upsert(self, rows: Sequence[tuple[Memory, Floats]]) -> None:
        """The words of a memory are in the same row, which can only be written as a whole."""
        dimension = self.identity.dimension
        words = word_rows([memory for memory, _ in rows])
        self.collection.upsert(
            [
                with_vector(row_of(row.memory, row.terms, row.length, dimension), _unit(vector))
                for row, (_, vector) in zip(words, rows, strict=True)
            ]
        )

    def delete(self, ids: Sequence[str]) -> None:
        """The words of a memory stay in the same row."""
        has_terms = self.collection.connection.abilities.sparse
        fields = [field for field in _KEPT_FIELDS if has_terms or field != "terms_vector"]
        rows = self.collection.rows_of(ids, fields, _AND_EMBEDDED)
        if rows:
            self.collection.upsert([without_vector(row, self.identity.dimension) for row in rows])

    def search(self, vector: Floats, where: Filter, k: int) -> list[tuple[str, float]]:
        condition, unit = expression_for(where) + _AND_EMBEDDED, _unit(vector)
        if _counts_of(self.collection, [condition])[0] <= _COMPARED_HERE:
            return self._nearest_of_all(unit, condition)[:k]
        ef = min(max(256, 4 * k), 32_768)
        return self.collection.search("text_vector", [unit], condition, k, {"ef": ef})[0]

    def _nearest_of_all(self, unit: Floats, condition: str) -> list[tuple[str, float]]:
        """The nearest, by comparing every row: of a few that pass a filter Milvus misses most while they are fresh."""
        rows = self.collection.rows(condition, ["rb_id", "text_vector"])
        near = [(str(row["rb_id"]), float(np.asarray(row["text_vector"], np.float32) @ unit)) for row in rows]
        return sorted(near, key=lambda pair: -pair[1])

    def fetch(self, ids: Sequence[str]) -> dict[str, Floats]:
        rows = self.collection.rows_of(list(ids), ("rb_id", "text_vector"), _AND_EMBEDDED)
        return {row["rb_id"]: np.asarray(row["text_vector"], np.float32) for row in rows}


class MilvusWords(MilvusHalf):
    name = WORDS

    @property
    def collection(self) -> MilvusCollection:
        connection = self._collection.connection
        if not connection.abilities.sparse:
            raise BankUnavailable(
                f"Milvus at {connection.address.shown} is version {connection.abilities.version}, which has no sparse "
                "vectors, so the words of memories cannot be kept there. Use version 2.4 or later, or choose another "
                "index with 'reasoningbank reindex --index …'."
            )
        return self._collection

    def upsert(self, rows: Sequence[WordRow]) -> None:
        dimension = self.collection.identity.dimension
        self.collection.upsert([row_of(row.memory, row.terms, row.length, dimension) for row in rows])

    def delete(self, ids: Sequence[str]) -> None:
        self.collection.delete(ids)

    def search(self, queries: Sequence[Mapping[int, float]], where: Filter, k: int) -> list[list[str]]:
        answers = iter(self._holders([terms for terms in queries if terms], expression_for(where), k))
        return [next(answers) if terms else [] for terms in queries]

    def _holders(self, queries: Sequence[Mapping[int, float]], expression: str, k: int) -> list[list[str]]:
        questions = [{dimension_of(term): float(worth) for term, worth in terms.items()} for terms in queries]
        hits_by_query = self.collection.search("terms_vector", questions, expression, k, {})
        return [[memory_id for memory_id, score in hits if score > 0] for hits in hits_by_query]

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        collection, cache = self.collection, self.collection.known
        own = f"tenant == {quote_text(tenant)}"
        [rows] = _counts_of(collection, [own])
        unknown = [term for term in dict.fromkeys(terms) if (own, term) not in cache]
        holding = dict(zip(unknown, map(len, self._holders([{t: 1.0} for t in unknown], own, _FEW)), strict=True))
        many = [term for term, holders in holding.items() if holders >= _FEW]
        counts = collection.counts([f"{own} and array_contains(terms, {dimension_of(term)})" for term in many])
        # A long memory may have more terms than an array holds.
        holding |= {term: max(_FEW, count) for term, count in zip(many, counts, strict=True)}
        if (own, "length") not in cache:
            # Of as many memories as one question gives back: beyond that, one more makes no difference.
            lengths = [int(row["length"]) for row in collection.rows(own, ["length"], MOST_FOUND)]
            cache[own, "length"] = sum(lengths) / max(1, len(lengths))
        cache |= {(own, term): count for term, count in holding.items()}
        return Frequencies(
            rows=rows,
            mean_length=cache[own, "length"],
            holding=[cache[own, term] for term in terms],
        )

    def counts(self, filters: Sequence[Filter]) -> list[int]:
        return _counts_of(self.collection, [expression_for(where) for where in filters])

    def count(self) -> int:
        return _counts_of(self.collection, [MEMORIES])[0]


def _counts_of(collection: MilvusCollection, expressions: Sequence[str]) -> list[int]:
    """How many rows pass each expression; counted again when the index has gone on."""
    cache = collection.known
    unknown = [each for each in dict.fromkeys(expressions) if each not in cache]
    cache |= zip(unknown, collection.counts(unknown), strict=True)
    return [cache[each] for each in expressions]


def _unit(vector: Floats) -> Floats:
    unit: Floats = np.asarray(vector, np.float32) / np.float32(np.linalg.norm(vector))
    return unit
