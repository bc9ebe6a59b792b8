"""Calls to a Milvus server: one door, through which every call has a deadline and every fault becomes one of ours.

Loads pymilvus only when something is asked. A forked child leaves its parent's connection alone and makes its own.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from reasoningbank.core.errors import BankUnavailable, IndexUnavailable, InvalidInput, MissingExtra, StoreError
from reasoningbank.forking import renew_in_child, unforked
from reasoningbank_milvus.address import MilvusAddress
from reasoningbank_milvus.shape import Abilities

T = TypeVar("T")
CONNECT_WITHIN_S = 5.0
ANSWER_WITHIN_S = 10.0
"""A server that is away is asked again for as long as this: a restart is over by then."""
WRITE_WITHIN_S = 30.0
FILE_WITHIN_S = 120.0
"""milvus-lite makes an object of every row that passes, vector and all, for each question: seconds for ten thousand. It
runs in this process, so that nobody is away."""
LOAD_WITHIN_S = 120.0
_AWAY = re.compile("Retry timeout|closed channel|should create connection first")
_left_to_parents: list[Any] = []
"""Connections of a parent: closing one here would end it there."""


class MilvusAway(IndexUnavailable):
    """There is no server to talk to."""


class MilvusRefusal(BankUnavailable):
    """The server answered, and will not do it: perhaps the collection is not what it was."""


class MilvusConnection:
    def __init__(self, address: MilvusAddress, key: str | None) -> None:
        self.address = address
        self._key = key
        self._begin()
        renew_in_child(self._begin_in_child)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._client: Any = None
        self._abilities: Abilities | None = None
        self._crew: ThreadPoolExecutor | None = None

    def _begin_in_child(self) -> None:
        _left_to_parents.extend((self._client, self._crew))
        self._begin()

    # ------------------------------------------------------------ asking

    def ask(self, verb: str, *arguments: Any, within_s: float | None = None, **options: Any) -> Any:
        """Answer of one method of pymilvus' client, within its deadline."""
        client, timeout = self._connected(), ANSWER_WITHIN_S if within_s is None else within_s
        if self.address.is_file:
            timeout = max(timeout, FILE_WITHIN_S)
        try:
            return self._translating(lambda: getattr(client, verb)(*arguments, timeout=timeout, **options))
        except MilvusAway:
            # It does not find back to a server that was started again.
            self._leave(client)
            raise

    def at_once(self, questions: Sequence[Callable[[], T]]) -> list[T]:
        """The answers to several questions that wait together."""
        if len(questions) < 2 or self.address.is_file:
            return [ask() for ask in questions]
        with self._lock:
            if self._crew is None:
                self._crew = ThreadPoolExecutor(8, thread_name_prefix="milvus")
            crew = self._crew
        return [answer.result() for answer in [crew.submit(ask) for ask in questions]]

    @property
    def abilities(self) -> Abilities:
        if self._abilities is None:
            self._abilities = Abilities.of(str(self.ask("get_server_version")))
        return self._abilities

    def _leave(self, client: Any) -> None:
        with self._lock:
            if self._client is client:
                self._client = self._abilities = None
                client.close()

    def close(self) -> None:
        with self._lock:
            client, crew = self._client, self._crew
            self._client = self._crew = None
        if crew is not None:
            crew.shutdown(wait=False)
        if client is not None:
            client.close()

    # ------------------------------------------------------------ connecting

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                make = load_client()
                with unforked():
                    self._client = self._translating(lambda: self._connect(make))
            return self._client

    def _connect(self, make: Callable[..., Any]) -> Any:
        if self.address.ca and not Path(self.address.ca).is_file():
            raise BankUnavailable(f"The certificate {self.address.ca} that {self.address.shown} names is not there.")
        options = {"server_pem_path": self.address.ca} if self.address.ca else {}
        return make(
            uri=self.address.uri,
            token=self._key or "",
            db_name=self.address.database,
            timeout=CONNECT_WITHIN_S,
            # Else one that broke, or is a parent's, would be lent again.
            dedicated=True,
            **options,
        )

    # ------------------------------------------------------------ faults

    def _translating(self, act: Callable[[], T]) -> T:
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            return act()
        except (MilvusException, grpc.RpcError, grpc.FutureTimeoutError) as error:
            raise self._translate(error) from None

    def _translate(self, error: Exception) -> StoreError | MissingExtra | InvalidInput:
        import grpc
        from pymilvus.client.types import Status
        from pymilvus.exceptions import ConnectionConfigException, ParamError

        # What a connection failed at is told by what it was caused by.
        error = error.__cause__ if isinstance(error.__cause__, grpc.RpcError) else error
        place, message = self.address.shown, _words(error)
        code = error.code() if isinstance(error, grpc.RpcError) else getattr(error, "code", None)
        if isinstance(error, ConnectionConfigException):
            if "milvus-lite is required" in message:
                return MissingExtra(package="milvus-lite", extra="milvus-lite", purpose=f"The index in {place}")
            return BankUnavailable(
                f"{place} cannot be opened as a file of milvus-lite. One process at a time can: close the other, or "
                "let a Milvus server keep the index (milvus://host:19530)."
            )
        if "auth" in message.lower() or code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
            return BankUnavailable(
                f"Milvus at {place} does not let us in: {message}. Put user:password or a token with rights to make "
                "collections in REASONINGBANK_INDEX_KEY."
            )
        if isinstance(code, grpc.StatusCode) or code in (None, Status.CONNECT_FAILED) or _AWAY.search(message):
            # One slow answer is no reason to hang up on everybody else's.
            kind = IndexUnavailable if code is grpc.StatusCode.DEADLINE_EXCEEDED else MilvusAway
            return kind(
                f"Milvus at {place} does not answer ({message}). Start it or wait until it does: what is stored "
                "meanwhile is kept in the records and follows into the index by itself."
            )
        if isinstance(error, ParamError):
            return InvalidInput(f"Milvus cannot keep this: {message}.")
        return MilvusRefusal(f"Milvus at {place} refused: {message}.")


def _words(error: Exception) -> str:
    details = error.details() if hasattr(error, "details") else getattr(error, "message", "")
    return " ".join(str(details or type(error).__name__).split())[:300].rstrip(".")


def load_client() -> Callable[..., Any]:
    """The client's class. Loading it would read a file `.env` into the environment of this process, and it writes to
    the terminal what our errors say: neither is wanted.
    """
    import dotenv

    read, dotenv.load_dotenv = dotenv.load_dotenv, lambda *_, **__: False
    try:
        from pymilvus import MilvusClient
    finally:
        dotenv.load_dotenv = read
    for logger in ("pymilvus", "pymilvus.milvus_client"):
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    logging.getLogger("milvus_lite").addHandler(logging.NullHandler())
    make: Callable[..., Any] = MilvusClient
    return make
