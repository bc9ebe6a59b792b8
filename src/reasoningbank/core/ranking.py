"""Ranks hits: a score by a named profile, then a choice that avoids repeats.

The formulas and their weights, independent of how candidates were found and filtered: it gets one row of numbers per
candidate and, only if the profile asks, the cosines between candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Scope

Array = NDArray[np.float64]
Similarity = NDArray[Any] | Callable[[], NDArray[Any]]

POPULAR_USES = 100
"""Uses from which a memory counts as fully popular; below, popularity grows with the logarithm."""

_AGES_AGO_DAYS = 1e9


class Item(NamedTuple):
    """A candidate. Numbers that are absent may be NaN and then count as 0."""

    id: str
    relevance: float
    """0–1, fused from every way of finding it."""
    cosine: float
    confidence: float
    age_days: float
    used: int
    scope: Scope
    keyword: float = 0.0
    """0–1, the share of the query's words that it holds; shown, never weighed: relevance has it already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Why a candidate stands where it does. A part has its true value whether or not the profile reads it."""

    relevance: float
    cosine: float
    keyword: float
    distance: float
    """Euclidean, between the unit vectors of query and candidate: 0 same, √2 unrelated, 2 opposite."""
    confidence: float
    recency: float
    usage: float
    diversity: float
    """1 − the highest cosine to those picked before; 1 when none were or the profile does not compare."""
    scope_weight: float
    score: float
    """The figure by which it was picked, so it never rises down the list. MMR can make it negative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A profile: how much each part matters, in a product or in a sum.

    In a product, a part p with weight w multiplies the match by 1 − w + w·p: weight 0 ignores the part and
    weight 1 gives it a veto. A boost for the new or the popular is thus a discount for the rest, and the
    product stays within 0–1. MMR then picks by λ·product − (1 − λ)·redundancy. In a sum, parts are multiplied
    by their weights and added, diversity among them.
    """

    name: str
    combine: Literal["product", "sum"]
    match: Literal["relevance", "cosine"]
    match_weight: float = 1.0
    """Only read by a sum; a product always has the whole match."""
    confidence: float = 0.0
    recency: float = 0.0
    usage: float = 0.0
    diversity: float = 0.0
    """Only read by a sum; a product diversifies by MMR."""
    recency_rate_per_day: float = 0.1
    """Recency is exp(−rate · age_days)."""
    mmr_lambda: float = 1.0
    """1 means no MMR."""
    redundant_from: float = 0.0
    """Only read by a product: likeness up to this is none. Two answers to one question are always somewhat alike."""
    shows_everything: bool = False
    """True if what fits badly is ranked too instead of left out."""
    project: float = 1.0
    team: float = 0.9
    org: float = 0.8

    @property
    def diversifies(self) -> bool:
        return self.diversity > 0.0 if self.combine == "sum" else self.mmr_lambda < 1.0


# In `balanced` relevance leads, but among answers to one question that which works shall come first: full doubt takes
# four fifths of a match (decision 0021), great age a tenth; half of the recency is gone after 180 days, the half-life
# of evidence. With λ 0.9 an exact duplicate falls behind a stranger whose product is up to 0.11 (0.1 / 0.9) lower, and
# nothing moves further than that; what is merely about the same thing (a cosine up to 0.9) does not move at all: from
# 0.75 on it cost recall (requests to APIs: 0.036 of recall@10).
_PROFILES: Mapping[str, Weights] = MappingProxyType(
    {
        weights.name: weights
        for weights in (
            Weights(
                name="balanced",
                combine="product",
                match="relevance",
                confidence=0.8,
                recency=0.1,
                recency_rate_per_day=math.log(2.0) / 180.0,
                mmr_lambda=0.9,
                redundant_from=0.9,
            ),
            Weights(
                name="four-factor",
                combine="sum",
                match="cosine",
                match_weight=0.4,
                confidence=0.3,
                recency=0.2,
                diversity=0.1,
                # Where the formula comes from, all of a namespace is ranked.
                shows_everything=True,
            ),
            Weights(name="semantic", combine="product", match="cosine"),
            # However old and unused, a candidate keeps half of its match for age and 0.8 for disuse.
            Weights(name="boosted", combine="product", match="cosine", recency=0.5, usage=0.2, mmr_lambda=0.7),
        )
    }
)


