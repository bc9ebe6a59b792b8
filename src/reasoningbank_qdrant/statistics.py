"""Counts what Qdrant can count: how many points pass conditions, and how rare words are among a tenant's memories.

Qdrant has no request for several counts, so they are asked side by side; a count by a payload index reads one list of
points. Lengths come from one facet, which is every length there is with how many memories have it. What was counted
holds until the collection changes: whoever asks the same words again is told at once.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from qdrant_client import QdrantClient, models

from reasoningbank.ports import Frequencies
from reasoningbank_qdrant.collection import QdrantCollection
from reasoningbank_qdrant.conditions import has_term, of_tenant
from reasoningbank_qdrant.connection import Question
from reasoningbank_qdrant.points import term_keys

MOST_LENGTHS = 1_000_000
MOST_REMEMBERED = 50_000


class TenantStatistics:
    def __init__(self, collection: QdrantCollection) -> None:
        self._collection = collection
        self._lock = threading.Lock()
        self._as_of: tuple[int, ...] = ()
        self._lengths: dict[str, tuple[int, float]] = {}
        self._holding: dict[tuple[str, int], int] = {}

    def counts(self, filters: Sequence[models.Filter]) -> list[int]:
        answers = self._collection.read_all([self._count(conditions) for conditions in filters])
        return [many or 0 for many in answers]

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        lengths, holding = self._remembered()
        missing = [term for term in dict.fromkeys(terms) if (tenant, term) not in holding]
        own = of_tenant(tenant)
        questions: list[Question[Any]] = [
            self._count(models.Filter(must=[has_term(key), own])) for key in term_keys(tenant, missing)
        ]
        if tenant not in lengths:
            questions.append(self._facet(models.Filter(must=[own])))
        answers = self._collection.read_all(questions)
        holding.update({(tenant, term): many or 0 for term, many in zip(missing, answers, strict=False)})
        if tenant not in lengths:
            length_counts: list[tuple[int, int]] = answers[-1] or []
            rows = sum(many for _, many in length_counts)
            lengths[tenant] = rows, sum(length * many for length, many in length_counts) / max(1, rows)
        rows, mean_length = lengths[tenant]
        return Frequencies(rows=rows, mean_length=mean_length, holding=[holding[tenant, term] for term in terms])

    def _remembered(self) -> tuple[dict[str, tuple[int, float]], dict[tuple[str, int], int]]:
        """Counts since the collection changed last; others may add to them meanwhile."""
        as_of = self._collection.require_state().words.applied, self._collection.changes
        with self._lock:
            if as_of != self._as_of or len(self._holding) > MOST_REMEMBERED:
                self._as_of, self._lengths, self._holding = as_of, {}, {}
            return self._lengths, self._holding

    def _count(self, conditions: models.Filter) -> Question[int]:
        def count(client: QdrantClient) -> int:
            return client.count(self._collection.name, count_filter=conditions, exact=True).count

        return count

    def _facet(self, conditions: models.Filter) -> Question[list[tuple[int, int]]]:
        def lengths(client: QdrantClient) -> list[tuple[int, int]]:
            response = client.facet(
                self._collection.name, "length", facet_filter=conditions, limit=MOST_LENGTHS, exact=True
            )
            return [(int(hit.value), hit.count) for hit in response.hits]

        return lengths
