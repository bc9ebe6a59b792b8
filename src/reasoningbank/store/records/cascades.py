"""What goes with a record that is removed: other records, each with a tombstone and a line in the feed, and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reasoningbank.core.types import Edge, Job, Memory, Op, Record, Signal, Step, Trajectory
from reasoningbank.store.coding import table_of
from reasoningbank.store.records.trust import delete_marks
from reasoningbank.store.selection import Selection, any_of
from reasoningbank.store.tables import (
    EXPOSURES,
    FEED,
    LEASES,
    REVISIONS,
    TASKS,
    TOMBSTONES,
    TRUST,
    VECTORS,
    Clash,
    Table,
)

if TYPE_CHECKING:
    from reasoningbank.store.engine import RowTransaction

DEPENDENTS: dict[type[Record], tuple[tuple[type[Record], tuple[str, ...]], ...]] = {
    Memory: ((Signal, ("memory_id",)), (Edge, ("source_id", "target_id")), (Step, ("trajectory_id",))),
    Trajectory: ((Step, ("trajectory_id",)),),
}
"""Records that are gone with one, and the fields in which they name it."""
# What hung under a memory keeps hanging under its id, so that its descendants can still be found.
ROWS_OF: dict[type[Record], tuple[tuple[Table, str], ...]] = {
    Memory: ((REVISIONS, "id"), (VECTORS, "memory_id"), (EXPOSURES, "memory_id"), (TRUST, "memory_id")),
    Job: ((LEASES, "job_id"),),
    Trajectory: ((TASKS, "trajectory_id"),),
}
"""Rows that are gone with a record, and the column that names it."""


def delete_records(rows: RowTransaction, kind: type[Any], ids: Sequence[str], now: float) -> int:
    """Delete records with everything that goes with them; says how many of themselves there were."""
    for dependent, fields in DEPENDENTS.get(kind, ()):
        table = table_of(dependent).table
        asked = [Selection(table, ("id",), any_of(field, ids)) for field in fields]
        found = sorted({row[0] for selected in rows.scan_each(asked) for row in selected})
        if found:
            delete_records(rows, dependent, found, now)
    if kind is Memory:
        for memory_id in ids:
            delete_marks(rows, memory_id)
    for table, column in ROWS_OF.get(kind, ()):
        rows.delete(table, any_of(column, ids))
    coding = table_of(kind)
    gone = rows.delete(coding.table, any_of("id", ids))
    rows.put(TOMBSTONES, [(one, rows.tenant, coding.noun, now) for one in ids], Clash.REPLACED)
    rows.put(FEED, [(coding.noun, Op.REMOVE.value, one, rows.tenant, now) for one in ids])
    return gone
