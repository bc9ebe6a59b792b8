"""The schema of a SQLite bank: the tables of an empty one, and the migrations from every version that was released.

A migration is a list of statements that run in one transaction together with the version number, so a kill between any
two of them leaves the bank as it was. Never edit a migration that has been released; add the next one.
"""

from __future__ import annotations

APPLICATION_ID = 0x52424E4B  # "RBNK", so that a foreign SQLite file is recognised before it is touched
OLDEST_VERSION = 18
"""The first version that was released."""
MIGRATIONS: tuple[tuple[str, ...], ...] = ()
"""Statements of each later version, in order."""
SCHEMA_VERSION = OLDEST_VERSION + len(MIGRATIONS)


def fresh_schema() -> list[str]:
    """Statements that make the tables of an empty bank: those of `store.tables`, and one row on a page of its own (see
    `store.sqlite.stamps`).
    """
    from reasoningbank.store.sqlite.ddl import create
    from reasoningbank.store.tables import TABLES

    stamp = "CREATE TABLE stamp (id INTEGER PRIMARY KEY, mark BLOB NOT NULL)"
    return [stamp, *(statement for table in TABLES for statement in create(table))]
