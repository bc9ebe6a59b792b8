"""Connections to PostgreSQL: made, lent, given back, thrown away when they broke. No wait is without an end.

A forked child leaves those of its parent alone and makes its own.
"""

from __future__ import annotations

import logging
import os
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import pq
from psycopg.adapt import Dumper
from psycopg.generators import fetch_many
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from psycopg.types.string import StrDumper

from reasoningbank.core.errors import BankUnavailable, InvalidInput, StoreError
from reasoningbank.core.failure import OnError
from reasoningbank_postgres.address import PostgresAddress
from reasoningbank_postgres.error_mapping import TRANSIENT, is_lost, translate

T = TypeVar("T")
CONNECT_WITHIN_S = 10
STATEMENT_WITHIN_S = 30
LOCK_WITHIN_S = 20
ANSWER_WITHIN_S = STATEMENT_WITHIN_S + 5.0
"""Deadline of a server or a network that says nothing at all; a statement that is too slow ends before."""
PATIENCE_S = 15.0
"""Longest wait for a server that is being restarted, or another that takes over; for opening less."""
OPEN_WITHIN_S = 3.0
END_SESSION = """SELECT pg_terminate_backend(pid, 3000) FROM pg_stat_activity
  WHERE pid = %s AND backend_start::text = %s"""
"""Ends the session of a connection that was lost: the server may go on with it."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
# What it has to say of connections that broke is told by errors of ours, and by nobody on a terminal.
logging.getLogger("psycopg").addHandler(logging.NullHandler())
_left_to_parents: list[Any] = []
"""Connections of a parent: closing one here would end it there."""


class _WordDumper(StrDumper):
    """Dumps our enums, which are strings with a class of their own."""


class _FlagDumper(Dumper):
    """Dumps True and False as 1 and 0, as in every engine."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


class TimedConnection(psycopg.Connection[Any]):
    """A connection that is closed when nothing comes back for too long.

    It may stay in its pipeline from one use to the next: to leave one takes a round trip.
    """

    answers_within_s = ANSWER_WITHIN_S
    made_in = 0
    """The process that made it: a child that was forked meanwhile must not talk through it."""
    session: tuple[int, str] = (0, "")
    """The server's process and when it began: whoever loses the connection can find out whether it goes on."""
    is_ending = False
    """True if the end of its transaction was sent, and the answer is not heard yet."""

    @property
    def is_in_pipeline(self) -> bool:
        return self._pipeline is not None

    def enter_pipeline(self) -> psycopg.Pipeline:
        """Let statements go out without waiting for the answers before."""
        if self._pipeline is None:
            self._pipeline = psycopg.Pipeline(self)
            self._pipeline.__enter__()
        return self._pipeline

    def leave_pipeline(self) -> None:
        if self._pipeline is not None:
            try:
                self._pipeline.__exit__(None, None, None)
            finally:
                self._pipeline = None

    def send_end(self) -> None:
        """End the round trip: what was sent is all of it."""
        pipeline = self.enter_pipeline()
        self.pgconn.pipeline_sync()
        pipeline.result_queue.append(None)

    def hear_end(self) -> None:
        """Take the answer to the end of the last transaction, which has come meanwhile."""
        queue = self.enter_pipeline().result_queue
        while queue:
            self.wait(fetch_many(self.pgconn))
            queue.popleft()
        self.is_ending = False

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        if self.made_in not in (0, os.getpid()):
            raise psycopg.InterfaceError("the connection belongs to the process that forked this one")
        if timeout is not None:
            # psycopg's own bound, of a wait for notifications: when none came the connection is as good as before.
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.answers_within_s)
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - what psycopg raises here, and has no other name for
            self.pgconn.finish()
            raise psycopg.OperationalError(f"timeout: no answer within {self.answers_within_s:g} s") from error


def _adapt(connection: TimedConnection) -> None:
    from enum import StrEnum

    adapters = connection.adapters
    adapters.register_dumper(StrEnum, _WordDumper)
    adapters.register_dumper(bool, _FlagDumper)
    # One type for every whole number, so that a statement is prepared once and not for each size of them.
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(int, Int8BinaryDumper)


def _known_options() -> set[str]:
    return {option.keyword.decode() for option in pq.Conninfo.get_defaults()}


def connect(address: PostgresAddress) -> TimedConnection:
    """A session in the bank's schema: every statement and every lock has an end."""
    parameters = address.parameters
    if unknown := sorted(set(parameters) - _known_options()):
        # What it says may be a secret under a name that nobody knows.
        place = address.shown.partition("?")[0]
        raise InvalidInput(f"{place}: PostgreSQL's client knows no option {', '.join(unknown)}.")
    defaults = {
        "connect_timeout": str(CONNECT_WITHIN_S),
        "application_name": "reasoningbank",
        "keepalives_idle": "10",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": str(int(ANSWER_WITHIN_S * 1e3)),
        "client_encoding": "UTF8",
    }
    connection = TimedConnection.connect(**(defaults | parameters), autocommit=True)  # type: ignore[arg-type]
    connection.made_in = os.getpid()
    with OnError(lambda _: connection.close()):
        connection.prepare_threshold = 2
        connection.prepared_max = 400
        _adapt(connection)
        terms = connection.execute(
            f'SET search_path = "{address.schema}"; SET statement_timeout = {STATEMENT_WITHIN_S * 1000}; '
            f"SET lock_timeout = {LOCK_WITHIN_S * 1000}; SET idle_in_transaction_session_timeout = 3600000; "
            "SET bytea_output = 'hex'; SET extra_float_digits = 1; SET TimeZone = 'UTC'; SET plan_cache_mode = 'auto'; "
            "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()"
        )
        while terms.nextset():
            pass
        connection.session = terms.fetchone() or connection.session
    return connection


