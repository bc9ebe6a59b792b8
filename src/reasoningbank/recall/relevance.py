"""How likely a candidate is to be of use for a query, as a number between 0 and 1.

Knows how to fold the ways of finding (meaning, words, form) into one calibrated figure. The coefficients are data
(`calibration.json`, made by a command), one set for each embedder, since a cosine of 0.4 means much for one model and
nothing for another.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reasoningbank.core.form import are_names
from reasoningbank.core.values import dataclass

if TYPE_CHECKING:
    from reasoningbank.ports import Candidates, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """How much each way of finding adds."""

    cosine: float
    """For the cosine of the whole text, or of the context less `context_less` where that is more."""
    context_less: float
    keyword: float
    """For each unit of BM25."""
    share: float
    """For all of the query's words, weighed by rarity."""
    context: float
    """For the cosine of title and description without their parameters, as far as it exceeds `context_from`."""
    context_from: float
    form: float
    """For likeness in wording, as far as it exceeds `form_from`..."""
    parameters: float
    """...and this much more where both have parameters: a task of the same form about something else."""
    form_from: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """relevance = 1 / (1 + exp(−(bias + scale · mix)))."""

    mix: Mix
    scale: float
    bias: float
    floor: float
    """Below this relevance a memory is not shown, in a bank of `_CROWDED` memories or more."""


_CROWDED = 1000
_LEAST_SHARE = 0.2
"""Of the floor, however few there are: what has nothing to do with a question stays below that."""

_NAMED = 0.2
"""Of a query's words: a text that says each once has 0.45, and this much when it is four times as long as most."""


def floor_among(calibration: Calibration, memories: int) -> float:
    """What fits badly comes up because there are many to choose from; among a few, a loose fit is worth showing."""
    crowd = math.log(1 + memories) / math.log(1 + _CROWDED)
    return calibration.floor * min(1.0, max(_LEAST_SHARE, crowd**2))


def floors_for(calibration: Calibration, candidates: Candidates, asked: str) -> Floats:
    """The floor of each candidate. One that holds a name that was asked for is worth showing, however little the model
    can make of the name.
    """
    floors = np.full(len(candidates.ids), floor_among(calibration, candidates.considered), np.float32)
    if are_names(asked):
        floors[words_met(candidates) >= _NAMED] = calibration.floor * _LEAST_SHARE
    return floors


def calibration_from(values: dict[str, Any]) -> Calibration:
    return Calibration(**{**values, "mix": Mix(**values["mix"])})


@lru_cache(maxsize=8)
def calibration_for(embedder_name: str) -> Calibration:
    """The coefficients of an embedder; one that nobody calibrated gets those marked `other`."""
    table = json.loads(Path(__file__).with_name("calibration.json").read_bytes())
    return calibration_from(table["embedders"].get(embedder_name) or table["embedders"]["other"])


def cosine_of(candidates: Candidates) -> Floats:
    """Of the whole text; 0 where a memory has no vector (yet)."""
    return _filled(candidates, 0)


def words_met(candidates: Candidates) -> Floats:
    """How much of the query's words, weighed by their rarity, each candidate holds: 0–1."""
    ceiling = candidates.keyword_ceiling
    if ceiling <= 0:
        return np.zeros(len(candidates.ids), dtype=np.float32)
    met: Floats = np.clip(candidates.keyword / np.float32(ceiling), 0.0, 1.0)
    return met


def mixed(candidates: Candidates, mix: Mix) -> Floats:
    """One figure for each candidate: the higher, the better it fits. Not yet a probability."""
    # An embedder with one facet has no other view of when a memory applies.
    context = _filled(candidates, candidates.cosine.shape[1] - 1)
    found: Floats = mix.cosine * np.maximum(np.maximum(cosine_of(candidates), context - mix.context_less), 0.0)
    found += mix.keyword * candidates.keyword
    found += mix.share * words_met(candidates)
    found += mix.context * np.maximum(context - mix.context_from, 0.0)
    found += (mix.form + mix.parameters * candidates.parametric) * np.maximum(candidates.form - mix.form_from, 0.0)
    return found.astype(np.float32, copy=False)


def relevance_of(candidates: Candidates, calibration: Calibration) -> Floats:
    logit = calibration.bias + calibration.scale * mixed(candidates, calibration.mix)
    relevance: Floats = (1.0 / (1.0 + np.exp(-logit))).astype(np.float32)
    return relevance


def _filled(candidates: Candidates, facet: int) -> Floats:
    column = candidates.cosine[:, facet]
    filled: Floats = np.where(np.isnan(column), np.float32(0.0), column)
    return filled