def profiles() -> Mapping[str, Weights]:
    """Every profile by its name, the default first."""
    return _PROFILES


def profile_named(name: str) -> Weights:
    try:
        return _PROFILES[name]
    except KeyError:
        raise InvalidInput(f"There is no ranking profile '{name}'. Choose one of: {', '.join(_PROFILES)}.") from None


def rank(items: Sequence[Item], similarity: Similarity, weights: Weights, limit: int) -> list[tuple[int, Parts]]:
    """The best `limit` items, best first, as indices into `items` with their parts; ties go by id.

    `similarity` holds the cosines between items, in their order; a callable is asked only when they matter.
    """
    if limit < 0:
        raise InvalidInput(f"A limit cannot be negative, but it is {limit}.")
    return list(islice(iterate_ranked(items, similarity, weights), limit))


def iterate_ranked(items: Sequence[Item], similarity: Similarity, weights: Weights) -> Iterator[tuple[int, Parts]]:
    """Ranks as `rank` does, one after the other: each pick costs a comparison with all that remain."""
    if not items:
        return
    # Sorted by id, the first maximum wins a tie rightly, and the input order cannot touch the arithmetic.
    order = sorted(range(len(items)), key=lambda index: items[index].id)
    columns = _columns([items[index] for index in order], weights)
    for row, redundancy, score in _picks(columns, similarity, np.array(order), weights):
        yield order[row], _parts(columns, row, redundancy, score)


def cosine_similarity(a: ArrayLike, b: ArrayLike) -> float:
    """Between −1 and 1; 0 when either vector is zero or not finite, for then it has no direction."""
    u, v = _vectors(a, b)
    u_size, v_size = float(np.abs(u).max(initial=0.0)), float(np.abs(v).max(initial=0.0))
    if not (0.0 < u_size < math.inf and 0.0 < v_size < math.inf):
        return 0.0
    # Scaled first, so that the squares neither overflow nor vanish.
    u, v = u / u_size, v / v_size
    cosine = float(u @ v) / math.sqrt(float(u @ u) * float(v @ v))
    return min(max(cosine, -1.0), 1.0)


def euclidean_distance(a: ArrayLike, b: ArrayLike) -> float:
    """0 or more; infinite when a component is not finite."""
    u, v = _vectors(a, b)
    distance = math.dist(u.tolist(), v.tolist())
    return math.inf if math.isnan(distance) else distance


# ---------------------------------------------------------------- scores


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    relevance: Array
    cosine: Array
    keyword: Array
    confidence: Array
    recency: Array
    usage: Array
    scope_weight: Array


def _columns(items: Sequence[Item], weights: Weights) -> _Columns:
    scope_weights = {Scope.PROJECT: weights.project, Scope.TEAM: weights.team, Scope.ORG: weights.org}
    rows = [(i.relevance, i.cosine, i.keyword, i.confidence, i.age_days, i.used, scope_weights[i.scope]) for i in items]
    relevance, cosine, keyword, confidence, age_days, used, scope_weight = np.array(rows, dtype=np.float64).T
    # An unknown age earns no bonus for being new.
    known_age_days = np.clip(np.where(np.isnan(age_days), _AGES_AGO_DAYS, age_days), 0.0, _AGES_AGO_DAYS)
    return _Columns(
        relevance=_within(relevance, 0.0),
        cosine=_within(cosine, -1.0),
        keyword=_within(keyword, 0.0),
        confidence=_within(confidence, 0.0),
        recency=np.exp(-weights.recency_rate_per_day * known_age_days),
        usage=_within(np.log1p(np.maximum(used, 0.0)) / math.log1p(POPULAR_USES), 0.0),
        scope_weight=scope_weight,
    )


