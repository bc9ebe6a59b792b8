"""Makes the relevance that is promised the one that comes true.

Knows how to fit bias and scale on hits whose truth is known, half of the questions of each set; the other half says how
well it went. Refuses to know the mix that ranks (`recall.relevance`): it is chosen, not fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.values import dataclass
from reasoningbank.evaluate.asking import Trial
from reasoningbank.evaluate.reliability import Reliability, reliability_of
from reasoningbank.recall.relevance import Calibration

_STEPS = 100
_SURE = 1e-6

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    calibration: Calibration
    before: Reliability
    """Of the half that was not fitted on."""
    after: Reliability


def calibrated(trials: Sequence[Trial], embedder: str, calibration: Calibration) -> Calibrated:
    """`trials` were asked with `calibration` in force."""
    fitted_on, held_out = [_half(t, 0) for t in trials], [_half(t, 1) for t in trials]
    shift, stretch = _fitted(fitted_on, embedder)
    new = replace(
        calibration,
        bias=round(shift + stretch * calibration.bias, 3),
        scale=round(stretch * calibration.scale, 3),
    )
    return Calibrated(
        calibration=new,
        before=reliability_of(held_out, embedder),
        after=reliability_of([_moved(trial, shift, stretch) for trial in held_out], embedder),
    )


def _half(trial: Trial, which: int) -> Trial:
    return replace(trial, hits=trial.hits[which::2])


def _moved(trial: Trial, shift: float, stretch: float) -> Trial:
    return replace(
        trial,
        hits=[
            [(_chance(shift + stretch * _log_odds(relevance)), right) for relevance, right in hits]
            for hits in trial.hits
        ],
    )


def _fitted(trials: Sequence[Trial], embedder: str) -> tuple[float, float]:
    """Logistic regression of the truth on the log-odds that were promised, every set weighing the same, by Newton."""
    odds, truth, weights = [], [], []
    for trial in trials:
        hits = [hit for of_question in trial.hits for hit in of_question]
        if trial.embedder == embedder and hits:
            odds += [_log_odds(relevance) for relevance, _ in hits]
            truth += [float(right) for _, right in hits]
            weights += [1.0 / len(hits)] * len(hits)
    promised = np.column_stack((np.ones(len(odds)), odds))
    right, weight = np.array(truth), np.array(weights)
    found: Array = np.array([0.0, 1.0])
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-promised @ found))
        slope = promised.T @ (weight * (right - chance))
        bend = (promised * (weight * chance * (1.0 - chance))[:, None]).T @ promised
        step: Array = np.linalg.solve(bend + _SURE * np.eye(2), slope)
        found = found + step
        if float(np.abs(step).max()) < _SURE:
            break
    return float(found[0]), float(found[1])


def _log_odds(relevance: float) -> float:
    sure = min(max(relevance, _SURE), 1.0 - _SURE)
    return float(np.log(sure / (1.0 - sure)))


def _chance(log_odds: float) -> float:
    return float(1.0 / (1.0 + np.exp(-log_odds)))
