"""The tables of bus.db, how the file is opened, and what its failures are called.

Independent of what entries mean. The file is its owner's alone, and is refused when it is no log of the bus or was
written by a newer version.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from reasoningbank.core.errors import (
    BankBusy,
    BankDamaged,
    BankForeign,
    BankFull,
    BankReadOnly,
    BankTooNew,
    BankUnavailable,
    StoreError,
)
from reasoningbank.core.failure import OnError
from reasoningbank.core.media import named_fault
from reasoningbank.files import PRIVATE_MODE, sync_folder

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x52_42_75_73
"""`RBus`"""
BUSY_TIMEOUT_MS = 30_000
_CACHE_KIB = 16_384
_JOURNAL_BYTES = 64 * 1024 * 1024
"""Size to which the journal shrinks again after a long batch has made it grow."""
_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    namespace TEXT NOT NULL,
    place BLOB NOT NULL,
    record_author BLOB NOT NULL,
    record_id TEXT NOT NULL,
    is_erasure INTEGER NOT NULL,
    encoded BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_by_place ON entries (namespace, place, scope, id);
CREATE INDEX IF NOT EXISTS entries_by_record ON entries (record_id, record_author);
CREATE TABLE IF NOT EXISTS meters (
    intent BLOB NOT NULL, period INTEGER NOT NULL, what TEXT NOT NULL, amount INTEGER NOT NULL,
    PRIMARY KEY (intent, period, what)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""


def open_file(path: Path) -> apsw.Connection:
    """A connection to the log at this path, which is made if it is not there."""
    with named_failures(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made, or there already. One that is there is never opened beside SQLite: closing it would drop SQLite's locks.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE_MODE))
            sync_folder(path.parent)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(path.absolute().as_uri(), flags=flags)
        with OnError(lambda _: connection.close()):
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            _bring_up_to_date(connection, path)
    return connection


def _bring_up_to_date(connection: apsw.Connection, path: Path) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_BYTES}")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    # In this order: another process may be making them, both in one transaction.
    tables = connection.execute("SELECT count(*) FROM sqlite_master").get
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application != _APPLICATION_ID and (application or tables):
        raise BankForeign(f"{path} is a database of something else, not the log of a bus. Move it away.")
    if version > SCHEMA_VERSION:
        raise BankTooNew(f"{path} was written by a newer version of this program. Update this one.")
    if version == SCHEMA_VERSION:
        return
    connection.pragma("journal_mode", "wal")
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        connection.execute(_TABLES)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


@contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """Raise the failures of SQLite and of the system as the errors of this project."""
    try:
        yield
    except apsw.Error as error:
        raise _failure(path, error) from error
    except OSError as error:
        raise named_fault(error, str(path)) from error


def damage(path: Path) -> BankDamaged:
    return BankDamaged(
        f"{path} is damaged. Move it away: what it held comes again from the bank and the peers. Say again what is "
        "shared (`bus share`), where peers are (`bus peer`) and who else decides (`bus trust`)."
    )


def _failure(path: Path, error: apsw.Error) -> StoreError:
    match error:
        case apsw.FullError():
            return BankFull(f"The disk of {path} is full. Nothing was half-written: make room and try again.")
        case apsw.BusyError() | apsw.LockedError():
            return BankBusy(f"Another process kept {path} busy for too long. Try again.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return BankReadOnly(f"{path} cannot be written; check the permissions of the file and its folder.")
        case apsw.NotADBError():
            return BankForeign(f"{path} is no log of a bus. Move it away.")
        case apsw.CorruptError():
            return damage(path)
        case _:
            return BankUnavailable(f"{path} cannot be used: {error}.")