def _base(columns: _Columns, weights: Weights) -> Array:
    """The part of the scores that does not depend on the other picks."""
    match = columns.relevance if weights.match == "relevance" else columns.cosine
    if weights.combine == "sum":
        return (
            weights.match_weight * match
            + weights.confidence * columns.confidence
            + weights.recency * columns.recency
            + weights.usage * columns.usage
        )
    factor = columns.scope_weight
    for weight, part in (
        (weights.confidence, columns.confidence),
        (weights.recency, columns.recency),
        (weights.usage, columns.usage),
    ):
        factor = factor * (1.0 - weight + weight * part)
    return _discount(match, factor)


def _scores(base: Array, redundancy: Array, scope_weight: Array, weights: Weights) -> Array:
    if weights.combine == "sum":
        return _discount(base + weights.diversity * (1.0 - redundancy), scope_weight)
    excess = np.maximum(redundancy - weights.redundant_from, 0.0) / (1.0 - weights.redundant_from)
    return weights.mmr_lambda * base - (1.0 - weights.mmr_lambda) * excess


def _discount(value: Array, factor: Array) -> Array:
    """A discount must not lift a negative value, so those stay as they are."""
    return np.where(value > 0.0, value * factor, value)


def _picks(
    columns: _Columns, similarity: Similarity, order: NDArray[np.intp], weights: Weights
) -> Iterator[tuple[int, float, float]]:
    """As (row, redundancy, score): in one go, or, when they are to be compared, greedily one by one."""
    base = _base(columns, weights)
    redundancy = np.zeros(len(base))
    scores = _scores(base, redundancy, columns.scope_weight, weights)
    if not weights.diversifies:
        for row in np.argsort(-scores, kind="stable").tolist():
            yield row, 0.0, float(scores[row])
        return
    mask = np.zeros(len(base))
    alike: Array | None = None
    moves: Any = ()
    for remaining in range(len(base), 0, -1):
        row = int(scores.argmax())
        yield row, float(redundancy[row]), float(scores[row])
        if remaining > 1:
            if alike is None:
                alike = _alike(similarity, order)
                harmless = weights.redundant_from if weights.combine == "product" else 0.0
                moves = (alike > harmless).any(axis=1).tolist()
            mask[row] = scores[row] = -np.inf
            np.maximum(redundancy, alike[row], out=redundancy)
            # Most are like none of the others by so much that it counts, and leave every score as it is.
            if moves[row]:
                scores = _scores(base, redundancy, columns.scope_weight, weights) + mask


def _parts(columns: _Columns, row: int, redundancy: float, score: float) -> Parts:
    cosine = float(columns.cosine[row])
    return Parts(
        relevance=float(columns.relevance[row]),
        cosine=cosine,
        keyword=float(columns.keyword[row]),
        distance=math.sqrt(2.0 - 2.0 * cosine),
        confidence=float(columns.confidence[row]),
        recency=float(columns.recency[row]),
        usage=float(columns.usage[row]),
        diversity=1.0 - redundancy,
        scope_weight=float(columns.scope_weight[row]),
        score=score,
    )


# ---------------------------------------------------------------- numbers


def _within(values: NDArray[Any], lowest: float) -> Array:
    """Between `lowest` and 1, with 0 for what is not a number."""
    return np.clip(np.where(np.isnan(values), 0.0, values), lowest, 1.0)


def _alike(similarity: Similarity, order: NDArray[np.intp]) -> Array:
    """How alike any two are, 0–1, in their order. Opposites are strangers, and so is what is no number."""
    cosines = similarity() if callable(similarity) else similarity
    size = len(order)
    if cosines.shape != (size, size):
        raise InvalidInput(f"{size} items need ({size}, {size}) similarities, not {cosines.shape}.")
    alike: Array = np.minimum(np.fmax(cosines[order[:, None], order], 0.0), 1.0).astype(np.float64)
    # Nothing is compared with itself: it has been picked by then.
    np.fill_diagonal(alike, 0.0)
    return alike


def _vectors(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    u, v = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if u.ndim != 1 or u.shape != v.shape:
        raise InvalidInput(f"Vectors of shape {u.shape} and {v.shape} cannot be compared.")
    return u, v
