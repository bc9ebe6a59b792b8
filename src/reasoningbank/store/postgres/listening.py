"""Hear of commits in PostgreSQL (LISTEN): a thread with a connection of its own wakes whoever follows the feed.

When the connection is lost it is made again; whoever follows looks by itself meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import psycopg

from reasoningbank.core.errors import BankError
from reasoningbank.store.postgres.address import PostgresAddress
from reasoningbank.store.postgres.connections import connect

_LOOK_S = 0.5
"""How soon it is seen that nobody wants to be woken any more."""
_AGAIN_S = 5.0


def channel_of(address: PostgresAddress) -> str:
    """Where a commit says that the feed has grown."""
    return f"reasoningbank_{address.schema}"


@contextmanager
def heard_commits(address: PostgresAddress, wake: Callable[[], object]) -> Iterator[None]:
    over = threading.Event()
    threading.Thread(target=_listen, args=(address, wake, over), daemon=True, name="reasoningbank-listen").start()
    try:
        yield
    finally:
        over.set()


def _listen(address: PostgresAddress, wake: Callable[[], object], over: threading.Event) -> None:
    while not over.is_set():
        with suppress(psycopg.Error, BankError), closing(connect(address)) as connection:
            connection.execute(f'LISTEN "{channel_of(address)}"')
            # Whatever came before nobody listened.
            wake()
            while not over.is_set():
                for _ in connection.notifies(timeout=_LOOK_S, stop_after=1):
                    wake()
        over.wait(_AGAIN_S)
