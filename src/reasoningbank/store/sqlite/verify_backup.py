"""Check a bank from end to end: its pages, its rows, its feed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import apsw

from reasoningbank.ports import Damage
from reasoningbank.store.coding import RecordTable, record_tables
from reasoningbank.store.records.checks import find_inconsistencies
from reasoningbank.store.selection import Selection
from reasoningbank.store.sqlite import statements
from reasoningbank.store.sqlite.error_mapping import NAMED, faults_named


def damage_in(connection: apsw.Connection, location: str) -> Iterator[Damage]:
    """Pages by SQLite's own check, rows by their content hashes, the feed by the records that it names, what says how
    far memories are believed by itself, tokens by their hashes.
    """
    try:
        for (line,) in connection.execute("PRAGMA integrity_check"):
            if line != "ok":
                yield Damage(kind="file", id="", problem=str(line))
    except NAMED as error:
        yield Damage(kind="file", id="", problem=str(error))
    for coding in record_tables().values():
        for table in filter(None, (coding.table, coding.earlier)):
            yield from _damaged_rows(connection, coding, table.name)
    yield from _missing_changes(connection)
    yield from find_inconsistencies(partial(_scan, connection, location))


def _scan(connection: apsw.Connection, location: str, selection: Selection) -> Any:
    sql, values = statements.select(selection, None)
    with faults_named(location):
        try:
            return connection.execute(sql, values).fetchall()
        except UnicodeDecodeError:
            return _scan_as_bytes(connection, selection, sql, values)


def _scan_as_bytes(connection: apsw.Connection, selection: Selection, sql: str, values: Any) -> list[list[Any]]:
    """Scan the same rows where a text of one is none any more, so that the row itself can be named."""
    names = [f"c{number}" for number in range(len(selection.columns))]
    is_text = [selection.table.columns.get(column, "").startswith("TEXT") for column in selection.columns]
    read = [f"CAST({name} AS BLOB)" if text else name for name, text in zip(names, is_text, strict=True)]
    rows = connection.execute(f"WITH found ({', '.join(names)}) AS ({sql}) SELECT {', '.join(read)} FROM found", values)
    return [
        [
            value.decode("utf-8", "replace") if isinstance(value, bytes) and text else value
            for value, text in zip(row, is_text, strict=True)
        ]
        for row in rows
    ]


def _missing_changes(connection: apsw.Connection) -> Iterator[Damage]:
    """Damage for each number that lacks in the feed: they are dense, as the writing transaction gives them."""
    sql = "SELECT seq FROM feed f WHERE seq > 1 AND NOT EXISTS (SELECT 1 FROM feed WHERE seq = f.seq - 1)"
    try:
        for (number,) in connection.execute(sql):
            yield Damage(kind="feed", id=str(number), problem="a change is missing before this one")
    except apsw.Error as error:
        yield Damage(kind="feed", id="", problem=f"unreadable: {error}")


def _damaged_rows(connection: apsw.Connection, coding: RecordTable[Any], name: str) -> Iterator[Damage]:
    last = -1
    while True:
        try:
            for number, *row in connection.execute(
                f"SELECT num, {', '.join(coding.row)} FROM {name} WHERE num > ? ORDER BY num", (last,)
            ):
                last = number
                if not coding.intact(row):
                    problem = f"a row of {name} does not match its checksum"
                    yield Damage(kind=coding.noun, id=str(row[0]), problem=problem)
        except UnicodeDecodeError as error:
            # Only this row is unreadable: name it and go on behind it.
            unreadable: Any = connection.execute(
                f"SELECT num, CAST(id AS BLOB) FROM {name} WHERE num > ? ORDER BY num LIMIT 1", (last,)
            ).fetchone()
            last, record_id = unreadable[0], bytes(unreadable[1]).decode("utf-8", "replace")
            yield Damage(kind=coding.noun, id=record_id, problem=f"unreadable row in {name}: {error}")
        except apsw.Error as error:
            # A page is damaged; the file check above has named it.
            yield Damage(kind=coding.noun, id="", problem=f"unreadable row in {name}: {error}")
            return
        else:
            return
