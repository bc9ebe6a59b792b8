"""Asks a Qdrant through `qdrant-client`: deadlines, several questions at once, and faults in the project's own words.

Every question may be asked again without harm, so one that was cut off is asked a second time.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, TypeVar

import httpx
from qdrant_client import QdrantClient

from reasoningbank.forking import renew_in_child
from reasoningbank_qdrant.address import QdrantAddress
from reasoningbank_qdrant.faults import FAULTS, fault_of, is_cut_off, local_fault_of
from reasoningbank_qdrant.local_mode import ALONE, LOCAL_CLIENTS

T = TypeVar("T")
Question = Callable[[QdrantClient], T]
AT_ONCE = 16


class QdrantConnection:
    def __init__(self, address: QdrantAddress, key: str | None) -> None:
        """Nothing is asked before the first question."""
        self._address, self._key = address, key
        self._begin()
        renew_in_child(self._begin)

    def _begin(self) -> None:
        """Sockets and threads are the parent's."""
        self._lock = threading.Lock()
        self._client: QdrantClient | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._alone: Any = ALONE if self.is_local else nullcontext()

    @property
    def is_local(self) -> bool:
        return self._address.is_local

    def ask(self, question: Question[T], *, writes: bool = False) -> T:
        client = self._connect()
        for is_last in (False, True):
            try:
                with self._alone:
                    return question(client)
            except FAULTS as error:
                if is_last or not is_cut_off(error):
                    raise fault_of(error, f"The index in Qdrant at {self._address}", writes=writes) from error
            except (ValueError, KeyError) as error:
                if not self.is_local:
                    raise
                raise local_fault_of(error, f"The index in {self._address}") from error
        raise AssertionError

    def ask_all(self, questions: Sequence[Question[T]]) -> list[T]:
        """Several questions that the server has no single request for, asked side by side."""
        if len(questions) < 2 or self.is_local:
            return [self.ask(question) for question in questions]
        self._connect()
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="reasoningbank-qdrant")
            pool = self._pool
        return list(pool.map(self.ask, questions))

    def close(self) -> None:
        with self._lock:
            client, pool, self._client, self._pool = self._client, self._pool, None, None
        if pool is not None:
            pool.shutdown(wait=True)
        if client is not None and self.is_local:
            LOCAL_CLIENTS.give_back(self._address.path)
        elif client is not None:
            client.close()

    def _connect(self) -> QdrantClient:
        with self._lock:
            if self._client is None:
                self._client = self._new_client()
            return self._client

    def _new_client(self) -> QdrantClient:
        address = self._address
        if address.is_local:
            return LOCAL_CLIENTS.take(address.path)
        with warnings.catch_warnings():
            # Whoever says qdrant:// with a key has a network of their own; docs/indexes.md says what that means.
            warnings.simplefilter("ignore", UserWarning)
            return QdrantClient(
                host=address.host,
                port=address.port,
                prefix=address.path or None,
                https=address.tls,
                api_key=self._key,
                timeout=address.deadline_s,
                prefer_grpc=address.grpc_port is not None,
                grpc_port=address.grpc_port or 0,
                check_compatibility=False,
                limits=httpx.Limits(max_connections=2 * AT_ONCE, max_keepalive_connections=AT_ONCE),
            )
