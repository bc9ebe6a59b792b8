"""From what was answered to figures: each with its interval, and with its distance from the best plain method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reasoningbank.core.frozen import dataclass
from reasoningbank_eval.asking import BASELINES, Trial
from reasoningbank_eval.measures import (
    Estimate,
    Values,
    acceptance,
    area_difference,
    difference,
    hit,
    mean,
    ndcg,
    recall,
    roc_area,
)
from reasoningbank_eval.sets import ACCEPTED, F1, HIT5, MEASURES, NDCG, PRECISION, RECALL, ROC, TOP1

PER_QUESTION: Mapping[str, Callable[[Sequence[int], Mapping[int, float]], float]] = {
    NDCG: ndcg,
    RECALL: recall,
    TOP1: lambda ranking, gains: hit(ranking, gains, 1),
    HIT5: lambda ranking, gains: hit(ranking, gains, 5),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    set: str
    embedder: str
    method: str
    measure: str
    estimate: Estimate
    against: str | None = None
    """The best plain method of the same set, embedder and measure; None for itself."""
    ahead: Estimate | None = None
    """How far the figure is above it, question by question."""


def figures_of(trial: Trial, seed: int) -> list[Figure]:
    figures: list[Figure] = []
    for measure in MEASURES[trial.labelled.kind]:
        if measure in PER_QUESTION:
            figures += _of_rankings(trial, measure, seed)
        elif measure == ROC:
            figures += _of_scope(trial, seed)
        elif measure == F1:
            figures += _of_floor(trial, seed)
    return figures


def _of_rankings(trial: Trial, measure: str, seed: int) -> list[Figure]:
    indices = [i for i, question in enumerate(trial.labelled.questions) if question.relevant]
    questions = trial.labelled.questions
    values: dict[str, Values] = {
        method: np.array([PER_QUESTION[measure](rankings[i].positions, questions[i].relevant) for i in indices])
        for method, rankings in trial.rankings.items()
    }
    best = max(BASELINES, key=lambda method: float(values[method].sum()))
    return [
        Figure(
            set=trial.labelled.name,
            embedder=trial.embedder,
            method=method,
            measure=measure,
            estimate=mean(of_method, seed),
            against=None if method == best else best,
            ahead=None if method == best else difference(of_method, values[best], seed),
        )
        for method, of_method in values.items()
    ]


def _of_scope(trial: Trial, seed: int) -> list[Figure]:
    scores = {
        method: _split(trial, [ranking.score for ranking in rankings]) for method, rankings in trial.rankings.items()
    }
    areas = {method: roc_area(*parts, seed) for method, parts in scores.items()}
    best = max(BASELINES, key=lambda method: areas[method].value)
    return [
        Figure(
            set=trial.labelled.name,
            embedder=trial.embedder,
            method=method,
            measure=ROC,
            estimate=areas[method],
            against=None if method == best else best,
            ahead=None if method == best else area_difference(scores[method], scores[best], seed),
        )
        for method in scores
    ]


def _of_floor(trial: Trial, seed: int) -> list[Figure]:
    estimates = acceptance(*_split(trial, [float(flag) for flag in trial.accepted]), seed)
    return [
        Figure(
            set=trial.labelled.name,
            embedder=trial.embedder,
            method="as shipped",
            measure=measure,
            estimate=estimates[measure],
        )
        for measure in (F1, PRECISION, ACCEPTED)
    ]


def _split(trial: Trial, values: Sequence[float]) -> tuple[Values, Values]:
    inside = np.array([question.in_scope for question in trial.labelled.questions])
    column = np.array(values, np.float64)
    return column[inside], column[~inside]
