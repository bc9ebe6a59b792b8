"""Hear of commits in PostgreSQL (LISTEN): one thread with a connection of its own wakes all who follow the feed here.

When the connection is lost, or says nothing when asked, it is made again; whoever follows looks by itself meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import psycopg

from reasoningbank.core.errors import BankError
from reasoningbank.forking import renew_in_child
from reasoningbank_postgres.address import PostgresAddress
from reasoningbank_postgres.connections import connect

_LOOK_S = 0.5
"""Seconds until it is seen that nobody wants to be woken any more."""
ASK_EVERY_S = 15.0
"""Seconds of silence after which a connection is asked if it still is one."""
ANSWERS_WITHIN_S = 5.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
Wake = Callable[[], object]


def channel_of(address: PostgresAddress) -> str:
    """Name of the channel where a commit says that the feed has grown."""
    return f"reasoningbank_{address.schema}"


class CommitListener:
    """`listen` for as long as somebody wants to be woken, through one connection for all of them."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._begin_in_child()
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        self._lock = threading.Lock()
        self._wakes: list[Wake] = []
        self._thread: threading.Thread | None = None
        self._is_heard = False

    @contextmanager
    def listen(self, wake: Wake) -> Iterator[None]:
        with self._lock:
            self._wakes.append(wake)
            is_heard = self._is_heard
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="reasoningbank-listen")
                self._thread.start()
        if is_heard:
            # As everybody hears once when listening begins: what came before was told to nobody.
            wake()
        try:
            yield
        finally:
            with self._lock:
                self._wakes.remove(wake)

    def _is_wanted(self) -> bool:
        with self._lock:
            if not self._wakes:
                self._thread, self._is_heard = None, False
            return bool(self._wakes)

    def _wake_all(self) -> None:
        with self._lock:
            wakes = list(self._wakes)
        for wake in wakes:
            wake()

    def _run(self) -> None:
        pause_s, listen = _FIRST_PAUSE_S, f'LISTEN "{channel_of(self._address)}"'
        while self._is_wanted():
            with suppress(psycopg.Error, BankError), closing(connect(self._address)) as connection:
                connection.answers_within_s = ANSWERS_WITHIN_S
                connection.execute(listen)
                pause_s, self._is_heard = _FIRST_PAUSE_S, True
                # Whatever came before anybody listened.
                self._wake_all()
                asked_at = time.monotonic()
                while self._is_wanted():
                    for _ in connection.notifies(timeout=_LOOK_S, stop_after=1):
                        self._wake_all()
                    if time.monotonic() - asked_at > ASK_EVERY_S:
                        connection.execute(listen)
                        asked_at = time.monotonic()
                return
            self._is_heard = False
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
