"""How often the judge that needs no model is right, against the rewards of real sessions.

The reward is kept from the judge: it sees the trace alone. Told are how many sessions it dares to judge, how many of
these verdicts are right, and whether a certainty of 0.8 means right four times in five.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reasoningbank import Episode
from reasoningbank.core.learning import Verdict, VerdictOutcome
from reasoningbank.learn.rules import judge
from reasoningbank_eval.cases import case_sets
from reasoningbank_eval.figures import share_with_interval

BINS = ((0.0, 0.8), (0.8, 0.9), (0.9, 1.01))


def report(data: Path, most: int | None) -> dict[str, Any]:
    """Figures by the name of the set."""
    by_set = {
        name: [case.episode for case in cases if case.episode.outcome in ("success", "failure")][:most]
        for name, cases in case_sets(data).items()
    }
    return {name: told(episodes) for name, episodes in by_set.items() if episodes}


def told(episodes: Sequence[Episode]) -> dict[str, Any]:
    verdicts = [
        (judge(replace(episode, outcome=None, reward=None)), episode.outcome == "success") for episode in episodes
    ]
    judgements = [
        (verdict, is_success) for verdict, is_success in verdicts if verdict.outcome is not VerdictOutcome.UNKNOWN
    ]
    rewarded_share = sum(is_success for _, is_success in verdicts) / len(verdicts)
    return {
        "episodes": len(verdicts),
        "judged": len(judgements),
        "right": sum(_right(*judgement) for judgement in judgements),
        "right_share": share_with_interval(sum(_right(*judgement) for judgement in judgements), len(judgements)),
        "always_the_commoner": round(max(rewarded_share, 1 - rewarded_share), 4),
        "by_certainty": [row for low, high in BINS if (row := _bin(judgements, low, high))],
    }


def _bin(judgements: Sequence[tuple[Verdict, bool]], low: float, high: float) -> dict[str, Any]:
    inside = [judgement for judgement in judgements if low <= judgement[0].certainty < high]
    if not inside:
        return {}
    return {
        "verdicts": len(inside),
        "claimed": round(sum(verdict.certainty for verdict, _ in inside) / len(inside), 4),
        "right": round(sum(_right(*judgement) for judgement in inside) / len(inside), 4),
    }


def _right(verdict: Verdict, is_success: bool) -> bool:
    return (verdict.outcome is VerdictOutcome.SUCCESS) == is_success
