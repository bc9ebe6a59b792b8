"""The tables of a bank in PostgreSQL, and the migrations from every version of them that was released.

What `store.tables` has and a bank lacks (tables, columns, indexes) is added by itself; a migration says with statements
what cannot be told from that. All of it runs in one transaction under a lock, so several processes may open a bank at
once and a kill leaves it as it was. Never edit a migration that has been released; add the next one.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from reasoningbank.store.tables import TABLES
from reasoningbank_postgres.ddl import (
    BESIDE_THE_TABLES,
    EVERY_TENANT,
    column_definition,
    create_index,
    create_table,
)

if TYPE_CHECKING:
    from reasoningbank_postgres.connections import TimedConnection


OLDEST_VERSION = 2
"""The first version that was released."""
MIGRATIONS: tuple[tuple[str, ...], ...] = ()
"""Statements of each later version, in order; they run when everything new is there, and see every tenant's rows."""
SCHEMA_VERSION = OLDEST_VERSION + len(MIGRATIONS)
_BANK = """CREATE TABLE IF NOT EXISTS bank (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one), version integer NOT NULL)"""


def version_of(connection: TimedConnection) -> int:
    """Version of the tables; 0 if there is no bank in this schema."""
    there = connection.execute("SELECT to_regclass(quote_ident(current_schema()) || '.bank')").fetchone()
    if there is None or there[0] is None:
        return 0
    row = connection.execute("SELECT version FROM bank").fetchone()
    return 0 if row is None else int(row[0])


def migrate(connection: TimedConnection, version: int) -> None:
    """Bring tables from a version to this one, from nothing too, within a transaction that holds the lock."""
    connection.execute(_BANK)
    _add_missing(connection)
    missing = MIGRATIONS[version - OLDEST_VERSION :] if version else ()
    connection.execute(f"SELECT set_config('{EVERY_TENANT}', 'on', true)")
    for statement in chain(BESIDE_THE_TABLES, *missing):
        connection.execute(statement)
    connection.execute(
        "INSERT INTO bank (version) VALUES (%s::int) ON CONFLICT (only_one) DO UPDATE SET version = excluded.version",
        (SCHEMA_VERSION,),
    )


def missing_parts(connection: TimedConnection) -> list[str]:
    """Tables, columns and indexes that a bank of this version should have and has not."""
    columns, indexes = _present_parts(connection)
    missing = [f"table {table.name}" for table in TABLES if table.name not in columns]
    for table in TABLES:
        there = columns.get(table.name)
        if there is not None:
            missing += [f"column {table.name}.{column}" for column in table.columns if column not in there]
            missing += [f"index {index.name}" for index in table.indexes if index.name not in indexes]
    return missing


def _present_parts(connection: TimedConnection) -> tuple[dict[str, set[str]], set[str]]:
    columns: dict[str, set[str]] = {}
    for table, column in connection.execute(
        "SELECT relname::text, attname::text FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid "
        "WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind = 'r' AND attnum > 0 "
        "AND NOT attisdropped"
    ):
        columns.setdefault(table, set()).add(column)
    indexes = connection.execute("SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema()")
    return columns, {name for (name,) in indexes}


def _add_missing(connection: TimedConnection) -> None:
    columns, indexes = _present_parts(connection)
    for table in TABLES:
        there = columns.get(table.name)
        if there is None:
            for statement in create_table(table):
                connection.execute(statement)
            continue
        for column, kind in table.columns.items():
            if column not in there:
                connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {column_definition(column, kind)}")
        for index in table.indexes:
            if index.name not in indexes:
                connection.execute(create_index(table, index))
