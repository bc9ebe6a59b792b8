"""Answers of a plain search: one side alone, or both put together in the ways that everybody tries first.

The only file here that knows what an index hands over (`ports.Candidates`); when its columns change, this changes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass
from reasoningbank.ports import Candidates

SHOWN = 10
DEPTH = 200
RANK_CONSTANT = 60
DENSE_SHARE = 0.6

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    positions: tuple[int, ...]
    """The best documents, best first."""
    score: float
    """Worth of the best one, comparable between questions; 0 when nothing was found."""


NOTHING = Ranking(positions=(), score=0.0)


def best_of(scores: Scores, own: int | None = None) -> Ranking:
    """Ranking by a score for each document; those of 0 do not count, the first of equals wins."""
    if own is not None and own < len(scores):
        scores = scores.copy()
        scores[own] = 0.0
    best = np.argsort(-scores, kind="stable")[:SHOWN]
    best = best[scores[best] > 0.0]
    return Ranking(positions=tuple(best.tolist()), score=float(scores[best[0]])) if len(best) else NOTHING


def plain_rankings(candidates: Candidates, position: Mapping[str, int], own: int | None) -> dict[str, Ranking]:
    """Rankings by method: each side alone as the index has it, reciprocal ranks, and the min-max mix of the best
    200.
    """
    rows = [row for row, memory_id in enumerate(candidates.ids) if position[memory_id] != own]
    if not rows:
        return dict.fromkeys(("dense", "bm25", "rrf", "mix"), NOTHING)
    positions = np.array([position[candidates.ids[row]] for row in rows])
    cosine = _whole_text(candidates.cosine[rows])
    keyword = candidates.keyword[rows].astype(np.float64)
    coverage = keyword / candidates.keyword_ceiling if candidates.keyword_ceiling > 0 else np.zeros(len(rows))
    by_dense, by_keyword = _ranks(cosine), _ranks(keyword)
    ranks = _reciprocal(by_dense) + np.where(keyword > 0.0, _reciprocal(by_keyword), 0.0)
    mix = DENSE_SHARE * _stretched(cosine, by_dense) + (1 - DENSE_SHARE) * _stretched(keyword, by_keyword)
    # Stretching makes every question's best alike, so the mix is told apart by what it was before.
    worth = DENSE_SHARE * cosine + (1 - DENSE_SHARE) * coverage
    return {
        "dense": _ranking(positions, cosine, cosine, cosine > 0.0),
        "bm25": _ranking(positions, keyword, keyword, keyword > 0.0),
        "rrf": _ranking(positions, ranks, ranks, ranks > 0.0),
        "mix": _ranking(positions, mix, worth, np.ones(len(rows), np.bool_)),
    }


def _whole_text(cosine: NDArray[np.float32]) -> Scores:
    scores: Scores = np.maximum(np.nan_to_num(cosine, nan=0.0), 0.0).astype(np.float64)
    return scores


def _ranks(scores: Scores) -> NDArray[np.int64]:
    """1 for the best, and so on."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def _reciprocal(ranks: NDArray[np.int64]) -> Scores:
    scores: Scores = np.where(ranks <= DEPTH, 1.0 / (RANK_CONSTANT + ranks), 0.0)
    return scores


def _stretched(scores: Scores, ranks: NDArray[np.int64]) -> Scores:
    """From 0 to 1 over the best 200 of one side; what is not among them has 0."""
    among = ranks <= DEPTH
    low, high = float(scores[among].min()), float(scores[among].max())
    if high <= low:
        return np.where(among & (scores > 0.0), 1.0, 0.0)
    return np.where(among, (scores - low) / (high - low), 0.0)


def _ranking(positions: NDArray[np.int64], scores: Scores, worth: Scores, mask: NDArray[np.bool_]) -> Ranking:
    best = np.argsort(-scores, kind="stable")
    best = best[mask[best]][:SHOWN]
    return Ranking(positions=tuple(positions[best].tolist()), score=float(worth[best[0]])) if len(best) else NOTHING
