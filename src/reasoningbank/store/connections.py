"""The connections of one process to one SQLite file: one that writes, and readers that are lent out.

Knows how a connection is opened and set up, how many are kept, and that none may be carried over `fork()`. Does not
know what is asked of them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import apsw

from reasoningbank.core.errors import BankUnavailable, StoreError
from reasoningbank.store.opening import access_to, bring_up_to_date
from reasoningbank.store.turn import WriteTurn

MEMORY = ":memory:"
BUSY_TIMEOUT_MS = 30_000
WRITER_CACHE_KIB = 16_384
IDLE_READERS = 8
_URI_FLAGS = apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_CREATE


class Connections:
    def __init__(self, path: str, *, durability: str, create: bool, read_only: bool) -> None:
        self._path = path
        self._durability = durability
        self.read_only = read_only
        self._immutable = False
        self._memory_name = f"file:/reasoningbank-{id(self):x}-{os.getpid()}?vfs=memdb"
        self._readers: deque[apsw.Connection] = deque()
        self._process = os.getpid()
        self.writer: apsw.Connection | None = None
        self._inherited: tuple[apsw.Connection | None, ...] = ()
        self._is_closed = False
        # Whole, as SQLite keeps it: this process may go to another folder.
        self._place = Path(path).absolute()
        self._file: int | None = None
        """The number of the file that was opened."""
        if path != MEMORY:
            access = access_to(Path(path), create=create, read_only=read_only)
            self.read_only, self._immutable = access.read_only, access.immutable
        self.turn = WriteTurn(None if path == MEMORY or self.read_only else f"{self._place}-turn")

    def open_first(self) -> None:
        connection = self._connect() if self.read_only else self._connect_writer()
        bring_up_to_date(connection, self._path, read_only=self.read_only)
        if not self.read_only:
            self.writer = connection
            self._file = self._file_there()
        else:
            self._readers.append(connection)

    def _connect(self) -> apsw.Connection:
        if self._path == MEMORY:
            connection = apsw.Connection(self._memory_name, flags=_URI_FLAGS | apsw.SQLITE_OPEN_READWRITE)
        elif self.read_only:
            suffix = "?immutable=1" if self._immutable else ""
            connection = apsw.Connection(
                f"file:{quote(self._path)}{suffix}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            )
        else:
            connection = apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute(f"PRAGMA synchronous = {self._durability}")
        # Deleted bytes are overwritten, so that an erasure leaves nothing in free pages.
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def _connect_writer(self) -> apsw.Connection:
        connection = self._connect()
        # Ids made from contents fall anywhere into the trees: a bulk import would read each page again and again.
        connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        return connection

    @property
    def are_inherited(self) -> bool:
        """Whether they belong to the process that this one was forked from."""
        return os.getpid() != self._process

    def renew(self) -> None:
        """A child starts with its own: SQLite forbids carrying a connection over fork()."""
        self._process = os.getpid()
        # Held on to, because closing the parent's connections here would disturb its locks and its log.
        self._inherited = (*self._readers, self.writer)
        self._readers = deque()
        self.writer = None if self.read_only or self.writer is None else self._connect_writer()

    @contextmanager
    def lent(self) -> Iterator[apsw.Connection]:
        if self._is_closed:
            raise self.closed_error()
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        finally:
            if len(self._readers) < IDLE_READERS:
                self._readers.append(connection)
            else:
                connection.close()

    def writing(self) -> apsw.Connection:
        if self.writer is None:
            raise self.closed_error()
        if self._file != self._file_there():
            # SQLite would go on writing to a file that has no name any more, and say that all is well.
            raise BankUnavailable(
                f"{self._path} was moved, replaced or deleted while this process had it open. Nothing was written: "
                "put it back, or start this process again."
            )
        return self.writer

    def _file_there(self) -> int | None:
        if self._path == MEMORY:
            return None
        try:
            return os.stat(self._place).st_ino  # noqa: PTH116 - before every commit, at half the price
        except OSError:
            return None

    def closed_error(self) -> StoreError:
        return StoreError(f"{self._path} is closed.")

    def close(self) -> None:
        self._is_closed = True
        for connection in (*self._readers, *([self.writer] if self.writer else [])):
            with suppress(apsw.Error):
                connection.close()
        self._readers.clear()
        self.writer = None
        self.turn.close()
