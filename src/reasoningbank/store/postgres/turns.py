"""Turns at what is named, among all machines that share a bank in PostgreSQL: an advisory lock of a session.

The server gives the turn to the next one when the connection of its holder ends, however it ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from reasoningbank.store.postgres.address import PostgresAddress
from reasoningbank.store.postgres.connections import PostgresConnections, TimedConnection
from reasoningbank.store.postgres.opening import TURNS, lock_number

_TAKE, _GIVE = "SELECT pg_try_advisory_lock(%s::int, %s::int)", "SELECT pg_advisory_unlock(%s::int, %s::int)"
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.002, 0.1


@contextmanager
def take_turn(connections: PostgresConnections, address: PostgresAddress, name: str, wait_s: float) -> Iterator[bool]:
    """On a connection of its own, for as long as the block."""
    lock = (TURNS, lock_number(f"{address.schema}\0{name}"))
    deadline, pause_s = time.monotonic() + wait_s, _FIRST_PAUSE_S
    with connections.lend() as connection:
        while not (granted := _is_granted(connection, lock)) and time.monotonic() < deadline:
            time.sleep(min(pause_s, max(0.0, deadline - time.monotonic())))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        try:
            yield granted
        finally:
            if granted:
                # On one that broke meanwhile it is gone already.
                with suppress(psycopg.Error):
                    connection.execute(_GIVE, lock)


def _is_granted(connection: TimedConnection, lock: tuple[int, int]) -> bool:
    row = connection.execute(_TAKE, lock).fetchone()
    return row is not None and bool(row[0])
