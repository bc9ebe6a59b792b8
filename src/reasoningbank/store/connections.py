"""The connections of one process to one SQLite file: one that writes, and readers that are lent out.

Knows how a connection is opened and set up, how many are kept, and that a forked child begins with its own. Does not
know what is asked of them.

SQLite's locks belong to the process, not to a connection. So a process never opens and closes the file by itself while
it has a connection to it (the system would drop the locks of all), and a child lets go of every connection that it
inherits before it makes one (SQLite would take the parent's locks for its own).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote
from weakref import WeakSet

import apsw

from reasoningbank import forking
from reasoningbank.core.errors import BankUnavailable, StoreError
from reasoningbank.store.calls import UnforkedCursor, check_not_torn, close, connected, forbid, leave, never_close
from reasoningbank.store.opening import access_to, bring_up_to_date

MEMORY = ":memory:"
BUSY_TIMEOUT_MS = 30_000
WRITER_CACHE_KIB = 16_384
IDLE_READERS = 8
_URI_FLAGS = apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_CREATE


class _Opening:
    """One opening at a time, since each looks at a file that another might be getting its first connection to."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all: WeakSet[Connections] = WeakSet()
        forking.renew_in_child(self._begin_anew)

    def _begin_anew(self) -> None:
        self.lock = threading.Lock()


class Connections:
    def __init__(self, path: str, *, durability: str, create: bool, read_only: bool) -> None:
        self._path = path
        self._durability = durability
        self.read_only = read_only
        self._immutable = False
        self._memory_name = f"file:/reasoningbank-{id(self):x}-{os.getpid()}?vfs=memdb"
        self._readers: deque[apsw.Connection] = deque()
        self._made: WeakSet[apsw.Connection] = WeakSet()
        """Those in the hands of callers too."""
        self.writer: apsw.Connection | None = None
        self._is_closed = False
        self._is_inherited = False
        """This process was forked from the one that opened the bank, and has no connection yet."""
        # Whole, as SQLite keeps it: this process may go to another folder.
        self._place = Path(path).absolute()
        self._file: tuple[int, int] | None = None
        """The device and the number of the file that was opened."""
        self._create = create

    def open_first(self) -> None:
        forking.notice_fork()
        check_not_torn()
        with forking.unforked(), _opening.lock:
            if self._path != MEMORY:
                there = _file_at(self._place)
                is_open = there is not None and there in [other.file for other in _opening.all]
                access = access_to(
                    Path(self._path), create=self._create, read_only=self.read_only, is_open_here=is_open
                )
                self.read_only, self._immutable = access.read_only, access.immutable
            connection = self._connect() if self.read_only else self._connect_writer()
            bring_up_to_date(connection, self._path, read_only=self.read_only)
            self._file = None if self._path == MEMORY else _file_at(self._place)
            _opening.all.add(self)
        if not self.read_only:
            self.writer = connection
        else:
            self._readers.append(connection)

    @property
    def file(self) -> tuple[int, int] | None:
        """What is open here, as the system names it."""
        return None if self._is_closed else self._file

    def _connect(self) -> apsw.Connection:
        with forking.unforked():
            connection = connected(*self._name_and_flags())
            self._made.add(connection)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.execute(f"PRAGMA synchronous = {self._durability}")
        # Deleted bytes are overwritten, so that an erasure leaves nothing in free pages.
        connection.execute("PRAGMA secure_delete = ON")
        connection.cursor_factory = UnforkedCursor
        return connection

    def _name_and_flags(self) -> tuple[str, int]:
        if self._path == MEMORY:
            return self._memory_name, _URI_FLAGS | apsw.SQLITE_OPEN_READWRITE
        if self.read_only:
            suffix = "?immutable=1" if self._immutable else ""
            return f"file:{quote(str(self._place))}{suffix}", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        # Only the first of all makes a file: where one was taken away, an empty one would take its place.
        return str(self._place), apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if self._file is None else 0)

    def _connect_writer(self) -> apsw.Connection:
        connection = self._connect()
        # Ids made from contents fall anywhere into the trees: a bulk import would read each page again and again.
        connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        # What it does is unforked as a whole.
        connection.cursor_factory = apsw.Cursor
        return connection

    def leave_to_parent(self, *, midway: bool) -> None:
        """In a child: let go of what was inherited, without a word to the file, which is the parent's to write.

        `midway` says that this very thread is in the middle of a write, which must not go on here.
        """
        if midway and self.writer is not None:
            forbid(self.writer)
        self._readers, self.writer, self._is_inherited = deque(), None, True
        for connection in list(self._made):
            if forking.is_torn():
                never_close(connection)
            else:
                leave(connection)
        self._made = WeakSet()

    def check_usable(self) -> None:
        forking.notice_fork()
        check_not_torn()
        if self._is_inherited and self._path == MEMORY:
            raise StoreError(
                "This bank is in the memory of the process that opened it, and this one was forked from that. Open a "
                "bank of its own here, or keep the bank in a file."
            )

    @contextmanager
    def lent(self) -> Iterator[apsw.Connection]:
        self.check_usable()
        if self._is_closed:
            raise self.closed_error()
        readers = self._readers
        try:
            connection = readers.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        except (apsw.ConnectionClosedError, apsw.CursorClosedError) as error:
            if readers is self._readers:
                raise
            raise StoreError(
                f"This process was forked in the middle of reading {self._path}; what was being read stayed with its "
                "parent. Read it again."
            ) from error
        finally:
            if len(readers) < IDLE_READERS:
                readers.append(connection)
            else:
                close(connection)

    def writing(self) -> apsw.Connection:
        """The caller has made sure that the bank is usable here."""
        if self._is_closed:
            raise self.closed_error()
        if self._path != MEMORY and self._file != _file_at(self._place):
            # SQLite would go on writing to a file that has no name any more, and say that all is well.
            raise BankUnavailable(
                f"{self._path} was moved, replaced or deleted while this process had it open. Nothing was written: "
                "put it back, or start this process again."
            )
        if self.writer is None:
            self.check_usable()
            self.writer = self._connect_writer()
        return self.writer

    def closed_error(self) -> StoreError:
        return StoreError(f"{self._path} is closed.")

    def close(self) -> None:
        if forking.is_torn():
            return
        self._is_closed = True
        for connection in (*self._readers, *([self.writer] if self.writer else [])):
            with suppress(apsw.Error):
                close(connection)
        self._readers.clear()
        self.writer = None


def _file_at(place: Path) -> tuple[int, int] | None:
    try:
        stat = place.stat()
    except (OSError, ValueError):
        return None
    return stat.st_dev, stat.st_ino


_opening = _Opening()
