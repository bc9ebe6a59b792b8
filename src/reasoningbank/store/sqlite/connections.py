"""The connections of one process to one SQLite file: one that writes, and readers that are lent out.

Here stands how a connection is opened and set up, how many are kept, that a forked child begins with its own, and that
what is written goes into the files that were opened. Independent of what is asked of them.

SQLite's locks belong to the process, not to a connection. So a process never opens and closes the file by itself while
it has a connection to it (the system would drop the locks of all), and a child lets go of every connection that it
inherits before it makes one (SQLite would take the parent's locks for its own).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet, finalize

import apsw

from reasoningbank import forking
from reasoningbank.core.errors import BankFull, BankReplaced, StoreError
from reasoningbank.core.failure import OnError
from reasoningbank.files import PRIVATE_MODE
from reasoningbank.store.closed import refusal
from reasoningbank.store.sqlite.acknowledged import WATCHABLE, read_head
from reasoningbank.store.sqlite.calls import (
    UnforkedCursor,
    check_not_torn,
    close,
    connect,
    forbid,
    leave,
    make_writing_cursor,
    never_close,
)
from reasoningbank.store.sqlite.error_mapping import NAMED, translate
from reasoningbank.store.sqlite.holders import note_closed, note_opened, open_here
from reasoningbank.store.sqlite.opening import access_to, bring_up_to_date
from reasoningbank.store.sqlite.pairing import check_head, check_log_is_not_alone, check_pair, log_bytes
from reasoningbank.store.sqlite.stamps import Stamp, end_of_transaction, reason_of_closing, stamp_and_head
from reasoningbank.store.sqlite.turn import WriteTurn
from reasoningbank.store.sqlite.watch import FileWatch, Inodes, inodes_of

MEMORY = ":memory:"
BUSY_TIMEOUT_MS = 30_000
WRITER_CACHE_KIB = 16_384
IDLE_READERS = 8
"""Idle readers of all banks that a process has open: each may keep one, whose files stay open."""


class Connections:
    def __init__(self, path: str, *, durability: str, create: bool, read_only: bool) -> None:
        self._path = path
        self._durability = durability
        self.read_only = read_only
        self._create = create
        self._immutable = False
        self._memory_name = f"file:/reasoningbank-{id(self):x}-{os.getpid()}?vfs=memdb"
        self._readers: deque[apsw.Connection] = deque()
        self._made: WeakSet[apsw.Connection] = WeakSet()
        """All connections, those in the hands of callers too."""
        self.writer: apsw.Connection | None = None
        self.turn = WriteTurn(None)
        self._is_closed = False
        self._is_inherited = False
        """True if this process was forked from the one that opened the bank, and has no connection yet."""
        self._beginning = threading.Lock()
        """Lock that is held while a child makes its first connection."""
        # Whole, as SQLite keeps it: this process may go to another folder.
        self._place = Path(path).absolute()
        self._inodes: Inodes = (0, 0, 0)
        """Inodes of the files that were opened."""
        self._note_closed: Callable[[], object] = lambda: None
        self._stamp: Stamp | None = None
        self._watch: FileWatch | None = None

    # ------------------------------------------------------------ opening

    def open_first(self) -> None:
        forking.notice_fork()
        check_not_torn()
        with forking.unforked():
            if self._path == MEMORY:
                self.writer = self._connect_writer()
                bring_up_to_date(self.writer, self._path, read_only=False)
                return
            access = access_to(Path(self._path), create=self._create, read_only=self.read_only)
            self.read_only, self._immutable = access.read_only, access.immutable
            if not self.read_only:
                self.turn = WriteTurn(f"{self._place}-turn")
            try:
                self._keep(self._open_file())
            except NAMED as error:
                # A reader makes a file too, for what it shares with others. Where there is no log, it has nothing to.
                is_full = isinstance(translate(error, self._path), BankFull)
                if not (is_full and self.read_only) or log_bytes(self._place):
                    raise
                self._immutable = True
                self._keep(self._open_file())
            note_opened(self._place)
            self._note_closed = finalize(self, note_closed, self._place)

    def _keep(self, connection: apsw.Connection) -> None:
        if self.read_only:
            self._readers.append(connection)
        else:
            self.writer = connection

    def _open_file(self) -> apsw.Connection:
        for _ in range(5):
            before = inodes_of(self._place)[0]
            check_log_is_not_alone(self._place)
            if WATCHABLE and not self._immutable:
                check_pair(self._place)
            connection = self._open()
            self._inodes = inodes_of(self._place)
            if before in (0, self._inodes[0]):
                return connection
            # Put in place by a recovery while this process waited: what was opened is the bank from before.
            leave(connection)
        raise self._gone_error()

    def _open(self) -> apsw.Connection:
        # Read first: whoever writes meanwhile goes on from there.
        note = read_head(self._place)
        connection = self._connect() if self.read_only else self._connect_writer()
        with OnError(lambda _: leave(connection)):
            bring_up_to_date(connection, self._path, read_only=self.read_only)
            self._stamp, head = stamp_and_head(connection)
            check_head(self._place, note, self._stamp, head)
        return connection

    def _connect(self) -> apsw.Connection:
        with forking.unforked():
            uri, flags = self._uri_and_flags()
            if flags & apsw.SQLITE_OPEN_CREATE and self._path != MEMORY:
                # SQLite would let the user's mask decide who may read it, and gives its log the mode that it finds.
                with suppress(FileExistsError):
                    os.close(os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_MODE))
            connection = connect(uri, flags)
            self._made.add(connection)
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.execute(f"PRAGMA synchronous = {self._durability}")
            # Deleted bytes are overwritten, so that an erasure leaves nothing in free pages.
            connection.execute("PRAGMA secure_delete = ON")
            connection.cursor_factory = UnforkedCursor
        return connection

    def _uri_and_flags(self) -> tuple[str, int]:
        if self._path == MEMORY:
            return self._memory_name, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        if self.read_only:
            suffix = "?immutable=1" if self._immutable else ""
            return f"{self._place.as_uri()}{suffix}", apsw.SQLITE_OPEN_READONLY
        # Only the first of all makes a file: where one was taken away, an empty one would take its place.
        create = 0 if self._inodes[0] else apsw.SQLITE_OPEN_CREATE
        return self._place.as_uri(), apsw.SQLITE_OPEN_READWRITE | create

    def _connect_writer(self) -> apsw.Connection:
        connection = self._connect()
        # Ids made from contents fall anywhere into the trees: a bulk import would read each page again and again.
        connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        # What it does is unforked as a whole.
        connection.cursor_factory = apsw.Cursor
        return connection

    # ------------------------------------------------------------ in a child

    def leave_to_parent(self, *, midway: bool) -> None:
        """In a child: let go of what was inherited, without a word to the file, which is the parent's to write.

        `midway` says that this very thread is in the middle of a write, which must not go on here.
        """
        if midway and self.writer is not None:
            forbid(self.writer)
        self._readers, self.writer, self._is_inherited = deque(), None, True
        self._beginning = threading.Lock()
        watch, self._watch = self._watch, None
        for connection in list(self._made):
            if forking.is_torn():
                never_close(connection)
            else:
                # One that was closed a moment ago may still be known here.
                with suppress(apsw.ConnectionClosedError):
                    leave(connection)
        self._made = WeakSet()
        if watch is not None and forking.is_torn():
            never_close(watch)
        elif watch is not None:
            watch.close()

    def check_usable(self) -> None:
        forking.notice_fork()
        check_not_torn()
        if self._is_inherited and self._path == MEMORY:
            raise StoreError(
                "This bank is in the memory of the process that opened it, and this one was forked from that. Open a "
                "bank of its own here, or keep the bank in a file."
            )
        if self._is_inherited and not self._is_closed:
            self._begin_in_child()

    def _begin_in_child(self) -> None:
        """Connect to the same file, whatever log it has by now: the parent may have closed the bank, and its log."""
        with self._beginning, forking.unforked():
            if self._is_inherited:
                bank = self._inodes[0]
                connection = self._open_file()
                if self._inodes[0] != bank:
                    leave(connection)
                    raise self._gone_error()
                self._keep(connection)
                self._is_inherited = False

    # ------------------------------------------------------------ using them

    @contextmanager
    def lent(self) -> Iterator[apsw.Connection]:
        self.check_usable()
        if self._is_closed:
            raise self.closed_error()
        readers = self._readers
        connection = self._take_reader()
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
            self._give_reader(connection, readers)

    @contextmanager
    def _resting_beside(self, writing: apsw.Connection | None) -> Iterator[apsw.Connection]:
        """A connection in no transaction, to look at the file with. Who writes has the turn, so no other writes."""
        if self.writer is not None and self.writer is not writing:
            yield self.writer
            return
        readers = self._readers
        connection = self._take_reader()
        try:
            yield connection
        finally:
            self._give_reader(connection, readers)

    def _take_reader(self) -> apsw.Connection:
        try:
            return self._readers.pop()
        except IndexError:
            return self._connect()

    def _give_reader(self, connection: apsw.Connection, readers: deque[apsw.Connection]) -> None:
        if not readers or len(readers) < IDLE_READERS // max(1, open_here()):
            readers.append(connection)
        elif not forking.is_torn():
            close(connection)
        if self._is_closed:
            # By another thread, meanwhile.
            self._close_readers(leaves=True)

    def writing(self) -> apsw.Connection:
        """The writing connection; the caller has made sure that the bank is usable here."""
        if self._is_closed:
            raise self.closed_error()
        if self.writer is None:
            self.check_usable()
        assert self.writer is not None
        return self.writer

    def begin(self, connection: apsw.Connection) -> None:
        """Take the write lock, and see that what is written now will be there."""
        watch = self._watching()
        make_writing_cursor(connection).execute("BEGIN IMMEDIATE")
        is_begun = False
        try:
            if watch is not None:
                with self._resting_beside(connection) as observer:
                    watch.begun(connection, observer)
            is_begun = True
        finally:
            if not is_begun:
                connection.execute("ROLLBACK")

    def commit(self, connection: apsw.Connection, proof: list[Any], *, though_closed: bool = False) -> None:
        """Commit, to be acknowledged once this returns, and not otherwise. `proof` is not empty once it is
        committed. Raises before that if the bank takes no writes any more.
        """
        watch, cursor = self._watch, make_writing_cursor(connection)
        if watch is not None and watch.keeps_head:
            stamp, head, why_closed = end_of_transaction(cursor)
        else:
            stamp, head, why_closed = None, 0, reason_of_closing(cursor)
        if why_closed is not None and not though_closed:
            raise refusal(why_closed, self._path)
        # Made and noted in one step of the interpreter, so that no interrupt comes in between.
        proof.extend(map(cursor.execute, ("COMMIT",)))
        if watch is not None:
            watch.committed(connection, stamp, head)

    def _watching(self) -> FileWatch | None:
        if self._watch is None and WATCHABLE and all(self._inodes):
            # SQLite would go on writing to a file that has no name any more, and say that all is well.
            if inodes_of(self._place) != self._inodes:
                raise self._gone_error()
            with self._resting_beside(self.writer) as observer:
                self._watch = FileWatch(self._place, self._path, self._inodes, self._stamp, observer)
        return self._watch

    def _gone_error(self) -> BankReplaced:
        return BankReplaced(
            f"{self._path} or its log was moved, replaced or deleted while this process had it open. Nothing was "
            "written: put it back, or start this process again."
        )

    # ------------------------------------------------------------ the end

    def _is_sound(self) -> bool:
        """True if the last connection may copy the log into the file, as SQLite does when it is closed."""
        if self.writer is None or not WATCHABLE or not all(self._inodes):
            return True
        try:
            watch = self._watch or FileWatch(self._place, self._path, self._inodes, self._stamp, self.writer)
        except (apsw.Error, OSError):
            return False
        self._watch = watch
        return watch.is_sound(self.writer)

    def closed_error(self) -> StoreError:
        return StoreError(f"{self._path} is closed.")

    def close(self) -> None:
        if forking.is_torn():
            return
        with forking.unforked():
            self._note_closed()
            self._is_closed = True
            leaves = not self._is_sound()
            watch, self._watch = self._watch, None
            self._close_readers(leaves=leaves)
            if self.writer is not None:
                with suppress(apsw.Error):
                    leave(self.writer) if leaves else self.writer.close()
            self.writer = None
            self.turn.close()
            if watch is not None:
                watch.close()

    def _close_readers(self, *, leaves: bool) -> None:
        with suppress(IndexError):
            while True:
                connection = self._readers.pop()
                with suppress(apsw.Error), forking.unforked():
                    leave(connection) if leaves else connection.close()
