"""Have PostgreSQL drop the rows that an erasure has taken out: until then they lie in its files as dead rows."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import psycopg

from reasoningbank_postgres.connections import TimedConnection


def drop_dead_rows(connection: TimedConnection, tables: Iterable[str]) -> None:
    """Have the server drop dead rows, as far as nobody reads what was there before; its own vacuum does the rest."""
    for table in sorted(tables):
        with suppress(psycopg.Error):
            connection.execute(f"VACUUM (SKIP_LOCKED, INDEX_CLEANUP ON, TRUNCATE OFF) {table}")
