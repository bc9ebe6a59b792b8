"""Keywords by postings in tables: the rarest terms of a question first, common ones within bounds, then BM25.

The server gives the postings, and they are scored here: a table of numbers costs it a tenth of what adding them up by
SQL does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reasoningbank.lexical.bm25 import length_terms
from reasoningbank_postgres.pgvector.packing import PostingList, number_list, unpack_postings
from reasoningbank_postgres.pgvector.server import Query, Rows
from reasoningbank_postgres.pgvector.tables import BuildTables

MOST_POSTINGS = 50_000
"""Read for one question: 400 kB. What the commonest terms add is then counted only for what the others find."""
DENSE_UPTO = 4_000_000
"""Row numbers up to which scores lie in an array by number."""
SPARSE_UPTO = 1_000
"""Postings up to which that would take longer than to sort them."""
Nums = NDArray[np.int64]


def postings_query(tenant: str, terms: Sequence[int], tables: BuildTables) -> Query:
    """For each of the terms how many rows have it; and the postings of the rarest, as many as may be read. Of a term
    that is commoner than that on its own, the newest.
    """
    text = f"""WITH pieces AS MATERIALIZED (
  SELECT term, piece, holding, sum(holding) OVER (PARTITION BY term) AS whole,
    sum(holding) OVER (PARTITION BY term ORDER BY piece DESC) - holding AS newer
  FROM {tables.postings} WHERE tenant = %s AND term = ANY(%s::bigint[])),
terms AS (SELECT term, whole, sum(whole) OVER (ORDER BY whole, term) - whole AS rarer
  FROM (SELECT DISTINCT term, whole FROM pieces) AS each)
SELECT term, terms.whole::bigint, p.entries FROM pieces JOIN terms USING (term)
LEFT JOIN {tables.postings} p USING (term, piece)
WHERE p.tenant = %s AND newer < %s AND (rarer = 0 OR rarer + terms.whole <= %s)
UNION ALL
SELECT term, whole::bigint, NULL FROM terms WHERE rarer > 0 AND rarer + whole > %s"""
    return text, (tenant, number_list(terms), tenant, MOST_POSTINGS, MOST_POSTINGS, MOST_POSTINGS)


class ScoredRows:
    """Numbers of rows, rising, with the score of each."""

    def __init__(self, nums: Nums, scores: NDArray[np.float64]) -> None:
        self._nums, self._scores = nums, scores

    def __len__(self) -> int:
        return len(self._nums)

    def best(self, most: int) -> list[int]:
        """Numbers of the `most` best rows, the best first, the older first among equals."""
        nums, scores = self._nums, self._scores
        if 0 < most < len(nums):
            mask = scores >= np.partition(scores, len(scores) - most)[len(scores) - most]
            nums, scores = nums[mask], scores[mask]
        numbers: list[int] = nums[np.argsort(-scores, kind="stable")[:most]].tolist()
        return numbers


class FoundTerms:
    """Postings of terms from the server: how many rows have each term, and where."""

    def __init__(self, rows: Rows) -> None:
        self.holding = {int(term): int(whole) for term, whole, _ in rows}
        pieces: dict[int, list[bytes]] = {}
        for term, _, entries in rows:
            if entries is not None:
                pieces.setdefault(int(term), []).append(entries)
        self._postings: dict[int, PostingList] = {term: unpack_postings(chunks) for term, chunks in pieces.items()}

    def scored(self, worths: Mapping[int, float], mean_length: float, passing_nums: Nums | None) -> ScoredRows:
        """The rows that have any of the terms."""
        base, slope = length_terms(mean_length)
        nums, amounts = [], []
        for term, worth in worths.items():
            if (postings := self._postings.get(term)) is not None:
                nums.append(postings.nums)
                amounts.append(
                    np.float32(worth) * postings.weights / (postings.weights + base + slope * postings.lengths)
                )
        if not nums:
            return ScoredRows(np.empty(0, np.int64), np.empty(0))
        rows, scores = _sum_up(np.concatenate(nums), np.concatenate(amounts))
        keep = scores > 0 if passing_nums is None else (scores > 0) & np.isin(rows, passing_nums)
        return ScoredRows(rows[keep], scores[keep])


def _sum_up(nums: Nums, amounts: NDArray[np.float32]) -> tuple[Nums, NDArray[np.float64]]:
    if len(nums) > SPARSE_UPTO and int(nums.max()) < DENSE_UPTO:
        scores: NDArray[np.float64] = np.bincount(nums, amounts)  # type: ignore[assignment]
        rows = np.flatnonzero(scores).astype(np.int64)
        return rows, scores[rows]
    rows, at = np.unique(nums, return_inverse=True)
    scores = np.bincount(at, amounts)  # type: ignore[assignment]
    return rows, scores
