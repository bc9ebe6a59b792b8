"""Relevance: the chance, from 0 to 1, that a memory is wanted, and the floor from which it is shown.

Folds the ways of finding (meaning, words, form, neighbours) into one fit and the fit into a probability; the floor
rises with how well the best of so many memories fits a question that none of them answers. The coefficients are data
(`calibration.json`, made by `scripts/calibrate.py`), one set for each embedder, since a cosine of 0.4 means much for
one model and nothing for another.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass

if TYPE_CHECKING:
    from reasoningbank.ports import Candidates, Floats

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How much each way of finding adds to a fit, in units of a cosine."""

    words: float
    """For each rare word of the query that was met, the first few..."""
    words_half: float
    """...since words beyond these count less and less: words_half · ln(1 + words / words_half)."""
    share: float
    """For all of the query's words, weighed by rarity."""
    form: float
    """For likeness in wording, as far as it exceeds `form_from`..."""
    parameters: float
    """...and this much more where both have parameters: a task of the same form about something else."""
    form_from: float
    close: float
    """For a cosine as far as it exceeds `CLOSE`: nearly the same text."""
    neighbour: float
    """For the fit of the turn before or after it in a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """relevance = 1 / (1 + exp(−(bias + scale · ln(fit + 0.05) − crowd · ln min(memories, 50))))."""

    fit: Fit
    scale: float
    bias: float
    crowd: float
    """Among a few memories there are few wrong ones to come first. Beyond `CROWDED` it makes no difference."""
    floor: float
    """The fit from which a memory is shown, in a bank of one..."""
    floor_per_log: float
    """...and how much more it takes for each e-fold of memories: of many, some fit a little by chance."""
    task_scale: float
    task_bias: float
    """Two tasks are alike with a chance of 1 / (1 + exp(−(task_bias + task_scale · fit))): to be the same kind of task
    takes more than to be of use for it, and depends on no other."""


CROWDED = 50
CLOSE = 0.7
BARELY = 0.05
"""Added to a fit before its logarithm is taken: nothing at all in common is still a little."""
FEWEST_MEASURED = 4
MOST_MEASURED = 20_000
"""Memories between which the floor rises: beyond what was measured, it would only guess, and to refuse costs more."""
_EXACT = 0.02
"""Share that is left of the doubt about a memory whose title, key or content is the very question."""
_NAMED = 0.9
"""Share that is taken from the doubt about a memory that holds a question of nothing but rare words; of half of
them, a quarter of that.
"""


def floor_among(calibration: Calibration, memories: int) -> float:
    """The least relevance that is shown: what the best of so many memories reaches for one in twenty questions about
    another subject.
    """
    fit = calibration.floor + calibration.floor_per_log * math.log(min(max(memories, FEWEST_MEASURED), MOST_MEASURED))
    return _chance(calibration, fit, memories)


def passes_floor(relevance: Column, candidates: Candidates, floor: float) -> NDArray[np.bool_]:
    """Above the floor, or asked for by a name: what holds a rare word of the question is shown, however little a model
    can make of that word.
    """
    mask: NDArray[np.bool_] = (relevance >= floor) | (candidates.named > 0.0) | candidates.exact
    return mask


def _calibration_from(values: dict[str, Any]) -> Calibration:
    return Calibration(**{**values, "fit": Fit(**values["fit"])})


@lru_cache(maxsize=8)
def calibration_for(embedder_name: str) -> Calibration:
    """The coefficients of an embedder; one that nobody calibrated gets those marked `other`."""
    table = json.loads(Path(__file__).with_name("calibration.json").read_bytes())
    return _calibration_from(table["embedders"].get(embedder_name) or table["embedders"]["other"])


def cosine_of(candidates: Candidates) -> Floats:
    """Cosine of the whole text; 0 where a memory has no vector (yet)."""
    cosines: Floats = np.where(np.isnan(candidates.cosine), np.float32(0.0), candidates.cosine)
    return cosines


def words_met(candidates: Candidates) -> Floats:
    """How much of the query's words, weighed by their rarity, each candidate holds: 0–1."""
    ceiling = candidates.keyword_ceiling
    if ceiling <= 0:
        return np.zeros(len(candidates.ids), dtype=np.float32)
    shares: Floats = np.clip(candidates.keyword / np.float32(ceiling), 0.0, 1.0)
    return shares


def _fit_of(candidates: Candidates, weights: Fit) -> Column:
    """How well each candidate fits, in units of a cosine: what hits are ordered by. Not yet a probability."""
    # In double precision: in single, a long question shares one figure among many memories, and ties go by id.
    fit = np.maximum(cosine_of(candidates), 0.0).astype(np.float64)
    words = candidates.keyword.astype(np.float64) / max(candidates.rarest_word, 1e-9)
    fit += weights.words * weights.words_half * np.log1p(words / weights.words_half)
    fit += weights.share * words_met(candidates)
    fit += (weights.form + weights.parameters * candidates.parametric) * np.maximum(
        candidates.form - weights.form_from, 0.0
    )
    if weights.close:
        fit += weights.close * np.maximum(cosine_of(candidates) - CLOSE, 0.0)
    if len(fit) and (candidates.beside >= 0).any():
        neighbours = np.where(candidates.beside >= 0, fit[candidates.beside], 0.0).max(axis=1)
        fit = fit + weights.neighbour * neighbours
    return fit


def relevance_of(candidates: Candidates, calibration: Calibration) -> Column:
    fit = _fit_of(candidates, calibration.fit)
    relevance: Column = 1.0 / (1.0 + np.exp(-_log_odds(calibration, np.log(fit + BARELY), candidates.considered)))
    doubt = (1.0 - relevance) * (1.0 - _NAMED * candidates.named.astype(np.float64) ** 2)
    return 1.0 - np.where(candidates.exact, _EXACT * doubt, doubt)


def likeness_of(candidates: Candidates, calibration: Calibration) -> Column:
    """The chance that a past task is one of the same kind."""
    likeness: Column = 1.0 / (
        1.0 + np.exp(-(calibration.task_bias + calibration.task_scale * _fit_of(candidates, calibration.fit)))
    )
    return likeness


def _chance(calibration: Calibration, fit: float, memories: int) -> float:
    return 1.0 / (1.0 + math.exp(-_log_odds(calibration, math.log(fit + BARELY), memories)))


def _log_odds(calibration: Calibration, log_fit: Any, memories: int) -> Any:
    """Log odds that a fit, or a column of them, is wanted."""
    crowd = math.log(min(max(1, memories), CROWDED))
    return calibration.bias + calibration.scale * log_fit - calibration.crowd * crowd
