"""Credit: signals for the memories that were shown in a session, by its outcome.

Two questions make the weight of the evidence. *Had it a part in it?* What the agent names as used had, wholly. When it
names nothing, what stood first was the likeliest to be followed, and less so what stood further down. *Was the outcome
to be expected?* An easy task goes well whatever was shown, so its success says little and its failure much; a hard
task the other way round. With `usual` the rate at which tasks of this kind go well,

    success counts ½ / usual        failure counts ½ / (1 − usual)

so that a bystander that makes no difference gets as much evidence for as against it, on any kind of task, and ends at
one half. Memories that were used keep whole pieces: their confidence is how often they work, and stays calibrated.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.task_kind import kind_of
from reasoningbank.core.types import Trajectory
from reasoningbank.ports import Reader

LATEST_TASKS = 64
"""Latest tasks of each circle (kind, namespace, tenant) that are counted: what it costs to end a session does not
grow with the bank.
"""
DRAWN_BY_TASKS = 4.0
"""Tasks of a circle that weigh as much as what the wider circle says, and the widest as one half."""
LEAST_USUAL, MOST_USUAL = 0.1, 0.9
FIRST_SHOWN = 0.5
"""Share of a whole piece of evidence for the first of those shown when nobody says which was used; the n-th gets the
n-th part.
"""
SHOWN_BESIDE = 0.05
"""Share for a memory that was shown beside others of which somebody says that they were used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """Success rate of earlier tasks of this kind."""

    rate: float
    tasks: int
    """Number of tasks of the same kind that this was read from."""


def usual_before(reader: Reader, trajectory: Trajectory) -> Usual:
    """The rate of the kind where there are many such tasks, drawn toward that of the namespace where there are few, and
    that toward the tenant's.
    """
    rate, tasks = 0.5, 0
    namespace = trajectory.namespace
    circles = ((None, None), (namespace, None), (namespace, kind_of(trajectory)))
    for ends in reader.like_tasks(circles, LATEST_TASKS + 1):
        ends.pop(trajectory.id, None)
        latest = list(ends.values())[:LATEST_TASKS]
        tasks = len(latest)
        rate = (sum(latest) + DRAWN_BY_TASKS * rate) / (tasks + DRAWN_BY_TASKS)
    return Usual(rate=rate, tasks=tasks)


def weight_of(memory_id: str, used: Container[str], ranks: Mapping[str, int], surprise: float) -> float:
    """Weight of a memory's evidence, in pieces; `ranks` are those at which the memories of the session were shown."""
    if memory_id in used:
        return 1.0
    return surprise * (SHOWN_BESIDE if used else FIRST_SHOWN / max(1, ranks.get(memory_id, 1)))


def surprise_of(usual: Usual, *, positive: bool) -> float:
    """Weight of the outcome for a bystander; 1 where it was even."""
    rate = min(max(usual.rate, LEAST_USUAL), MOST_USUAL)
    return 0.5 / (rate if positive else 1.0 - rate)


def describe(usual: Usual) -> str:
    """Why a signal weighs what it weighs, for its comment."""
    of = f"{usual.tasks} like {'task' if usual.tasks == 1 else 'tasks'}" if usual.tasks else "other tasks"
    return f"expected {usual.rate:.2f} from {of}"
