"""How likely a candidate is to be of use for a query, as a number between 0 and 1.

Knows how to fold the two ways of finding (meaning and words) into one calibrated figure. The coefficients are data
(`calibration.json`), one set for each embedder, since a cosine of 0.4 means much for one model and nothing for another.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reasoningbank.core.values import dataclass

if TYPE_CHECKING:
    from reasoningbank.ports import Candidates, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """relevance = 1 / (1 + exp(−(bias + cosine·c + keyword·k + both·c·k))) for the best cosine c and the share k of the
    query's words (weighed by rarity) that the memory holds.
    """

    bias: float
    cosine: float
    keyword: float
    both: float
    floor: float
    """Below this relevance a memory is not shown."""


@lru_cache(maxsize=8)
def calibration_for(embedder_name: str) -> Calibration:
    """The coefficients of an embedder; one that nobody calibrated gets those marked `other`."""
    table = json.loads(Path(__file__).with_name("calibration.json").read_bytes())
    chosen = table["embedders"].get(embedder_name) or table["embedders"]["other"]
    return Calibration(**chosen)


def best_cosine(candidates: Candidates) -> Floats:
    """The better of the facets; 0 where a memory has no vector (yet)."""
    if candidates.cosine.size == 0:
        return np.zeros(len(candidates.ids), dtype=np.float32)
    filled = np.nan_to_num(candidates.cosine, nan=-1.0)
    best = filled.max(axis=1)
    return np.where(np.isnan(candidates.cosine).all(axis=1), 0.0, best).astype(np.float32)


def words_met(candidates: Candidates) -> Floats:
    """How much of the query's words, weighed by their rarity, each candidate holds: 0–1."""
    ceiling = candidates.keyword_ceiling
    if ceiling <= 0:
        return np.zeros(len(candidates.ids), dtype=np.float32)
    met: Floats = np.clip(candidates.keyword / np.float32(ceiling), 0.0, 1.0)
    return met


def relevance_of(cosine: Floats, words: Floats, calibration: Calibration) -> Floats:
    direction = np.clip(cosine, 0.0, 1.0)
    logit = (
        calibration.bias
        + calibration.cosine * direction
        + calibration.keyword * words
        + calibration.both * direction * words
    )
    relevance: Floats = (1.0 / (1.0 + np.exp(-logit))).astype(np.float32)
    return relevance
