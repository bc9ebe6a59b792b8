"""Gaps: a log of queries that found nothing, counted, bounded, read and removed. Their meaning: `recall.gaps`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Gap
from reasoningbank.store.selection import Selection, any_of, equal
from reasoningbank.store.tables import GAPS, IfTaken

if TYPE_CHECKING:
    from reasoningbank.store.engine import Engine, Row, RowTransaction

MOST_GAPS = 1_000
"""Most gaps of a tenant: a log of what was asked in vain must not outgrow what is known."""
_COLUMNS = GAPS.written


def add_gaps(rows: RowTransaction, gaps: Sequence[Gap]) -> None:
    """Count gaps, then drop those not asked for longest if a tenant has too many."""
    old_rows = rows.scan(Selection(GAPS, _COLUMNS, any_of("id", [gap.id for gap in gaps])))
    gaps_by_id = {gap.id: gap for gap in map(_gap, old_rows)}
    for gap in gaps:
        before = gaps_by_id.get(gap.id)
        gaps_by_id[gap.id] = gap if before is None else _add(before, gap)
    rows.put(
        GAPS, [tuple([getattr(gap, column) for column in _COLUMNS]) for gap in gaps_by_id.values()], IfTaken.REPLACE
    )
    for tenant in {gap.tenant for gap in gaps}:
        by_age = rows.scan(Selection(GAPS, ("id",), equal(tenant=tenant), order=("last_at",)))
        surplus = [gap_id for (gap_id,) in by_age][:-MOST_GAPS]
        if surplus:
            rows.delete(GAPS, any_of("id", surplus))


def _add(before: Gap, again: Gap) -> Gap:
    first_at, last_at = min(before.first_at, again.first_at), max(before.last_at, again.last_at)
    return replace(before, times=before.times + again.times, first_at=first_at, last_at=last_at)


def gaps_of(engine: Engine, tenant: str) -> list[Gap]:
    """Gaps of a tenant, the one that was asked last at the end."""
    rows = engine.scan(Selection(GAPS, _COLUMNS, equal(tenant=tenant), order=("last_at", "id")))
    return [_gap(row) for row in rows]


def _gap(row: Row) -> Gap:
    return Gap(**dict(zip(_COLUMNS, row, strict=True)))


def remove_gaps(rows: RowTransaction, ids: Sequence[str]) -> int:
    rows.leave_no_trace()
    return rows.delete(GAPS, any_of("id", ids))
