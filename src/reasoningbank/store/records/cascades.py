"""Cascades: a record is removed with other records, each with a tombstone and a line in the feed, and with rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from reasoningbank.core.record_kinds import dependents_of, kind_of
from reasoningbank.core.types import Job, Memory, Op, Record, Trajectory
from reasoningbank.store.coding import table_of
from reasoningbank.store.records.trust import delete_marks
from reasoningbank.store.selection import Selection, any_of
from reasoningbank.store.tables import FEED, LEASES, TASKS, TOMBSTONES, TRUST, IfTaken, Table, table_named

if TYPE_CHECKING:
    from reasoningbank.store.engine import RowTransaction

# What hung under a memory keeps hanging under its id, so that its descendants can still be found.
ROWS_OF: dict[type[Record], tuple[tuple[Table, str], ...]] = {
    Memory: ((TRUST, "memory_id"),),
    Job: ((LEASES, "job_id"),),
    Trajectory: ((TASKS, "trajectory_id"),),
}
"""Tables of rows that are no records and go with one, and the column that names it."""


def delete_records(rows: RowTransaction, kind: type[Any], ids: Sequence[str], now: float) -> int:
    """Delete records with everything that goes with them; returns how many of themselves there were."""
    for _, group in groupby(dependents_of(kind_of(kind)), key=lambda entry: entry[0].noun):
        entries = list(group)
        dependent = entries[0][0]
        table = table_named(dependent.table)
        if not dependent.prefix:
            rows.delete(table, any_of(entries[0][1], ids))
            continue
        selections = [Selection(table, ("id",), any_of(field, ids)) for _, field in entries]
        if dependent_ids := sorted({row[0] for page in rows.scan_each(selections) for row in page}):
            delete_records(rows, dependent.record_type, dependent_ids, now)
    if kind is Memory:
        for memory_id in ids:
            delete_marks(rows, memory_id)
    for table, column in ROWS_OF.get(kind, ()):
        rows.delete(table, any_of(column, ids))
    coding = table_of(kind)
    if coding.earlier is not None:
        rows.delete(coding.earlier, any_of("id", ids))
    count = rows.delete(coding.table, any_of("id", ids))
    if count:
        rows.put(TOMBSTONES, [(record_id, rows.tenant, coding.noun, now) for record_id in ids], IfTaken.REPLACE)
        rows.put(FEED, [(coding.noun, Op.REMOVE.value, record_id, rows.tenant, now) for record_id in ids])
    return count
