"""Leases: who is at which job. When one may be taken over is the queue's business (`learn.queue`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Lease
from reasoningbank.store.selection import Selection, any_of, equal
from reasoningbank.store.tables import LEASES, IfTaken

if TYPE_CHECKING:
    from reasoningbank.store.engine import Engine, Row, RowTransaction

_COLUMNS = LEASES.written
_FREE, _HELD = ("owner", "is", None), ("owner", "not", None)


def find_leases(rows: RowTransaction, job_ids: Sequence[str] | None) -> list[Lease]:
    where = (_HELD,) if job_ids is None else any_of("job_id", job_ids)
    return [_lease(row) for row in rows.scan(Selection(LEASES, _COLUMNS, where, order=("job_id",)))]


def tenants_with_jobs(engine: Engine) -> list[str]:
    # From one tenant to the next by each index: to count or to group would read every lease.
    tenants: set[str] = set()
    for condition in (_FREE, _HELD):
        last: tuple[str] | None = None
        while row := engine.scan(Selection(LEASES, ("tenant",), (condition,), order=("tenant",), after=last, limit=1)):
            last = (row[0][0],)
            tenants.update(last)
    return sorted(tenants)


def claim(rows: RowTransaction, owner: str, *, now: float, latest: float, limit: int) -> list[Lease]:
    due: list[Lease] = []
    for overdue in (("ready_at", "<=", now), ("ready_at", ">", latest)):
        order = ("ready_at", "job_id")
        due += [
            _lease(row)
            for row in rows.scan(Selection(LEASES, _COLUMNS, (_FREE, overdue), order=order, limit=limit - len(due)))
        ]
    # The job's own id makes the name of the claim unique within one call.
    claims = [
        replace(lease, owner=f"{owner}#{lease.job_id}", beat=lease.beat + 1, attempts=lease.attempts + 1)
        for lease in due
    ]
    rows.put(LEASES, [_row(lease) for lease in claims], IfTaken.REPLACE)
    return claims


def change_lease(rows: RowTransaction, old: Lease | None, new: Lease | None, *, is_fresh: bool) -> bool:
    """True if the lease was as `old` says; a job that `is_fresh` can have no other lease."""
    if old is None:
        if new is None or (not is_fresh and find_leases(rows, [new.job_id])):
            return False
        rows.put(LEASES, [_row(new)])
        return True
    there = equal(job_id=old.job_id, owner=old.owner, beat=old.beat)
    if new is None:
        return rows.delete(LEASES, there) > 0
    return rows.update(LEASES, there, _COLUMNS, _row(new)) > 0


def _row(lease: Lease) -> Row:
    return tuple([getattr(lease, column) for column in _COLUMNS])


def _lease(row: Row) -> Lease:
    return Lease(**dict(zip(_COLUMNS, row, strict=True)))
