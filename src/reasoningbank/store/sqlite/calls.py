"""Connections whose calls a fork does not cut in two.

SQLite has locks of its own that all connections share. A thread that is inside of one of its calls while another forks
would leave them locked in the child for ever. So each call is made `unforked`: a transaction that writes as a whole, of
one that only reads, each statement, its rows being fetched some at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from reasoningbank.core.errors import BankUnavailable
from reasoningbank.forking import is_torn, unforked

ROWS_AT_A_TIME = 64


_execute, _executemany, _next = apsw.Cursor.execute, apsw.Cursor.executemany, apsw.Cursor.__next__
_fetchone, _fetchall = apsw.Cursor.fetchone, apsw.Cursor.fetchall


def check_not_torn() -> None:
    if is_torn():
        raise BankUnavailable(
            "This process was forked while its parent was in the middle of using a bank, so it can use none. Nothing "
            "was written here: fork outside of a write, or start processes with 'spawn' or 'forkserver'."
        )


class UnforkedCursor(apsw.Cursor):
    def execute(self, sql: Any, values: Any = None, **options: Any) -> apsw.Cursor:  # type: ignore[override]  # not by name
        check_not_torn()
        with unforked():
            return _execute(self, sql, values, **options)

    def executemany(self, sql: Any, values: Any, **options: Any) -> apsw.Cursor:  # type: ignore[override]
        check_not_torn()
        with unforked():
            return _executemany(self, sql, values, **options)

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # it gives the same rows
        cursor_rows = iter(partial(_next, self), None)
        rows: list[Any] = [()]
        while rows:
            rows = []
            check_not_torn()
            try:
                with unforked():
                    rows.extend(islice(cursor_rows, ROWS_AT_A_TIME))
            finally:
                # Before a row that cannot be read come those that can.
                yield from rows

    def fetchone(self) -> Any:
        check_not_torn()
        with unforked():
            return _fetchone(self)

    def fetchall(self) -> list[Any]:
        check_not_torn()
        with unforked():
            return _fetchall(self)


def make_writing_cursor(connection: apsw.Connection) -> apsw.Cursor:
    """Cursor without an interpreter's step around each statement: for a transaction that is `unforked` as a whole."""
    check_not_torn()
    return apsw.Cursor(connection)


def connect(uri: str, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> apsw.Connection:
    """Connect to a file by its URI, which can say any name: as text a name must be UTF-8, and that of a folder need
    not be.
    """
    with unforked():
        return apsw.Connection(uri, flags=flags | apsw.SQLITE_OPEN_URI)


def open_raw(path: Path) -> apsw.VFSFile:
    """A bank's file as it lies on the disk, read through SQLite's own file layer, which takes no name but UTF-8."""
    flags = [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0]
    try:
        return apsw.VFSFile("", os.fsencode(path).decode(), flags)
    except UnicodeDecodeError:
        # Only Linux has such names, and another one for every folder that is open.
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return apsw.VFSFile("", f"/proc/self/fd/{folder}/{path.name}", flags)
        finally:
            os.close(folder)


def close(connection: apsw.Connection) -> None:
    with unforked():
        connection.close()


def in_transaction(connection: apsw.Connection) -> bool:
    """True if there is a transaction to end; not one that was left to the parent of this process."""
    try:
        return connection.in_transaction
    except apsw.ConnectionClosedError:
        return False


def leave(connection: apsw.Connection) -> None:
    """In a child, close what belongs to the parent: neither the file nor its log is touched."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close(True)


def forbid(connection: apsw.Connection) -> None:
    """Refuse every further statement, without a word to the file."""
    connection.authorizer = lambda *_: apsw.SQLITE_DENY


def never_close(holder: object) -> None:
    """Keep a connection open even when this process ends: what a call has left half done must not be touched."""
    from ctypes import py_object, pythonapi

    pythonapi.Py_IncRef(py_object(holder))
