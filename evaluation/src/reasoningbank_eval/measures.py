"""Worth of a ranking, question by question, and how sure a mean of that is.

Pure arithmetic on numbers; independent of sets and banks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass

RESAMPLES = 1000
_BLOCK_ROWS = 512

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    value: float
    low: float
    high: float
    """The 95 % interval by bootstrap over the questions."""
    count: int


# ---------------------------------------------------------------- one question


def ndcg(ranking: Sequence[int], gains: Mapping[int, float], depth: int = 10) -> float:
    """Discounted gain over that of the best order, with the grades themselves as gains."""
    best = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(sorted(gains.values(), reverse=True)[:depth], 1))
    got = sum(gains.get(position, 0.0) / math.log2(rank + 1) for rank, position in enumerate(ranking[:depth], 1))
    return got / best if best > 0 else 0.0


def recall(ranking: Sequence[int], gains: Mapping[int, float], depth: int = 10) -> float:
    return sum(1 for position in ranking[:depth] if position in gains) / len(gains) if gains else 0.0


def hit(ranking: Sequence[int], gains: Mapping[int, float], depth: int) -> float:
    return float(any(position in gains for position in ranking[:depth]))


# ---------------------------------------------------------------- many questions


@lru_cache(maxsize=4)
def draws(count: int, seed: int, resamples: int = RESAMPLES) -> NDArray[np.int32]:
    """How often each question counts in each resample: (resamples, count). The same seed draws the same questions,
    so that two methods are compared on the same resamples.
    """
    rng = np.random.default_rng(seed)
    counts = np.empty((resamples, count), np.int32)
    for row in counts:
        row[:] = np.bincount(rng.integers(0, count, count), minlength=count)
    return counts


def mean(values: Values, seed: int) -> Estimate:
    if not len(values):
        return Estimate(value=math.nan, low=math.nan, high=math.nan, count=0)
    low, high = _interval(draws(len(values), seed) @ values / len(values))
    return Estimate(value=float(values.mean()), low=low, high=high, count=len(values))


def roc_area(inside: Values, outside: Values, seed: int) -> Estimate:
    """The chance that a question in scope scores above one out of scope; equals count half."""
    areas = roc_areas(inside, outside, seed)
    low, high = _interval(areas[1:])
    return Estimate(value=float(areas[0]), low=low, high=high, count=len(inside) + len(outside))


def roc_areas(inside: Values, outside: Values, seed: int) -> Values:
    """The area as it is, then that of each resample."""
    if not len(inside) or not len(outside):
        return np.full(1 + RESAMPLES, np.nan)
    of_inside = np.vstack([np.ones((1, len(inside))), draws(len(inside), seed)]).astype(np.float32)
    of_outside = np.vstack([np.ones((1, len(outside))), draws(len(outside), seed + 1)]).astype(np.float32)
    won = np.zeros(of_outside.shape, np.float64)
    for start in range(0, len(inside), _BLOCK_ROWS):
        block = inside[start : start + _BLOCK_ROWS, None]
        above = (block > outside).astype(np.float32) + 0.5 * (block == outside).astype(np.float32)
        won += of_inside[:, start : start + _BLOCK_ROWS] @ above
    areas: Values = (won * of_outside).sum(axis=1) / (len(inside) * len(outside))
    return areas


def acceptance(inside: Values, outside: Values, seed: int) -> dict[str, Estimate]:
    """F1, precision and recall of accepting what is in scope; the values are 1 where a question was accepted."""
    of_inside = np.vstack([np.ones((1, len(inside)), np.int32), draws(len(inside), seed)])
    of_outside = np.vstack([np.ones((1, len(outside)), np.int32), draws(len(outside), seed + 1)])
    right, wrong = of_inside @ inside, of_outside @ outside
    misses = len(inside) - right
    figures = {
        "F1": 2 * right / np.maximum(2 * right + wrong + misses, 1e-9),
        "precision": right / np.maximum(right + wrong, 1e-9),
        "accepted": right / max(len(inside), 1),
    }
    count = len(inside) + len(outside)
    estimates = {}
    for name, values in figures.items():
        low, high = _interval(values[1:])
        estimates[name] = Estimate(value=float(values[0]), low=low, high=high, count=count)
    return estimates


def difference(values: Values, other: Values, seed: int) -> Estimate:
    """Difference of two methods on the same questions."""
    return mean(values - other, seed)


def area_difference(scores: tuple[Values, Values], other: tuple[Values, Values], seed: int) -> Estimate:
    """Difference of two methods' areas; each is given as its scores in scope and out of it."""
    apart = roc_areas(*scores, seed) - roc_areas(*other, seed)
    low, high = _interval(apart[1:])
    return Estimate(value=float(apart[0]), low=low, high=high, count=len(scores[0]) + len(scores[1]))


def _interval(values: Values) -> tuple[float, float]:
    low, high = np.quantile(values, (0.025, 0.975)).tolist()
    return low, high
