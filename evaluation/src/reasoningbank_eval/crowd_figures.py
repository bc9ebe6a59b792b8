"""From replies to figures: right, wrong and refused by the size of the bank, and how well silence is told from help."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from reasoningbank.core.frozen import dataclass
from reasoningbank_eval.crowds import Asked, Crowd, Reply
from reasoningbank_eval.measures import Estimate, mean, roc_area
from reasoningbank_eval.reliability import calibration_error


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdFigure:
    set: str
    embedder: str
    memories: int
    right_first: Estimate
    """Share among the questions with an answer."""
    wrong_first: Estimate
    refused: Estimate
    right_without_floor: Estimate
    same_field_answered: Estimate
    other_subject_answered: Estimate
    roc_same_field: Estimate
    """The chance that a question with an answer gets a higher relevance than one of the same field without."""
    roc_same_field_cosine: Estimate
    """The same by the bare cosine."""
    roc_other_subject: Estimate
    roc_other_subject_cosine: Estimate
    calibration_error: float
    """Error of the relevance of the best hit, over all three kinds of question, each weighing the same."""


def crowd_figure(crowd: Crowd, seed: int) -> CrowdFigure:
    by_kind = {kind: [reply for reply in crowd.replies if reply.asked is kind] for kind in Asked}
    answerable, near, far = (by_kind[kind] for kind in Asked)

    def share(replies: Sequence[Reply], counts: Callable[[Reply], bool]) -> Estimate:
        return mean(np.array([float(counts(reply)) for reply in replies]), seed)

    def roc(negatives: Sequence[Reply], score: Callable[[Reply], float]) -> Estimate:
        return roc_area(np.array([score(r) for r in answerable]), np.array([score(r) for r in negatives]), seed)

    return CrowdFigure(
        set=crowd.set,
        embedder=crowd.embedder,
        memories=crowd.memories,
        right_first=share(answerable, lambda r: r.right_shown),
        wrong_first=share(answerable, lambda r: r.shown and not r.right_shown),
        refused=share(answerable, lambda r: not r.shown),
        right_without_floor=share(answerable, lambda r: r.right),
        same_field_answered=share(near, lambda r: r.shown),
        other_subject_answered=share(far, lambda r: r.shown),
        roc_same_field=roc(near, lambda r: r.relevance),
        roc_same_field_cosine=roc(near, lambda r: r.cosine),
        roc_other_subject=roc(far, lambda r: r.relevance),
        roc_other_subject_cosine=roc(far, lambda r: r.cosine),
        calibration_error=calibration_error(
            [(r.relevance, r.right, 1.0 / len(replies)) for replies in by_kind.values() for r in replies]
        ),
    )
