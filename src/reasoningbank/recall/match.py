"""Matches candidates with a query: what each is worth, and which are good enough to be ranked.

Makes the columns that ranking needs and counts why candidates are left out. Independent of how candidates were found
and whom they are shown to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.confidence import ALONE, DAY_SECONDS, PRUNE_BELOW, ConfidencePolicy, Context, Contexts
from reasoningbank.core.frozen import dataclass, fields
from reasoningbank.core.ranking import Item
from reasoningbank.core.task_confidence import confidence_here
from reasoningbank.core.types import Standing
from reasoningbank.ports import Candidates
from reasoningbank.recall.experience import SimilarTasks, with_experience
from reasoningbank.recall.query import Query
from reasoningbank.recall.relevance import (
    Calibration,
    cosine_of,
    relevance_of,
    words_met,
)

if TYPE_CHECKING:
    from reasoningbank.ports import Floats


_UNSEEN = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Worth of each candidate for the query, as parallel columns."""

    cosine: Floats
    keyword: Floats
    relevance: NDArray[np.float64]
    vouched: NDArray[np.bool_]
    """True if a past task like this one vouches for it."""
    confidence: NDArray[np.float64]
    here: NDArray[np.float64]
    """Confidence for this task, by what came of it in tasks like this one."""
    age_days: NDArray[np.float64]
    used: NDArray[np.int64]


def match_candidates(
    candidates: Candidates,
    calibration: Calibration,
    policy: ConfidencePolicy,
    now: float,
    similar: SimilarTasks,
    company: Context = ALONE,
) -> Match:
    standings = _columns(candidates.standings)
    relevance = with_experience(relevance_of(candidates, calibration), candidates.ids, similar.vouched)
    # How well it fits the question is the context that a policy may ask for.
    overall = policy.means(standings, now, Contexts(total_uses=company.total_uses, context_match=relevance))
    return Match(
        cosine=cosine_of(candidates),
        keyword=words_met(candidates),
        relevance=relevance,
        vouched=np.array([i in similar.vouched for i in candidates.ids] if similar.vouched else False, dtype=np.bool_),
        confidence=overall,
        here=confidence_here(overall, candidates.ids, similar.here),
        age_days=np.maximum(0.0, now - standings["created_at"]) / DAY_SECONDS,
        used=standings["used"],
    )


def _columns(standings: Sequence[Standing]) -> Mapping[str, NDArray[Any]]:
    """Standings as columns, by field. An index that keeps them so is asked for its own: making a value of each takes
    longer than a search.
    """
    columns: Mapping[str, NDArray[Any]] | None = getattr(standings, "columns", None)
    if columns is not None:
        return columns
    return {f.name: np.array([getattr(standing, f.name) for standing in standings]) for f in fields(Standing)}


def passing(
    query: Query, excluded_ids: frozenset[str], candidates: Candidates, match: Match, fits: NDArray[np.bool_]
) -> tuple[list[int], Counter[str]]:
    """Rows that fit and have the asked confidence, most relevant first, and how many others were left out, by why."""
    order = np.argsort(-match.relevance, kind="stable")
    fitting = order[fits[order]].tolist()
    eligible = [row for row in fitting if candidates.ids[row] not in excluded_ids] if excluded_ids else fitting
    # What keeps failing in tasks like this one is no advice for it, however well it does elsewhere.
    # As it is shown, to two digits: 0.4999 reads 0.50.
    least = query.min_confidence - _UNSEEN
    credible = (match.confidence >= least) & (match.here >= min(least, PRUNE_BELOW))
    flags = credible.tolist()
    rows = [row for row in eligible if flags[row]]
    reasons = {
        "floor": len(candidates.ids) - len(fitting),
        "excluded": len(fitting) - len(eligible),
        "min_confidence": len(eligible) - len(rows),
    }
    return rows, Counter(reasons)


def items_of(candidates: Candidates, match: Match, rows: Sequence[int]) -> list[Item]:
    columns = (match.relevance, match.cosine, match.here, match.age_days, match.used)
    ids, scopes = candidates.ids, candidates.scopes
    return [
        Item(ids[row], relevance, cosine, confidence, age_days, used, scopes[row], keyword)
        for row, relevance, cosine, confidence, age_days, used, keyword in zip(
            rows, *(column[rows].tolist() for column in (*columns, match.keyword)), strict=True
        )
    ]
