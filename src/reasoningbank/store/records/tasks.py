"""Finished sessions by the kind of their task: how tasks like this one usually end.

A view, folded from the trajectories in the transaction that writes them, so it is never behind and an import fills it
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.core.types import Trajectory
from reasoningbank.store.records.reading import RecordRows
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.tables import TASKS, Condition, IfTaken

if TYPE_CHECKING:
    from reasoningbank.core.uplift import KindRate
    from reasoningbank.store.engine import RowTransaction

_ENDS = {"success": 1, "failure": 0}


def fold_task(rows: RowTransaction, trajectory: Trajectory, *, is_new: bool) -> None:
    """Bring the view up to date with a session; one that runs, or of which nobody knows how it went, is not in it."""
    if trajectory.ended_at is None or trajectory.outcome not in _ENDS:
        if not is_new:
            rows.delete(TASKS, equal(trajectory_id=trajectory.id))
        return
    # Imported here: only a session that ends has a form to be told.
    from reasoningbank.core.task_kind import kind_of

    namespace, kind, success = trajectory.namespace, kind_of(trajectory), _ENDS[trajectory.outcome]
    row = (trajectory.id, trajectory.tenant, namespace, kind, success, trajectory.ended_at)
    rows.put(TASKS, [row], IfTaken.REPLACE)


def latest_tasks(circle: tuple[str | None, str | None], limit: int) -> Selection:
    """Selection of the latest tasks of a namespace and a kind of task, None standing for any."""
    namespace, kind = circle
    return Selection(
        TASKS,
        ("trajectory_id", "succeeded"),
        _of_circle(namespace, kind=kind),
        order=("ended_at", "trajectory_id"),
        descending=True,
        limit=limit,
    )


class TaskRows(RecordRows):
    def like_tasks(self, circles: Sequence[tuple[str | None, str | None]], limit: int) -> list[dict[str, bool]]:
        pages = self._rows.scan_each([latest_tasks(circle, limit) for circle in circles])
        return [{task_id: bool(went_well) for task_id, went_well in rows} for rows in pages]

    def kind_rates(self, namespace: str | None, since: float, limit: int) -> list[KindRate]:
        from reasoningbank.core.uplift import KindRate

        where = (*_of_circle(namespace), ("ended_at", ">=", since))
        rows = self._rows.scan(Selection(TASKS, ("kind", "count", "sum:succeeded", "max:trajectory_id"), where))
        rates = [
            KindRate(kind=kind, sessions=sessions, succeeded=successes, example=example)
            for kind, sessions, successes, example in rows
        ]
        return sorted(rates, key=lambda rate: (-rate.sessions, rate.kind))[:limit]


def _of_circle(namespace: str | None, **fields: Any) -> tuple[Condition, ...]:
    values = {"namespace": namespace, **fields}
    return equal(**{column: value for column, value in values.items() if value is not None})
