"""Leases over one SQLite connection: who is at which job.

Knows the statements. When a lease may be taken over is the queue's business (`learn.queue`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from reasoningbank.core.types import Lease

_COLUMNS = "job_id, tenant, owner, beat, attempts, ready_at, error"


def leases(connection: apsw.Connection, tenant: str, job_ids: Sequence[str] | None) -> list[Lease]:
    condition, values = "tenant = ? AND owner IS NOT NULL", [tenant]
    if job_ids is not None:
        condition = "tenant = ? AND job_id IN (SELECT value FROM json_each(?))"
        values = [tenant, json.dumps(list(job_ids))]
    rows = connection.execute(f"SELECT {_COLUMNS} FROM leases WHERE {condition} ORDER BY job_id", values)
    return [_lease(*row) for row in rows]


def tenants_with_jobs(connection: apsw.Connection) -> list[str]:
    # From one tenant to the next by each index: to count or to group would read every lease.
    found: set[str] = set()
    for held in ("NULL", "NOT NULL"):
        rows = connection.execute(
            f"WITH RECURSIVE walk (tenant) AS (SELECT min(tenant) FROM leases WHERE owner IS {held} UNION ALL "
            f"SELECT (SELECT min(l.tenant) FROM leases l WHERE l.owner IS {held} AND l.tenant > walk.tenant) FROM walk "
            "WHERE walk.tenant IS NOT NULL) SELECT tenant FROM walk WHERE tenant IS NOT NULL"
        )
        found.update(tenant for (tenant,) in rows)
    return sorted(found)


def claim(
    connection: apsw.Connection, tenant: str, owner: str, *, now: float, latest: float, limit: int
) -> list[Lease]:
    # The job's own id makes the name of the claim unique within one statement.
    rows: list[Any] = connection.execute(
        f"UPDATE leases SET owner = ? || '#' || job_id, beat = beat + 1, attempts = attempts + 1 WHERE job_id IN "
        "(SELECT job_id FROM leases WHERE tenant = ? AND owner IS NULL AND (ready_at <= ? OR ready_at > ?) "
        f"ORDER BY ready_at, job_id LIMIT ?) RETURNING {_COLUMNS}",
        (owner, tenant, now, latest, limit),
    ).fetchall()
    return sorted((_lease(*row) for row in rows), key=lambda lease: (lease.ready_at, lease.job_id))


def change(connection: apsw.Connection, old: Lease | None, new: Lease | None) -> bool:
    if old is None:
        if new is None:
            return False
        connection.execute(
            f"INSERT OR IGNORE INTO leases ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (new.job_id, new.tenant, new.owner, new.beat, new.attempts, new.ready_at, new.error),
        )
    elif new is None:
        connection.execute(
            "DELETE FROM leases WHERE job_id = ? AND tenant = ? AND owner IS ? AND beat = ?",
            (old.job_id, old.tenant, old.owner, old.beat),
        )
    else:
        connection.execute(
            "UPDATE leases SET owner = ?, beat = ?, attempts = ?, ready_at = ?, error = ? "
            "WHERE job_id = ? AND tenant = ? AND owner IS ? AND beat = ?",
            (new.owner, new.beat, new.attempts, new.ready_at, new.error, old.job_id, old.tenant, old.owner, old.beat),
        )
    return connection.changes() > 0


def _lease(job_id: str, tenant: str, owner: str | None, beat: int, attempts: int, ready_at: float, error: str) -> Lease:
    return Lease(
        job_id=job_id, tenant=tenant, owner=owner, beat=beat, attempts=attempts, ready_at=ready_at, error=error
    )
