"""BM25 term weights and length normalisation, shared by all indexes.

Independent of where terms are kept and how they are looked up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass

UNITS = 2
"""Half units per one occurrence in the content, so that the weights 2, 1.5 and 1 stay exact in a byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordPolicy:
    """Every number that BM25 is tuned by, and where it was measured: `docs/decisions`."""

    k1: float = 1.2
    b: float = 0.75
    assumed_rows: int = 10
    """Memories without any word of the query that are taken to be there besides: in a bank of three, a word that all of
    them hold is no stop word yet. Beyond a hundred they make no difference."""
    title_weight: float = 2.0
    description_weight: float = 1.5
    content_weight: float = 1.0
    most_terms_per_memory: int = 20_000
    """Distinct terms; what comes later in the text is not found by keywords."""
    most_terms_per_query: int = 48
    """The rarest are kept."""
    common_share: float = 0.25
    """A term in more rows than this is left out of a query that has a rarer one..."""
    common_from_rows: int = 20_000
    """...once the index has this many rows; below, it costs nothing to score everything."""


KEYWORDS = KeywordPolicy()


def weigh_terms(
    times: Sequence[int], frequency: NDArray[np.int64], rows: int, policy: KeywordPolicy = KEYWORDS
) -> tuple[dict[int, float], float]:
    """The most that each term worth scoring adds, by its place in the query, and what all of them add together.

    `times` says how often the query has each term and `frequency` how many of the `rows` do. Terms that no row has
    count in that ceiling too: a query of which half is unknown is half met at best. Nothing when no row has any.
    """
    places = _worth_scoring(frequency, rows, policy)
    if not len(places):
        return {}, 0.0
    # A word that no row has is taken to be as rare as one that a single row has: a small index knows too little of the
    # language to call it rarer.
    holders = np.maximum(frequency, 1)
    rarity: list[float] = np.log1p((rows + policy.assumed_rows - holders + 0.5) / (holders + 0.5)).tolist()
    maxima = [many * (policy.k1 + 1) * rare for many, rare in zip(times, rarity, strict=True)]
    weights = {i: maxima[i] for i in places.tolist()}
    return weights, sum(weights.values()) + sum(maxima[i] for i in np.flatnonzero(frequency == 0).tolist())


def length_terms(mean_length: float, policy: KeywordPolicy = KEYWORDS) -> tuple[np.float32, np.float32]:
    """The part of a score's denominator that does not depend on the term, in half units: base + slope · length."""
    base = np.float32(UNITS * policy.k1 * (1 - policy.b))
    return base, np.float32(policy.k1 * policy.b * UNITS / max(mean_length, 1e-9))


def max_idf(rows: int, policy: KeywordPolicy = KEYWORDS) -> float:
    """Upper bound of IDF for an index of `rows` memories."""
    return math.log1p(rows + policy.assumed_rows)


def _worth_scoring(frequency: NDArray[np.int64], rows: int, policy: KeywordPolicy) -> NDArray[np.int64]:
    present = np.flatnonzero(frequency)
    if rows >= policy.common_from_rows:
        rare = present[frequency[present] <= policy.common_share * rows]
        present = rare if len(rare) else present
    if len(present) > policy.most_terms_per_query:
        present = np.sort(present[np.argsort(frequency[present], kind="stable")[: policy.most_terms_per_query]])
    return present
