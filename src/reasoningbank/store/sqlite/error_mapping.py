"""Translates errors of SQLite into the project's own.

Says what each APSW error means for a caller. A busy file is never called a damaged one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from reasoningbank.core.errors import (
    BankBusy,
    BankDamaged,
    BankForeign,
    BankFull,
    BankReadOnly,
    BankUnavailable,
    Conflict,
    InvalidInput,
    StoreError,
)
from reasoningbank.core.media import named_fault

NAMED = (apsw.Error, UnicodeError, OSError)
"""Errors that are translated. A flipped bit can leave text that is no UTF-8, and a caller can ask for text that
cannot be UTF-8; both show only on the way between Python and SQLite. What lies beside the file is reached without
SQLite.
"""


def translate(  # noqa: C901, PLR0911 - one case for each kind of fault
    error: Exception, location: str
) -> StoreError | Conflict | InvalidInput:
    match error:
        case OSError():
            return named_fault(error, location)
        case UnicodeEncodeError():
            return InvalidInput(f"Half a surrogate pair is no text: {error}.")
        case apsw.BusyError() | apsw.LockedError():
            return BankBusy(f"Another process kept {location} locked for too long. It is healthy: try again.")
        case apsw.FullError():
            return _full(location)
        case apsw.IOError() if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            # The file that processes share beside the log could not be given its 32 kB.
            return _full(location)
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return BankReadOnly(f"{location} cannot be written: check the permissions of the file and its folder.")
        case apsw.NotADBError():
            return BankForeign(not_a_bank(location))
        case apsw.CorruptError() | UnicodeDecodeError():
            return BankDamaged(
                f"{location} is damaged ({error}). {remedy(location)} 'reasoningbank verify' names the damaged rows "
                "of a file that still opens."
            )
        case apsw.CantOpenError():
            return BankUnavailable(
                f"{location} cannot be opened: check that it and its folder exist and are readable, and that this "
                "process may open more files (`ulimit -n`)."
            )
        case apsw.IOError():
            return BankUnavailable(
                f"The medium that holds {location} reported an error ({error}): check the disk and try again."
            )
        case apsw.ConstraintError():
            return Conflict("The record is there already, or its key is taken.")
        case _:
            return StoreError(f"{location}: {error}")


def remedy(location: str | Path) -> str:
    """The remedy where records are lost, as a sentence."""
    return f"Put a backup in its place: 'reasoningbank recover BACKUP --bank {location}'."


def not_a_bank(location: str | Path) -> str:
    return (
        f"{location} is not a bank (not even an SQLite file). Choose another path; where a bank has been, put a backup "
        f"in its place: 'reasoningbank recover BACKUP --bank {location}'."
    )


def _full(location: str) -> BankFull:
    return BankFull(
        f"The disk that holds {location} is full. Nothing was written: make room and try again. The folder "
        f"{Path(location).name}.index may go: the next search builds it anew."
    )


@contextmanager
def faults_named(location: str) -> Iterator[None]:
    try:
        yield
    except NAMED as error:
        raise translate(error, location) from error
