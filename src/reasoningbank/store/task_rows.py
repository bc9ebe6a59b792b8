"""The view of finished sessions by the kind of their task: how tasks like this one usually end, and what they said.

Folded from the trajectories in the transaction that writes them, so it is never behind and an import fills it too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from reasoningbank.core.context import Evidenced
from reasoningbank.core.types import Trajectory
from reasoningbank.store.pending import Insert

TASK = Insert("INSERT OR REPLACE INTO tasks (trajectory_id, tenant, namespace, kind, succeeded, ended_at)", 6)
_ENDS = {"success": 1, "failure": 0}


def row_of(trajectory: Trajectory) -> tuple[Any, ...] | None:
    """None for a session that runs, or of which nobody knows how it went."""
    if trajectory.ended_at is None or trajectory.outcome not in _ENDS:
        return None
    # Imported here: only a session that ends has a form to be told.
    from reasoningbank.core.kinds import kind_of

    succeeded = _ENDS[trajectory.outcome]
    namespace, kind = trajectory.namespace, kind_of(trajectory)
    return trajectory.id, trajectory.tenant, namespace, kind, succeeded, trajectory.ended_at


def renew(connection: apsw.Connection, trajectory: Trajectory) -> None:
    row = row_of(trajectory)
    if row is None:
        connection.execute(
            "DELETE FROM tasks WHERE trajectory_id = ? AND tenant = ?", (trajectory.id, trajectory.tenant)
        )
    else:
        connection.execute(f"{TASK.head} VALUES (?, ?, ?, ?, ?, ?)", row)


def like_tasks(
    connection: apsw.Connection, tenant: str, namespace: str | None, kind: str | None, limit: int
) -> dict[str, bool]:
    wanted = {"tenant": tenant, "namespace": namespace, "kind": kind}
    given = {column: value for column, value in wanted.items() if value is not None}
    condition = " AND ".join(f"{column} = ?" for column in given)
    rows = connection.execute(
        f"SELECT trajectory_id, succeeded FROM tasks WHERE {condition} ORDER BY ended_at DESC LIMIT ?",
        (*given.values(), limit),
    )
    return {trajectory_id: bool(succeeded) for trajectory_id, succeeded in rows}


def evidence_in(connection: apsw.Connection, tenant: str, trajectory_ids: Sequence[str]) -> list[Evidenced]:
    # No record is made of a row: every search reads a hundred of them.
    rows = connection.execute(
        "SELECT trajectory_id, memory_id, kind, positive, weight, used, source, at FROM signals "
        "WHERE tenant = ? AND trajectory_id IN (SELECT value FROM json_each(?))",
        (tenant, json.dumps(list(trajectory_ids))),
    )
    return [Evidenced(*row) for row in rows]
