"""Tables as data: a fresh bank is made from them, and has to be the one that a released bank becomes when it is opened."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import apsw
import pytest

from reasoningbank.core.frozen import fields
from reasoningbank.core.record_kinds import KINDS, OTHER_TABLES
from reasoningbank.store.coding import record_tables
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.store.tables import TABLES, table_named
from tests.store.test_fixture_bank import FIXTURES


def shape_of(connection: apsw.Connection) -> dict[str, Any]:
    """Columns, keys and indexes of every table, however their statements were spelt."""
    found: dict[str, Any] = {}
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for name in names:
        flags = next(connection.execute("SELECT wr, strict FROM pragma_table_list WHERE name = ?", (name,)))
        indexes = {}
        for _, index, unique, origin, partial in connection.execute(f"PRAGMA index_list({name})").fetchall():
            sql = next(connection.execute("SELECT max(sql) FROM sqlite_schema WHERE name = ?", (index,)))[0]
            columns = tuple(row[2] for row in connection.execute(f"PRAGMA index_info({index})"))
            called = index if origin == "c" else columns
            indexes[called] = (unique, origin, partial, columns, re.sub(r"\s+", " ", sql or ""))
        found[name] = (flags, connection.execute(f"PRAGMA table_xinfo({name})").fetchall(), indexes)
    return found


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_a_fresh_bank_has_the_tables_of_one_that_was_brought_up_to_date(tmp_path: Path, fixture: Path) -> None:
    paths = tmp_path / "fresh.db", tmp_path / "older.db"
    paths[1].write_bytes(gzip.decompress(fixture.read_bytes()))
    for path in paths:
        SqliteStore(path).close()
    fresh, older = (shape_of(apsw.Connection(str(path))) for path in paths)
    for name, shape in older.items():
        assert fresh[name] == shape, name
    assert fresh.keys() == older.keys()


def test_every_table_of_the_registry_is_data_and_nothing_else_is() -> None:
    named = {kind.table for kind in KINDS} | OTHER_TABLES.keys()
    # The stamp is SQLite's own affair.
    assert {table.name for table in TABLES} == named - {"stamp"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
def test_the_columns_of_a_kind_are_its_fields(kind: Any) -> None:
    table, names = table_named(kind.table), tuple(f.name for f in fields(kind.record_type))
    assert set(table.written) - {"hash"} == set(names)
    if kind.prefix:
        assert record_tables()[kind.record_type].row == table.written
    assert {column for column in names if table.columns[column].endswith("?")} == set(kind.optional)
