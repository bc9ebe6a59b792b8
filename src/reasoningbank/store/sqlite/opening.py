"""Opens a SQLite file as a bank of the right schema, or says why not.

Tells a bank from a foreign, a newer or a cut file without touching it, and brings one up to date.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import apsw

from reasoningbank.core.errors import (
    BankDamaged,
    BankForeign,
    BankReadOnly,
    BankTooNew,
    BankTooOld,
    BankUnavailable,
    InvalidInput,
)
from reasoningbank.core.frozen import dataclass
from reasoningbank.location import Location
from reasoningbank.store.sqlite.acknowledged import WATCHABLE, open_notes, write_note
from reasoningbank.store.sqlite.durable import make_folder
from reasoningbank.store.sqlite.error_mapping import not_a_bank, remedy
from reasoningbank.store.sqlite.pairing import read_file
from reasoningbank.store.sqlite.schema import APPLICATION_ID, MIGRATIONS, OLDEST_VERSION, SCHEMA_VERSION, fresh_schema
from reasoningbank.store.sqlite.stamps import renew_stamp

_MAGIC = b"SQLite format 3\0"
_SMALLEST_PAGE_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    read_only: bool
    immutable: bool = False
    """True if nobody can write here, not even the shared-memory file that a WAL needs."""


def access_to(path: Path, *, create: bool, read_only: bool) -> Access:
    """Possible access to a file. This process may have it open already, so it is looked into by SQLite's own means:
    closing a descriptor of one's own would drop the locks by which other processes know that it is in use.
    """
    if "\0" in str(path):
        raise InvalidInput(f"{str(path)!r} is no path: it has a NUL character in it.")
    try:
        return _access_to(path, create=create and not read_only, read_only=read_only)
    except OSError as error:
        raise BankUnavailable(f"{path} cannot be opened: {error.strerror}.") from error


def _access_to(path: Path, *, create: bool, read_only: bool) -> Access:
    if path.is_dir():
        raise BankForeign(f"{path} is a folder. Name a file in it, such as {path / 'bank.db'}.")
    if not path.exists():
        if not create:
            raise BankUnavailable(f"There is no bank at {path}. Storing something creates it.")
        # A folder of one's own is nobody else's to read; one that is there keeps the rights it has.
        make_folder(path.parent)
        return Access(read_only=False)
    if not os.access(path, os.R_OK):
        raise BankUnavailable(f"{path} cannot be read: check its permissions.")
    _check_beginning(path)
    folder_is_writable = os.access(path.parent, os.W_OK)
    return Access(
        read_only=read_only or not folder_is_writable or not os.access(path, os.W_OK),
        immutable=not folder_is_writable and not Path(f"{path}-shm").exists(),
    )


def _check_beginning(path: Path) -> None:
    # SQLite takes a file shorter than its smallest page for an empty one and would write over it.
    beginning = read_file(path, _SMALLEST_PAGE_BYTES, 0)
    if not beginning.strip(b"\0") and _has_journal(path):
        # The power failed while the bank was being made: room was taken for a page that never came. SQLite knows what
        # to do with that.
        return
    if beginning and not beginning.startswith(_MAGIC):
        raise BankForeign(not_a_bank(path))
    if beginning and len(beginning) < _SMALLEST_PAGE_BYTES:
        raise BankDamaged(f"{path} is cut short after {len(beginning)} bytes. {remedy(path)}")


def _has_journal(path: Path) -> bool:
    try:
        return Path(f"{path}-journal").stat().st_size > 0
    except FileNotFoundError:
        return False


def known_version(connection: apsw.Connection, location: str) -> int:
    """The schema version of the file, 0 for an empty one."""
    application = number_from(connection, "PRAGMA application_id")
    version = number_from(connection, "PRAGMA user_version")
    if application == APPLICATION_ID:
        if OLDEST_VERSION <= version <= SCHEMA_VERSION:
            return version
        if version < OLDEST_VERSION:
            raise BankTooOld(location, version)
        raise BankTooNew(
            f"{location} was written by a newer ReasoningBank (schema {version}, this one knows "
            f"{SCHEMA_VERSION}). Upgrade this program; the file was not touched."
        )
    if application == version == number_from(connection, "SELECT count(*) FROM sqlite_schema") == 0:
        return 0
    raise BankForeign(
        f"{location} is an SQLite file of some other program. To take its memories over, use "
        "'reasoningbank import'; to start a bank, choose another path."
    )


def bring_up_to_date(connection: apsw.Connection, location: str, *, read_only: bool) -> None:
    # In one transaction: another process may be writing the first schema between two looks.
    with connection:
        version = known_version(connection, location)
    if read_only:
        if version != SCHEMA_VERSION:
            raise BankReadOnly(f"{location} has an older schema and cannot be written to bring it up to date.")
        return
    # A backup comes without a log; where it is written to, it gets one.
    if location != ":memory:" and connection.pragma("journal_mode") != "wal":
        _enter_wal(connection)
    if version != SCHEMA_VERSION:
        _migrate(connection, location)


def _migrate(connection: apsw.Connection, location: str) -> None:
    """Make the tables, or apply every missing migration, and the version number in one transaction: a kill leaves the
    bank as it was.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again under the lock: another process may have been first.
        version = known_version(connection, location)
        if version == SCHEMA_VERSION:
            return
        missing = MIGRATIONS[version - OLDEST_VERSION :] if version else (fresh_schema(),)
        for statement in chain.from_iterable(missing):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        stamp = renew_stamp(connection)
        if location != ":memory:" and WATCHABLE:
            with open_notes(Path(location)) as notes:
                write_note(notes, stamp)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    # So that the file carries its stamp from the first change on; whoever reads meanwhile only delays it.
    with suppress(apsw.BusyError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)


def _enter_wal(connection: apsw.Connection) -> None:
    # Changing the journal mode does not wait for the busy timeout, so two first openers must take turns here.
    deadline = time.monotonic() + 30.0
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return


def number_from(connection: apsw.Connection, sql: str) -> int:
    row: Any = connection.execute(sql).fetchone()
    return int(row[0])


def files_of(location: Location) -> tuple[Path, ...]:
    """The files of a bank, whether they are there or not."""
    if location.state is None:
        return ()
    return tuple(Path(f"{location.absolute_url}{ending}") for ending in ("", "-wal", "-shm"))