def patiently(work: Callable[[], T], address: PostgresAddress, *, within_s: float = PATIENCE_S) -> T:
    """Repeat what may be done again until it works: a server that restarts is back in a moment."""
    deadline, pause_s = time.monotonic() + within_s, _FIRST_PAUSE_S
    while True:
        try:
            return work()
        except psycopg.Error as error:
            may_pass = isinstance(error, TRANSIENT) or (is_lost(error) and not _is_final(error))
            if not may_pass or time.monotonic() + pause_s > deadline:
                raise translate(error, address) from None
        time.sleep(pause_s)
        pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)


def _is_final(error: psycopg.Error) -> bool:
    """True if a server answered that it will not have us; waiting would not help. Refused by the host: it may start."""
    message = str(error)
    passing = ("starting up", "shutting down", "in recovery mode", "not yet accepting", "too many clients")
    return (
        ("FATAL" in message and not any(word in message for word in passing))
        or "resolve host" in message
        or "translate host" in message
    )


class PostgresConnections:
    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._idle: list[TimedConnection] = []
        self._lock = threading.Lock()
        self._away: StoreError | None = None
        """The error of a server that is away, after somebody has waited for a connection as long as anybody does."""
        self._probing = threading.Lock()
        self.is_closed = False

    def check_open(self) -> None:
        if self.is_closed:
            raise StoreError(f"The bank {self._address.shown} is closed.")

    def take(self, within_s: float | None = None, *, in_pipeline: bool = False) -> TimedConnection:
        """One that was at rest, or a new one; in its pipeline or out of it.

        A server that stays away is waited for once: from then on one caller at a time tries, once, and the others are
        told at once, or they would all wait in turn while more of them come.
        """
        self.check_open()
        while (connection := self._pop_idle(in_pipeline)) is not None:
            if _is_quiet(connection) and _bring(connection, in_pipeline):
                return connection
            connection.close()
        if self._away is None:
            return self._connect(PATIENCE_S if within_s is None else within_s, in_pipeline)
        if not self._probing.acquire(blocking=False):
            raise BankUnavailable(str(self._away))
        try:
            return self._connect(0.0, in_pipeline)
        finally:
            self._probing.release()

    def _connect(self, within_s: float, in_pipeline: bool) -> TimedConnection:
        def make() -> TimedConnection:
            fresh = connect(self._address)
            if in_pipeline:
                fresh.enter_pipeline()
            return fresh

        try:
            connection = patiently(make, self._address, within_s=within_s)
        except StoreError as error:
            self._away = error
            raise
        self._away = None
        return connection

    def _pop_idle(self, in_pipeline: bool) -> TimedConnection | None:
        """The connection that was used last, if possible one that is (or is not) in its pipeline as wanted."""
        with self._lock:
            fitting = [
                number for number, connection in enumerate(self._idle) if connection.is_in_pipeline == in_pipeline
            ]
            return self._idle.pop(fitting[-1] if fitting else -1) if self._idle else None

    def give_back(self, connection: TimedConnection) -> None:
        """Take a connection back. One that is in the middle of something is thrown away: the server rolls back."""
        if connection.made_in != os.getpid():
            _left_to_parents.append(connection)
            return
        at_rest = not connection.closed and (connection.is_ending or _is_idle(connection))
        with self._lock:
            if at_rest and not self.is_closed and len(self._idle) < 8:
                self._idle.append(connection)
                return
        connection.close()

    def drop_idle(self) -> None:
        """Drop idle connections after a loss: they are most likely lost, too."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    @contextmanager
    def lend(self, *, in_pipeline: bool = False) -> Iterator[TimedConnection]:
        connection = self.take(in_pipeline=in_pipeline)
        try:
            yield connection
        finally:
            self.give_back(connection)

    def leave_to_parent(self) -> None:
        _left_to_parents.extend(self._idle)
        self._idle, self._lock, self._probing = [], threading.Lock(), threading.Lock()

    def close(self) -> None:
        self.is_closed = True
        self.drop_idle()


def _is_idle(connection: TimedConnection) -> bool:
    return connection.pgconn.transaction_status == pq.TransactionStatus.IDLE


def _is_quiet(connection: TimedConnection) -> bool:
    """True if nothing came while it was at rest: a server that ends says so, and one that ended has hung up."""
    if connection.is_ending:
        with suppress(psycopg.Error):
            connection.hear_end()
    if connection.closed or not _is_idle(connection):
        return False
    # Not select(): it knows no descriptor from 1,024 on, and a busy server has those.
    with selectors.DefaultSelector() as selector:
        selector.register(connection.pgconn.socket, selectors.EVENT_READ)
        return not selector.select(0)


def _bring(connection: TimedConnection, in_pipeline: bool) -> bool:
    """Bring a connection into its pipeline or out of it; False if that fails."""
    try:
        if in_pipeline:
            connection.enter_pipeline()
        else:
            connection.leave_pipeline()
    except psycopg.Error:
        return False
    return True


def roll_back(connection: TimedConnection) -> None:
    """Leave no transaction open; a connection on which that fails is closed."""
    if connection.closed or connection.made_in != os.getpid():
        return
    try:
        if connection.is_in_pipeline:
            # What came before the failure is heard first, which may raise it a second time.
            with suppress(psycopg.Error):
                connection.enter_pipeline().sync()
        connection.rollback()
    except psycopg.Error:
        with suppress(psycopg.Error):
            connection.close()
