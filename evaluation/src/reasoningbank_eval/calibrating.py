"""Makes the relevance that is promised the one that comes true, and sets the floor by what it costs.

Fits bias, scale, the effect of a small bank, and the floor, on replies to questions with and without an answer from
banks of several sizes. The weights that rank (`recall.relevance.Fit`) are chosen, not fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass
from reasoningbank.recall.relevance import BARELY, CROWDED, Calibration
from reasoningbank_eval.crowds import Asked, Crowd
from reasoningbank_eval.reliability import calibration_error

TOLERATED = 0.05
"""Share of questions about another subject that may be answered: a missed lesson costs more than a line of no use."""
_STEPS = 100
_SURE = 1e-6

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    calibration: Calibration
    before: float
    """The calibration error on sets that were not fitted on, with the calibration in force..."""
    after: float
    """...and with one fitted on the other sets."""


def calibrate(crowds: Sequence[Crowd], calibration: Calibration) -> Calibrated:
    """`crowds` were asked with `calibration` in force. Each set is predicted by what was fitted on all others."""
    before, after = [], []
    for name in dict.fromkeys(crowd.set for crowd in crowds):
        fit = _fit(_Columns.of([crowd for crowd in crowds if crowd.set != name], calibration), calibration)
        held_out = _Columns.of([crowd for crowd in crowds if crowd.set == name], calibration)
        before.append(_error(held_out, calibration))
        after.append(_error(held_out, fit))
    return Calibrated(
        calibration=_with_floor(_fit(_Columns.of(crowds, calibration), calibration), crowds, calibration),
        before=float(np.mean(before)),
        after=float(np.mean(after)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    fit: Array
    """As a logarithm."""
    crowd: Array
    """ln min(memories, 50)."""
    right: Array
    weight: Array

    @classmethod
    def of(cls, crowds: Sequence[Crowd], calibration: Calibration) -> _Columns:
        """Every kind of question of every bank with the same weight, those of the same field with half of it."""
        rows: list[tuple[float, float, float, float]] = []
        for crowd in crowds:
            small = math.log(min(crowd.memories, CROWDED))
            for kind in Asked:
                replies = [reply for reply in crowd.replies if reply.asked is kind]
                heft = (0.5 if kind is Asked.SAME_FIELD else 1.0) / max(1, len(replies))
                rows += [(_log_fit(r.relevance, small, calibration), small, float(r.right), heft) for r in replies]
        fit, small_banks, right, weight = np.array(rows, np.float64).reshape(-1, 4).T
        return cls(fit=fit, crowd=small_banks, right=right, weight=weight)


def _log_fit(relevance: float, crowd: float, calibration: Calibration) -> float:
    """How well a hit fitted, as a logarithm, from the relevance that was made of it."""
    sure = min(max(relevance, _SURE), 1.0 - _SURE)
    return (math.log(sure / (1.0 - sure)) - calibration.bias + calibration.crowd * crowd) / calibration.scale


def _fit(columns: _Columns, calibration: Calibration) -> Calibration:
    """Logistic regression of the truth on fit and crowd, by Newton."""
    inputs = np.column_stack((np.ones(len(columns.fit)), columns.fit, -columns.crowd))
    parameters: Array = np.array([calibration.bias, calibration.scale, calibration.crowd])
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-inputs @ parameters))
        slope = inputs.T @ (columns.weight * (columns.right - chance))
        bend = (inputs * (columns.weight * chance * (1.0 - chance))[:, None]).T @ inputs
        step = np.linalg.solve(bend + _SURE * np.eye(3), slope)
        parameters = np.asarray(parameters + step, np.float64)
        if float(np.abs(step).max()) < _SURE:
            break
    bias, scale, crowd = (round(float(value), 3) for value in parameters)
    return replace(calibration, bias=bias, scale=scale, crowd=crowd)


def _with_floor(fit: Calibration, crowds: Sequence[Crowd], asked_with: Calibration) -> Calibration:
    """The fit that one in twenty questions about another subject exceeds, as a line over the logarithm of the size."""
    sizes, levels = [], []
    for size in sorted({crowd.memories for crowd in crowds}):
        small = math.log(min(size, CROWDED))
        strangers = [
            [
                math.exp(_log_fit(r.relevance, small, asked_with)) - BARELY
                for r in crowd.replies
                if r.asked is Asked.OTHER_SUBJECT
            ]
            for crowd in crowds
            if crowd.memories == size
        ]
        quantiles = [float(np.quantile(fits, 1.0 - TOLERATED)) for fits in strangers if fits]
        if quantiles:
            sizes.append(math.log(size))
            levels.append(float(np.mean(quantiles)))
    if len(sizes) < 2:
        return fit
    slope, start = np.polyfit(sizes, levels, 1)
    return replace(fit, floor=round(float(start), 3), floor_per_log=round(float(slope), 4))


def _error(columns: _Columns, calibration: Calibration) -> float:
    chance = 1.0 / (
        1.0 + np.exp(-(calibration.bias + calibration.scale * columns.fit - calibration.crowd * columns.crowd))
    )
    return calibration_error(
        list(zip(chance.tolist(), (columns.right > 0).tolist(), columns.weight.tolist(), strict=True))
    )
