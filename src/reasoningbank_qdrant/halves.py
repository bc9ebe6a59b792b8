"""Vectors and words in one collection of Qdrant's: words make a memory's point, its vector is put there later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qdrant_client import QdrantClient, models

from reasoningbank.core.types import EmbedderIdentity, Memory
from reasoningbank.ports import Filter, Frequencies, IndexPosition, WordRow
from reasoningbank_qdrant.collection import STATE, QdrantCollection
from reasoningbank_qdrant.conditions import conditions_of
from reasoningbank_qdrant.points import MEANING, WORDS, in_requests, point_id, vector_of, word_point
from reasoningbank_qdrant.statistics import TenantStatistics

Floats = NDArray[np.float32]


class QdrantVectors:
    def __init__(self, collection: QdrantCollection) -> None:
        self._collection, self._name = collection, collection.name

    @property
    def identity(self) -> EmbedderIdentity:
        return self._collection.identity

    @property
    def position(self) -> IndexPosition:
        return self._collection.state.vectors

    def advance(self, position: IndexPosition) -> None:
        self._collection.advance(MEANING, position)

    def upsert(self, rows: Sequence[tuple[Memory, Floats]]) -> None:
        points = [
            (
                models.PointVectors.model_construct(id=point_id(memory.id), vector={MEANING: _numbers(vector)}),
                len(vector),
            )
            for memory, vector in rows
        ]

        def keep(request: list[Any]) -> Any:
            return lambda client: client.update_vectors(self._name, request, wait=True)

        self._collection.write(*map(keep, in_requests(points)))

    def delete(self, ids: Sequence[str]) -> None:
        # By a condition: ids that are not there would be an error.
        points = models.Filter(must=[models.HasIdCondition(has_id=[point_id(i) for i in ids])])
        self._collection.write(lambda client: client.delete_vectors(self._name, [MEANING], points=points, wait=True))

    def search(self, vector: Floats, where: Filter, k: int) -> list[tuple[str, float]]:
        query, conditions = _numbers(vector), conditions_of(where)

        def nearest(client: QdrantClient) -> list[models.ScoredPoint]:
            response = client.query_points(
                self._name, query=query, using=MEANING, query_filter=conditions, limit=k, with_payload=["id"]
            )
            return response.points

        return [(_id(point), point.score) for point in self._collection.read(nearest) or ()]

    def fetch(self, ids: Sequence[str]) -> dict[str, Floats]:
        if not ids:
            return {}
        points = [point_id(memory_id) for memory_id in ids]
        records = self._collection.read(
            lambda client: client.retrieve(self._name, points, with_payload=False, with_vectors=[MEANING])
        )
        vectors = {
            str(p.id): p.vector[MEANING] for p in records or () if isinstance(p.vector, dict) and MEANING in p.vector
        }
        return {
            i: np.array(vectors[point], np.float32) for i, point in zip(ids, points, strict=True) if point in vectors
        }

    def clear(self) -> None:
        self._collection.forget_vectors()

    def close(self) -> None:
        """The connection is that of every build."""


class QdrantWords:
    def __init__(self, collection: QdrantCollection) -> None:
        self._collection, self._name = collection, collection.name
        self._statistics = TenantStatistics(collection)

    @property
    def position(self) -> IndexPosition:
        return self._collection.state.words

    def advance(self, position: IndexPosition) -> None:
        self._collection.advance(WORDS, position)

    def upsert(self, rows: Sequence[WordRow]) -> None:
        """A point that is there is replaced, with its vector: that was of what the memory said before."""

        def keep(request: list[Any]) -> Any:
            return lambda client: client.upsert(self._name, request, wait=True)

        self._collection.write(*map(keep, in_requests([(word_point(row), 2 * len(row.terms)) for row in rows])))

    def delete(self, ids: Sequence[str]) -> None:
        points = models.PointIdsList(points=[point_id(memory_id) for memory_id in ids])
        self._collection.write(lambda client: client.delete(self._name, points, wait=True))

    def search(self, queries: Sequence[Mapping[int, float]], where: Filter, k: int) -> list[list[str]]:
        conditions = conditions_of(where)
        questions = [
            models.QueryRequest(query=vector_of(worths), using=WORDS, filter=conditions, limit=k, with_payload=["id"])
            for worths in queries
            if worths
        ]
        if not questions:
            return [[] for _ in queries]

        def best(client: QdrantClient) -> list[list[str]]:
            return [[_id(p) for p in reply.points] for reply in client.query_batch_points(self._name, questions)]

        answers = iter(self._collection.read(best) or [])
        return [next(answers, []) if worths else [] for worths in queries]

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        return self._statistics.frequencies(tenant, terms)

    def counts(self, filters: Sequence[Filter]) -> list[int]:
        return self._statistics.counts([conditions_of(where) for where in filters])

    def count(self) -> int:
        [many] = self._statistics.counts([models.Filter(must_not=[models.HasIdCondition(has_id=[STATE])])])
        return many

    def clear(self) -> None:
        self._collection.renew()

    def close(self) -> None:
        """The connection is that of every build."""


def _numbers(vector: Floats) -> list[float]:
    """Seven digits: as text, a number of 32 bits has seventeen, of which ten say nothing."""
    numbers: list[float] = np.round(np.asarray(vector, np.float64).reshape(-1), 7).tolist()
    return numbers


def _id(point: models.ScoredPoint) -> str:
    return str((point.payload or {})["id"])
