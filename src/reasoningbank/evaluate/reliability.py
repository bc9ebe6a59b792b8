"""Whether a relevance of 0.8 means that eight in ten are right: bins of what was promised against what came true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reasoningbank.core.values import dataclass
from reasoningbank.evaluate.asking import Trial

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    embedder: str
    sets: tuple[str, ...]
    bins: tuple[Bin, ...]
    error: float
    """The expected calibration error: the mean distance between promise and truth, weighed by how much lies where."""


def reliability_of(trials: Sequence[Trial], embedder: str) -> Reliability:
    """Of the hits that one embedder showed, every set weighing the same however many questions it has."""
    promised, came_true, weights, names = [], [], [], []
    for trial in trials:
        hits = [hit for of_question in trial.hits for hit in of_question]
        if trial.embedder != embedder or not hits:
            continue
        names.append(trial.labelled.name)
        promised += [relevance for relevance, _ in hits]
        came_true += [float(right) for _, right in hits]
        weights += [1.0 / len(hits)] * len(hits)
    relevance, right, weight = (np.array(column, np.float64) for column in (promised, came_true, weights))
    place = np.minimum((relevance * BINS).astype(np.int64), BINS - 1)
    bins = []
    error = 0.0
    for number in range(BINS):
        here = place == number
        heft = float(weight[here].sum())
        if heft <= 0.0:
            continue
        mean_relevance = float((relevance * weight)[here].sum()) / heft
        share = float((right * weight)[here].sum()) / heft
        error += heft * abs(mean_relevance - share)
        bins.append(
            Bin(
                low=number / BINS,
                high=(number + 1) / BINS,
                relevance=mean_relevance,
                right=share,
                count=int(here.sum()),
            )
        )
    whole = float(weight.sum())
    return Reliability(
        embedder=embedder, sets=tuple(names), bins=tuple(bins), error=error / whole if whole else float("nan")
    )
