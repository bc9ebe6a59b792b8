"""Reliability of relevance: does 0.8 mean that eight in ten are right? Bins of what was promised and what came true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reasoningbank.core.frozen import dataclass
from reasoningbank_eval.asking import Trial

BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    low: float
    high: float
    relevance: float
    """The mean of what was promised."""
    right: float
    """The share that was right."""
    count: int
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    embedder: str
    sets: tuple[str, ...]
    bins: tuple[Bin, ...]
    error: float
    """The expected calibration error: the mean distance between promise and truth, weighed by how much lies where."""


Promise = tuple[float, bool, float]
"""The relevance that was shown, whether it was right, and how much it counts."""


def reliability_of(trials: Sequence[Trial], embedder: str) -> Reliability:
    """Reliability of the hits of one embedder, every set weighing the same however many questions it has."""
    promises: list[Promise] = []
    names = []
    for trial in trials:
        hits = [hit for of_question in trial.hits for hit in of_question]
        if trial.embedder == embedder and hits:
            names.append(trial.labelled.name)
            promises += [(relevance, right, 1.0 / len(hits)) for relevance, right in hits]
    return Reliability(embedder=embedder, sets=tuple(names), bins=bins_of(promises), error=calibration_error(promises))


def calibration_error(promises: Sequence[Promise]) -> float:
    """The mean distance between what was promised and what came true, bin by bin."""
    bins = bins_of(promises)
    whole = sum(weight for _, _, weight in promises)
    return sum(b.weight * abs(b.relevance - b.right) for b in bins) / whole if whole else float("nan")


def bins_of(promises: Sequence[Promise]) -> tuple[Bin, ...]:
    if not promises:
        return ()
    relevance, right, weight = np.array(promises, np.float64).T
    place = np.minimum((relevance * BINS).astype(np.int64), BINS - 1)
    bins = []
    for number in range(BINS):
        here = place == number
        heft = float(weight[here].sum())
        if heft > 0.0:
            bins.append(
                Bin(
                    low=number / BINS,
                    high=(number + 1) / BINS,
                    relevance=float((relevance * weight)[here].sum()) / heft,
                    right=float((right * weight)[here].sum()) / heft,
                    count=int(here.sum()),
                    weight=heft,
                )
            )
    return tuple(bins)
