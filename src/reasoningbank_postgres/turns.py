"""Turns at what is named, among all machines that share a bank in PostgreSQL: an advisory lock of a session.

The server gives the turn to the next one when the connection of its holder ends, however it ends. Who means to keep it
for long asks now and then whether it is still there (`renew`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from reasoningbank.core.failure import OnError
from reasoningbank_postgres.address import PostgresAddress
from reasoningbank_postgres.connections import END_SESSION, PostgresConnections, TimedConnection
from reasoningbank_postgres.opening import TURNS, lock_number

_TAKE, _GIVE = "SELECT pg_try_advisory_lock(%s::int, %s::int)", "SELECT pg_advisory_unlock(%s::int, %s::int)"
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.002, 0.1
Lock = tuple[int, int]


class PostgresTurns:
    def __init__(self, connections: PostgresConnections, address: PostgresAddress) -> None:
        self._connections, self._schema = connections, address.schema
        self._held: dict[str, TimedConnection] = {}

    @contextmanager
    def take(self, name: str, wait_s: float) -> Iterator[bool]:
        """Take a lock on a connection of its own, for as long as the block."""
        lock = self._lock(name)
        connection = self._connections.take()
        has_lock = False
        try:
            has_lock = _is_granted_within(connection, lock, wait_s)
            if has_lock:
                self._held[name] = connection
            yield has_lock
        finally:
            if has_lock:
                connection = self._held.pop(name)
                # On one that broke meanwhile it is gone already.
                with suppress(psycopg.Error):
                    connection.execute(_GIVE, lock)
            self._connections.give_back(connection)

    def renew(self, name: str) -> bool:
        """True if a lock that was taken here is still ours. One that went with its connection is taken again, unless
        somebody else has it.
        """
        connection = self._held.get(name)
        if connection is None or _is_alive(connection):
            return connection is not None
        fresh = self._connections.take()
        with OnError(lambda _: self._connections.give_back(fresh)):
            # The server may not know yet that nobody is there: what is left of our own session is no other machine.
            fresh.execute(END_SESSION, connection.session)
            is_ours = _is_granted_within(fresh, self._lock(name), wait_s=1.0)
        if is_ours:
            self._held[name] = fresh
            self._connections.give_back(connection)
        else:
            self._connections.give_back(fresh)
        return is_ours

    def _lock(self, name: str) -> Lock:
        return TURNS, lock_number(f"{self._schema}\0{name}")


def _is_granted_within(connection: TimedConnection, lock: Lock, wait_s: float) -> bool:
    deadline, pause_s = time.monotonic() + wait_s, _FIRST_PAUSE_S
    while True:
        row = connection.execute(_TAKE, lock).fetchone()
        has_lock = row is not None and bool(row[0])
        if has_lock or time.monotonic() >= deadline:
            return has_lock
        time.sleep(min(pause_s, max(0.0, deadline - time.monotonic())))
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _is_alive(connection: TimedConnection) -> bool:
    """True if the session lives, and with it its locks."""
    try:
        connection.execute("SELECT")
    except psycopg.Error:
        return False
    return True
