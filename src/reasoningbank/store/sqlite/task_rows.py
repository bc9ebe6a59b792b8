"""The view of finished sessions by the kind of their task: how tasks like this one usually end, and what they said.

Folded from the trajectories in the transaction that writes them, so it is never behind and an import fills it too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from reasoningbank.core.task_confidence import Evidenced
from reasoningbank.core.types import Trajectory
from reasoningbank.store.sqlite.batched_inserts import Insert

TASK = Insert("INSERT OR REPLACE INTO tasks (trajectory_id, tenant, namespace, kind, succeeded, ended_at)", 6)
_ENDS = {"success": 1, "failure": 0}
_EVIDENCE = """
SELECT s.trajectory_id, s.memory_id, s.kind, s.positive, s.weight, s.used, s.source, s.at
  FROM json_each(?) asked CROSS JOIN signals s ON s.trajectory_id = asked.value
  CROSS JOIN memories m ON m.id = s.memory_id AND m.advice_id = s.advice_id
  WHERE s.tenant = ?"""
# What the user says against a memory is said of every task; there is an index of nothing else.
_AGAINST = """
SELECT '', s.memory_id, s.kind, s.positive, s.weight, s.used, s.source, s.at
  FROM json_each(?) asked CROSS JOIN signals s INDEXED BY signals_against
    ON s.memory_id = asked.value AND s.kind = 'feedback' AND s.positive = 0
  CROSS JOIN memories m ON m.id = s.memory_id AND m.advice_id = s.advice_id
  WHERE s.tenant = ? AND (s.source = 'user' OR s.source LIKE 'user:%')"""
_USES = """
SELECT m.namespace, count(*) FROM signals s JOIN memories m ON m.id = s.memory_id AND m.advice_id = s.advice_id
  WHERE s.tenant = ? AND s.used AND s.kind != 'peer' GROUP BY m.namespace"""


def row_of(trajectory: Trajectory) -> tuple[Any, ...] | None:
    """None for a session that runs, or of which nobody knows how it went."""
    if trajectory.ended_at is None or trajectory.outcome not in _ENDS:
        return None
    # Imported here: only a session that ends has a form to be told.
    from reasoningbank.core.task_kind import kind_of

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
        f"SELECT trajectory_id, succeeded FROM tasks WHERE {condition} "
        "ORDER BY ended_at DESC, trajectory_id DESC LIMIT ?",
        (*given.values(), limit),
    )
    return {trajectory_id: bool(succeeded) for trajectory_id, succeeded in rows}


def evidence_in(connection: apsw.Connection, tenant: str, trajectory_ids: Sequence[str]) -> list[Evidenced]:
    # No record is made of a row: every search reads a hundred of them.
    rows = connection.execute(_EVIDENCE, (json.dumps(list(trajectory_ids)), tenant))
    found = [Evidenced(*row) for row in rows]
    if found:
        concerned = json.dumps(list({said.memory_id for said in found}))
        inside = {(said.memory_id, said.at) for said in found if said.kind == "feedback"}
        against = connection.execute(_AGAINST, (concerned, tenant))
        found += [said for row in against if ((said := Evidenced(*row)).memory_id, said.at) not in inside]
    return found


def uses_by_namespace(connection: apsw.Connection, tenant: str) -> dict[str, int]:
    return dict(connection.execute(_USES, (tenant,)))
