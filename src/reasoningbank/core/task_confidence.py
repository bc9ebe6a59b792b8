"""Confidence of a memory for the task at hand: what came of it in tasks like this one.

One number a memory cannot tell that it works behind a proxy and fails without network. So each piece of evidence counts
as much as the task in which it arose is like this one, and what is counted so is drawn toward the confidence that the
memory has earned in all tasks. Knows the arithmetic alone; which tasks are alike is an argument.
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
"""So many pieces from tasks just like this one weigh as much as all that is known of a memory otherwise."""
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
    """What tasks say about each memory, the newest first until there is no more room. `likeness` is 0–1, by task.

    What the user says against a memory counts in every task, and of what spoke for it before only a part is left, as in
    its overall confidence.
    """
    found: dict[str, TaskEvidence] = {}
    left: dict[str, float] = {}
    for said in sorted(evidence, key=lambda said: (said.at, said.trajectory_id), reverse=True):
        positive, negative = found.get(said.memory_id, NOTHING_SAID)
        age_days = max(0.0, now - said.at) / DAY_SECONDS
        alike = min(likeness.get(said.trajectory_id, 1.0), MOST_ALIKE)
        pieces = said.weight * alike * math.exp2(-age_days / HALF_LIFE_DAYS)
        if said.positive:
            pieces *= left.get(said.memory_id, 1.0)
        elif not said.trajectory_id:
            left[said.memory_id] = left.get(said.memory_id, 1.0) * LEFT_BY_USER ** min(said.weight, 1.0)
        counted = min(pieces, MOST_PIECES, ROOM_PIECES - positive - negative)
        if counted > 0.0:
            found[said.memory_id] = (
                TaskEvidence(positive + counted, negative)
                if said.positive
                else TaskEvidence(positive, negative + counted)
            )
    return found


def confidence_here(
    overall: NDArray[np.float64], ids: Sequence[str], here: Mapping[str, TaskEvidence]
) -> NDArray[np.float64]:
    """The confidences of memories for this task; those of which no such task says anything keep what they have."""
    if not here:
        return overall
    import numpy as np

    rows = [here.get(memory_id, NOTHING_SAID) for memory_id in ids]
    said: NDArray[Any] = np.array(rows, dtype=np.float64).reshape(-1, 2)
    pieces = said.sum(axis=1)
    drawn: NDArray[np.float64] = (DRAWN_BY_PIECES * overall + said[:, 0]) / (DRAWN_BY_PIECES + pieces)
    return np.where(pieces > 0.0, drawn, overall)
