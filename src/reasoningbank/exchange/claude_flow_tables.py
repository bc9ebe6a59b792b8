"""A claude-flow SQLite file, opened so that nothing is written to it or beside it, and its rows as mappings.

Independent of what the rows mean. The file is untrusted: views and virtual tables are left alone, and text that is not
valid in the file's encoding costs one row, not the import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from reasoningbank.core.errors import ImportRejected
from reasoningbank.exchange.items import SkippedItem
from reasoningbank.files import open_plain

BUSY_TIMEOUT_MS = 5_000
VECTOR_COLUMNS = frozenset({"embedding", "vector"})
_MAGIC = b"SQLite format 3\x00"
_FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_CODECS = {"UTF-8": "utf-8", "UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    connection: apsw.Connection
    codec: str
    tables: Mapping[str, tuple[str, ...]]
    """Table name → its columns, all in lower case as SQLite compares them."""
    missed: SkippedItem | None = None

    def columns(self, table: str) -> frozenset[str]:
        return frozenset(self.tables.get(table, ()))

    def rows(self, table: str, order: Sequence[str] = ()) -> Iterator[Row | SkippedItem]:
        """Every row without its vectors, numbered from 1 under the name ""; a damaged page ends the table."""
        columns = [name for name in self.tables[table] if name not in VECTOR_COLUMNS]
        # Text as bytes: APSW raises in the middle of the walk for text that is not valid UTF-8.
        expressions = ", ".join(
            f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in map(_quote, columns)
        )
        sorting = f" ORDER BY {', '.join(map(_quote, order))}" if order else ""
        try:
            cursor = self.connection.execute(f"SELECT {expressions or 'NULL'} FROM {_quote(table)}{sorting}")
            for number, values in enumerate(cursor, 1):
                try:
                    row = {name: _text(value, self.codec) for name, value in zip(columns, values, strict=False)}
                except UnicodeDecodeError:
                    yield SkippedItem(what=f"{table} row {number}", why="its text is not valid in the file's encoding")
                    continue
                yield {"": number, **row}
        except apsw.Error as error:
            yield SkippedItem(what=f"the rest of {table}", why=f"the file is damaged there ({error})")

    def count(self, table: str, column: str | None = None) -> int:
        expression = "*" if column is None else _quote(column)
        try:
            ((number,),) = self.connection.execute(f"SELECT count({expression}) FROM {_quote(table)}").fetchall()
        except apsw.Error:
            return 0  # the walk over the rows has already said that this table is damaged
        return number if isinstance(number, int) else 0


@contextmanager
def open_database(path: Path) -> Iterator[Database]:
    _check(path)
    connection, immutable = _connect(path)
    try:
        yield _describe(connection, path, immutable)
    finally:
        connection.close()


def is_sqlite(path: Path) -> bool:
    try:
        with open_plain(path) as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _check(path: Path) -> None:
    if path.is_dir():
        raise ImportRejected(f"{path} is a folder. Name the file in it, for example {path / '.swarm' / 'memory.db'}.")
    if not path.exists():
        raise ImportRejected(f"{path} does not exist. claude-flow keeps its memories in .swarm/memory.db.")
    if not is_sqlite(path):
        raise ImportRejected(f"{path} is not an SQLite file. Name claude-flow's memory.db, or another file to import.")


def _connect(path: Path) -> tuple[apsw.Connection, bool]:
    # At rest, a WAL file has no -wal beside it. Opening it plainly would then leave a -wal and a -shm behind.
    with open_plain(path) as file:
        header = file.read(20)
    is_at_rest = header[18:20] == b"\x02\x02" and not Path(f"{path}-wal").exists()
    attempts = ("mode=ro&immutable=1",) if is_at_rest else ("mode=ro", "mode=ro&immutable=1")
    fault: apsw.Error | None = None
    for query in attempts:
        connection: apsw.Connection | None = None
        try:
            connection = apsw.Connection(f"{path.absolute().as_uri()}?{query}", flags=_FLAGS)
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.execute(
                "PRAGMA query_only = 1; PRAGMA trusted_schema = 0; PRAGMA temp_store = MEMORY"
            ).fetchall()
            connection.execute("BEGIN; SELECT count(*) FROM sqlite_schema").fetchall()
        except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
            # The folder is read-only and the -shm file that a WAL reader needs is missing.
            fault = error
            if connection is not None:
                connection.close()
        except apsw.Error as error:
            if connection is not None:
                connection.close()
            raise _rejection(path, error) from error
        else:
            return connection, "immutable" in query
    raise ImportRejected(f"{path} cannot be opened ({fault}). Copy it to a folder of your own and import the copy.")


def _rejection(path: Path, error: apsw.Error) -> ImportRejected:
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return ImportRejected(f"Another program keeps {path} locked. Stop claude-flow, or try again in a moment.")
    return ImportRejected(
        f"{path} is damaged ({error}). Save what is left with: sqlite3 {path.name} .recover | sqlite3 recovered.db"
    )


def _describe(connection: apsw.Connection, path: Path, immutable: bool) -> Database:
    try:
        ((encoding,),) = connection.execute("PRAGMA encoding").fetchall()
        names = connection.execute(
            "SELECT CAST(name AS BLOB) FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
        codec = _CODECS.get(str(encoding), "utf-8")
        tables = {}
        for (raw,) in names:
            name = _name(raw, codec)
            cursor = connection.execute("SELECT CAST(name AS BLOB) FROM pragma_table_xinfo(?)", (name,))
            tables[name.lower()] = tuple(_name(column, codec).lower() for (column,) in cursor.fetchall())
    except apsw.Error as error:
        raise _rejection(path, error) from error
    wal = Path(f"{path}-wal")
    omission = None
    if immutable and wal.exists() and wal.stat().st_size:
        omission = SkippedItem(
            what=wal.name,
            why="the folder is read-only, so the latest changes are missing; copy the folder to read them",
        )
    return Database(connection=connection, codec=codec, tables=tables, missed=omission)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _name(value: object, codec: str) -> str:
    return value.decode(codec, "replace") if isinstance(value, bytes) else str(value)


def _text(value: object, codec: str) -> object:
    return value.decode(codec) if isinstance(value, bytes) else value
