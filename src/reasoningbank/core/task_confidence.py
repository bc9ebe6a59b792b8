"""Confidence of a memory for the task at hand: what came of it in tasks like this one.

One number a memory cannot tell that it works behind a proxy and fails without network. So each piece of evidence counts
as much as the task in which it arose is like this one, and what is counted so is drawn toward the confidence that the
memory has earned in all tasks. Arithmetic alone: which tasks are alike is an argument.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reasoningbank.core.confidence import DAY_SECONDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DRAWN_BY_PIECES = 0.5
"""Pieces from tasks just like this one that weigh as much as all that is known of a memory otherwise."""
ROOM_PIECES = 4.0
"""The newest so many count: what worked in such tasks must soon be seen to work no more."""
MOST_ALIKE = 0.5
"""However alike, another task is another task..."""
MOST_PIECES = 0.5
"""...and however surprising its end: one failure there is no verdict here, two are."""
HALF_LIFE_DAYS = 180.0
LEFT_BY_USER = 0.2
"""As in `core.confidence`: this part of what spoke for a memory is left when the user says that it did not help."""


class Evidenced(NamedTuple):
    """A signal as a search reads it: without what only the records need."""

    trajectory_id: str
    """Empty for what the user said against a memory outside of these tasks: that is said of all of them."""
    memory_id: str
    kind: str
    positive: bool
    weight: float
    used: bool
    source: str
    at: float


class TaskEvidence(NamedTuple):
    """Pieces of evidence for and against a memory in tasks like this one."""

    positive: float
    negative: float


NOTHING_SAID = TaskEvidence(0.0, 0.0)


def gather(evidence: Iterable[Evidenced], likeness: Mapping[str, float], now: float) -> dict[str, TaskEvidence]:
    """Evidence from tasks about each memory, the newest until there is no more room. `likeness` is 0–1, by task.

    What the user says against a memory counts in every task, and of what spoke for it before only a part is left, as in
    its overall confidence.
    """
    totals: dict[str, TaskEvidence] = {}
    factors: dict[str, float] = {}
    for signal in sorted(evidence, key=lambda s: (s.at, s.trajectory_id), reverse=True):
        positive, negative = totals.get(signal.memory_id, NOTHING_SAID)
        age_days = max(0.0, now - signal.at) / DAY_SECONDS
        alike = min(likeness.get(signal.trajectory_id, 1.0), MOST_ALIKE)
        pieces = signal.weight * alike * math.exp2(-age_days / HALF_LIFE_DAYS)
        if signal.positive:
            pieces *= factors.get(signal.memory_id, 1.0)
        elif not signal.trajectory_id:
            factors[signal.memory_id] = factors.get(signal.memory_id, 1.0) * LEFT_BY_USER ** min(signal.weight, 1.0)
        amount = min(pieces, MOST_PIECES, ROOM_PIECES - positive - negative)
        if amount > 0.0:
            totals[signal.memory_id] = (
                TaskEvidence(positive + amount, negative)
                if signal.positive
                else TaskEvidence(positive, negative + amount)
            )
    return totals


def confidence_here(
    overall: NDArray[np.float64], ids: Sequence[str], here: Mapping[str, TaskEvidence]
) -> NDArray[np.float64]:
    """The confidences of memories for this task; those of which no such task says anything keep what they have."""
    if not here:
        return overall
    import numpy as np

    rows = [here.get(memory_id, NOTHING_SAID) for memory_id in ids]
    sums: NDArray[Any] = np.array(rows, dtype=np.float64).reshape(-1, 2)
    pieces = sums.sum(axis=1)
    blend: NDArray[np.float64] = (DRAWN_BY_PIECES * overall + sums[:, 0]) / (DRAWN_BY_PIECES + pieces)
    return np.where(pieces > 0.0, blend, overall)
