"""Translates errors of PostgreSQL and psycopg into the project's own.

Says which of them mean that the server or the way to it failed and the same may work in a moment, and what helps with
the others. What a library said is told without any password that it may have repeated.
"""

from __future__ import annotations

import psycopg
from psycopg import errors

from reasoningbank.core.errors import (
    BankBusy,
    BankDamaged,
    BankFull,
    BankReadOnly,
    BankUnavailable,
    Conflict,
    InvalidInput,
    StoreError,
)
from reasoningbank_postgres.address import PostgresAddress

NAMED = (psycopg.Error, UnicodeError)
_OF_A_UNIT = (psycopg.IntegrityError, psycopg.DataError, UnicodeError)
TRANSIENT = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)
"""The transaction is rolled back, and the same may work in a moment."""


def is_lost(error: BaseException | None) -> bool:
    """True if the connection is gone, so that nobody told what became of the last statement."""
    if isinstance(error, (errors.AdminShutdown, errors.CrashShutdown, errors.IdleInTransactionSessionTimeout)):
        return True
    return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)) and error.sqlstate is None


def is_of_a_unit(error: BaseException | None) -> bool:
    """True if the error belongs to one unit of a group commit and the others can be retried."""
    return isinstance(error, _OF_A_UNIT) or _is_foreign_row(error)


def _is_foreign_row(error: BaseException | None) -> bool:
    return isinstance(error, errors.InsufficientPrivilege) and "row-level security" in str(error)


def translate(  # noqa: C901, PLR0911, PLR0912 - one case for each kind of fault
    error: Exception, address: PostgresAddress
) -> StoreError | Conflict | InvalidInput:
    place = address.shown
    match error:
        case UnicodeEncodeError():
            return InvalidInput(f"Half a surrogate pair is no text: {error}.")
        case errors.UniqueViolation():
            return Conflict("The record is there already, or its key is taken.")
        case errors.InsufficientPrivilege() if _is_foreign_row(error):
            return Conflict("The record is there already, and belongs to somebody else.")
        case errors.InsufficientPrivilege():
            return BankReadOnly(
                f"{place}: {_words(error, address)}. Let its owner grant what is missing (GRANT … ON SCHEMA "
                f"{address.schema}), or connect as the role that made the bank."
            )
        case errors.ReadOnlySqlTransaction():
            return BankReadOnly(
                f"{place} takes no writes now: it is a read replica, or was made one. Name the primary; with several "
                "hosts in the URL, add ?target_session_attrs=read-write."
            )
        case errors.LockNotAvailable():
            return BankBusy(f"Another process kept {place} locked for too long. It is healthy: try again.")
        case errors.QueryCanceled():
            return BankBusy(f"{place} did not answer within the time of one statement. Nothing was written: try again.")
        case errors.TooManyConnections() | errors.ConfigurationLimitExceeded():
            return BankBusy(f"{place} has no connection left: close some, or raise max_connections there.")
        case errors.DiskFull() | errors.OutOfMemory():
            return BankFull(
                f"The server of {place} has no room ({_words(error, address)}). Nothing was written: make room there "
                "and try again."
            )
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return BankDamaged(
                f"{place} is damaged ({_words(error, address)}). Restore the database, or put a backup in its place: "
                f"'reasoningbank recover BACKUP --bank {place}'."
            )
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.InvalidSchemaName():
            return BankUnavailable(
                f"The tables of {place} are not there any more, or others took their place ({_words(error, address)}). "
                "Open it again; if that fails, recover a backup."
            )
        case psycopg.DataError() if "NUL" in str(error):
            return InvalidInput("PostgreSQL keeps no text with a NUL character in it: take it out.")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return _unreachable(error, address)
        case _:
            return StoreError(f"{place}: {_words(error, address)}")


def _unreachable(error: Exception, address: PostgresAddress) -> StoreError:
    message, place = _words(error, address), address.shown
    remedies = {
        "password": "Check the password: in the URL (with % for odd characters), in PGPASSWORD or in ~/.pgpass.",
        "does not exist": "Create it (createuser, createdb), or name another in the URL.",
        "too many clients": "Close some connections, or raise max_connections there.",
        "pg_hba.conf": "Let pg_hba.conf of the server admit this host and role.",
        "timeout": "Check the host, the port and the network.",
    }
    remedy = next(
        (help_ for word, help_ in remedies.items() if word in message), "Check that the server runs and answers."
    )
    return BankUnavailable(f"{place} cannot be reached ({message}). {remedy}")


def _words(error: Exception, address: PostgresAddress) -> str:
    """The first line, without any key or text of a record."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    headline = next((line for line in lines if "FATAL" in line), lines[0] if lines else type(error).__name__)
    return address.without_secrets(headline.strip().rstrip("."))
