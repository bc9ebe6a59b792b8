"""The rows of what was asked in vain: counted, bounded, read and removed over one connection.

Knows the table and nothing about when to commit or what a gap means.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from reasoningbank.core.frozen import fields
from reasoningbank.core.types import Gap

MOST_GAPS = 1_000
"""Of a tenant; a log of what was asked in vain must not outgrow what is known."""
_COLUMNS = tuple(f.name for f in fields(Gap))


def add_gaps(connection: apsw.Connection, gaps: Sequence[Gap]) -> None:
    """Count them, then drop what was not asked for longest where a tenant has too many."""
    connection.executemany(
        f"INSERT INTO gaps ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
        "ON CONFLICT (id) DO UPDATE SET times = times + excluded.times, "
        "first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)",
        [tuple(getattr(gap, column) for column in _COLUMNS) for gap in gaps],
    )
    connection.executemany(
        "DELETE FROM gaps WHERE id IN (SELECT id FROM gaps WHERE tenant = ? ORDER BY last_at DESC LIMIT -1 OFFSET ?)",
        [(tenant, MOST_GAPS) for tenant in {gap.tenant for gap in gaps}],
    )


def gaps_of(connection: apsw.Connection, tenant: str) -> list[Gap]:
    """The one that was asked last comes last."""
    rows: list[Any] = connection.execute(
        f"SELECT {', '.join(_COLUMNS)} FROM gaps WHERE tenant = ? ORDER BY last_at, id", (tenant,)
    ).fetchall()
    return [Gap(**dict(zip(_COLUMNS, row, strict=True))) for row in rows]


def remove_gaps(connection: apsw.Connection, tenant: str, ids: Sequence[str]) -> int:
    connection.execute(
        "DELETE FROM gaps WHERE tenant = ? AND id IN (SELECT value FROM json_each(?))", (tenant, json.dumps(list(ids)))
    )
    return connection.changes()
