"""Open a bank in PostgreSQL: check server, role and schema, and make its tables or bring them up to date.

Whatever is wrong is refused here, with a sentence that says what helps.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

import psycopg

from reasoningbank.core.errors import BankForeign, BankReadOnly, BankTooNew, BankTooOld, BankUnavailable
from reasoningbank.store.tables import TABLES
from reasoningbank_postgres.address import PostgresAddress
from reasoningbank_postgres.connections import TimedConnection, roll_back
from reasoningbank_postgres.error_mapping import translate
from reasoningbank_postgres.migrations import OLDEST_VERSION, SCHEMA_VERSION, migrate, version_of

OLDEST_SERVER = 15
WRITING, LOGGING, MIGRATING, TURNS = 0x52424E4B, 0x52424E4C, 0x52424E4D, 0x52424E4E
"""Kinds of advisory locks; the second number of each says which bank."""

LOCK = "SELECT pg_advisory_xact_lock(%s::int, %s::int)"
"""Takes a lock until the transaction is over."""


def lock_number(schema: str) -> int:
    """Number of the lock of a bank in a database, or of a part of it. Two that share one wait for each other."""
    return zlib.crc32(schema.encode()) - 2**31


NEWER = "has tables of a newer version than this program knows. Upgrade reasoningbank here."


class ServerFacts(NamedTuple):
    version: str
    is_replica: bool
    sees_everything: bool
    """True if the role is past row-level security, as a superuser is."""
    bank: str
    """Identity of the bank, of server, database and schema; replicas have the same. "" while there is no schema."""


def check_server(connection: TimedConnection, address: PostgresAddress) -> ServerFacts:
    number = connection.info.server_version
    if number // 10_000 < OLDEST_SERVER:
        raise BankUnavailable(
            f"{address.shown} is PostgreSQL {number // 10_000}; a bank needs {OLDEST_SERVER} or newer: upgrade the "
            "server."
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise BankUnavailable(
            f"The database of {address.shown} keeps its text as {encoding}, where not every text fits. Make one with "
            "UTF-8: createdb --encoding=UTF8 --template=template0 NAME."
        )
    row = connection.execute(
        "SELECT current_setting('server_version'), pg_is_in_recovery(), "
        "(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user), "
        "concat_ws('-', (SELECT system_identifier FROM pg_control_system()), "
        "(SELECT oid FROM pg_database WHERE datname = current_database()), current_schema()::regnamespace::oid), "
        "current_schema()"
    ).fetchone()
    assert row is not None
    return ServerFacts(str(row[0]).partition(" ")[0], bool(row[1]), bool(row[2]), str(row[3]) if row[4] else "")


def open_tables(connection: TimedConnection, address: PostgresAddress, *, create: bool, read_only: bool) -> ServerFacts:
    """Make the tables, or bring them up to this version; several processes may do this at once."""
    facts = check_server(connection, address)
    if facts.is_replica and not read_only:
        raise BankReadOnly(
            f"{address.shown} is a read replica. Name the primary, or open it for reading only; with several hosts in "
            "the URL, add ?target_session_attrs=read-write."
        )
    version = check_version(connection, address)
    if version == SCHEMA_VERSION:
        return facts
    if version == 0 and (read_only or not create):
        raise BankUnavailable(f"There is no bank at {address.shown} (schema {address.schema}).")
    if read_only:
        raise BankReadOnly(
            f"{address.shown} was made by an older version. Open it once for writing, which brings it up to date."
        )
    try:
        connection.execute("BEGIN")
        # Nobody writes meanwhile: what an older server writes comes before, or is refused.
        for kind in (MIGRATING, WRITING):
            connection.execute(LOCK, (kind, lock_number(address.schema)))
        there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (address.schema,)).fetchone()
        if there is None:
            connection.execute(f'CREATE SCHEMA "{address.schema}"')
        version = check_version(connection, address)
        if version < SCHEMA_VERSION:
            if version == 0:
                _check_free(connection, address)
            migrate(connection, version)
        connection.execute("COMMIT")
    except psycopg.errors.InsufficientPrivilege as error:
        raise BankReadOnly(_no_rights(connection, address)) from error
    finally:
        roll_back(connection)
    return check_server(connection, address)


def _no_rights(connection: TimedConnection, address: PostgresAddress) -> str:
    role, database = connection.info.user, connection.info.dbname
    return (
        f"The role {role} may not make the tables of a bank at {address.shown}. Let an administrator say: "
        f'CREATE SCHEMA "{address.schema}" AUTHORIZATION "{role}"; or: GRANT CREATE ON DATABASE "{database}" TO '
        f'"{role}";'
    )


def check_version(connection: TimedConnection, address: PostgresAddress) -> int:
    """Version of the tables, 0 if there are none; one that this program does not know is refused."""
    try:
        version = version_of(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        raise translate(error, address) from error
    except psycopg.errors.UndefinedColumn as error:
        raise BankForeign(_foreign_tables(address)) from error
    if 0 < version < OLDEST_VERSION:
        raise BankTooOld(address.shown, version)
    if version > SCHEMA_VERSION:
        raise BankTooNew(
            f"{address.shown} has version {version} of the tables, and this program knows {SCHEMA_VERSION}. Upgrade "
            "reasoningbank here."
        )
    return version


def _check_free(connection: TimedConnection, address: PostgresAddress) -> None:
    names = [table.name for table in TABLES]
    row = connection.execute(
        "SELECT 1 FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname = ANY(%s::text[])",
        (names,),
    ).fetchone()
    if row is not None:
        raise BankForeign(_foreign_tables(address))


def _foreign_tables(address: PostgresAddress) -> str:
    return (
        f"The schema {address.schema} of {address.shown} holds tables of something else. Name another one: "
        "?schema=NAME."
    )
