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

from reasoningbank.core.errors import BankReplaced, StoreError
from reasoningbank.store.acknowledged import WATCHABLE, read_head
from reasoningbank.store.holders import note_closed, note_opened
from reasoningbank.store.opening import access_to, bring_up_to_date, stamp_and_head_of
from reasoningbank.store.pairing import check_head, check_log_is_not_alone, check_pair
from reasoningbank.store.stamps import Stamp, stamp_and_head
from reasoningbank.store.watch import Inodes, Watch, inodes_of

MEMORY = ":memory:"
BUSY_TIMEOUT_MS = 30_000
WRITER_CACHE_KIB = 16_384
IDLE_READERS = 8
_OPENINGS = 5
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
        self._inherited_watch: Watch | None = None
        self._is_closed = False
        # Whole, as SQLite keeps it: this process may go to another folder.
        self._place = Path(path).absolute()
        self._inodes: Inodes = (0, 0, 0)
        """Of the files that were opened."""
        self._stamp: Stamp | None = None
        self._watch: Watch | None = None
        if path != MEMORY:
            access = access_to(Path(path), create=create, read_only=read_only)
            self.read_only, self._immutable = access.read_only, access.immutable

    def open_first(self) -> None:
        if self._path == MEMORY:
            self.writer = self._connect_writer()
            bring_up_to_date(self.writer, self._path, read_only=False)
            return
        for _ in range(_OPENINGS):
            before = inodes_of(self._place)[0]
            check_log_is_not_alone(self._place)
            if WATCHABLE and not self._immutable:
                check_pair(self._place)
            connection = self._opened()
            self._inodes = inodes_of(self._place)
            if before in (0, self._inodes[0]):
                break
            # Put in place by a recovery while this process waited: what was opened is the bank from before.
            _leave(connection)
        else:
            raise self._gone()
        note_opened(self._place)
        if self.read_only:
            self._readers.append(connection)
        else:
            self.writer = connection

    def _opened(self) -> apsw.Connection:
        # Read first: whoever writes meanwhile goes on from there.
        note = read_head(self._place)
        connection = self._connect() if self.read_only else self._connect_writer()
        try:
            bring_up_to_date(connection, self._path, read_only=self.read_only)
            self._stamp, head = stamp_and_head_of(connection)
            check_head(self._place, note, self._stamp, head)
        except BaseException:
            _leave(connection)
            raise
        return connection

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
        self._inherited_watch, self._watch = self._watch, None
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
        return self.writer

    def begin(self, connection: apsw.Connection) -> None:
        """Take the write lock, and see that what is written now will be there."""
        watch = self._watching()
        connection.execute("BEGIN IMMEDIATE")
        if watch is not None:
            watch.begun(connection)

    def commit(self, connection: apsw.Connection) -> None:
        """To be acknowledged once this returns, and not otherwise."""
        watch = self._watch
        stamp, head = stamp_and_head(connection) if watch is not None and watch.keeps_head else (None, 0)
        connection.execute("COMMIT")
        if watch is not None:
            watch.committed(stamp, head)

    def _watching(self) -> Watch | None:
        if self._watch is None and WATCHABLE and all(self._inodes):
            # SQLite would go on writing to a file that has no name any more, and say that all is well.
            if inodes_of(self._place) != self._inodes:
                raise self._gone()
            self._watch = Watch(self._place, self._path, self._inodes, self._stamp, self._connect())
        return self._watch

    def _gone(self) -> BankReplaced:
        return BankReplaced(
            f"{self._path} or its log was moved, replaced or deleted while this process had it open. Nothing was "
            "written: put it back, or start this process again."
        )

    def _is_sound(self) -> bool:
        """Whether the last connection may copy the log into the file, as SQLite does when it is closed."""
        if self.writer is None or not WATCHABLE or not all(self._inodes):
            return True
        try:
            watch = self._watch or Watch(self._place, self._path, self._inodes, self._stamp, self.writer)
        except (apsw.Error, OSError):
            return False
        self._watch = watch
        return watch.is_sound()

    def closed_error(self) -> StoreError:
        return StoreError(f"{self._path} is closed.")

    def close(self) -> None:
        if not self._is_closed and self._path != MEMORY:
            note_closed(self._place)
        self._is_closed = True
        leaves = not self._is_sound()
        watch, self._watch = self._watch, None
        observer = [] if watch is None or watch.observer is self.writer else [watch.observer]
        for connection in (*self._readers, *observer, *([self.writer] if self.writer else [])):
            with suppress(apsw.Error):
                _leave(connection) if leaves else connection.close()
        self._readers.clear()
        self.writer = None
        if watch is not None:
            watch.close()


def _leave(connection: apsw.Connection) -> None:
    """Close without touching what lies beside: it is not ours, or not to be trusted."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close()
