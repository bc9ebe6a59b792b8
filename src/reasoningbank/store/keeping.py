"""Check a bank from end to end, and copy one while others write to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from reasoningbank.core.errors import InvalidInput
from reasoningbank.ports import Damage
from reasoningbank.store.faults import NAMED
from reasoningbank.store.tables import Table, tables

PAGES_PER_STEP = 256


def damage_in(connection: apsw.Connection) -> Iterator[Damage]:
    """Pages by SQLite's own check, rows by their content hashes."""
    try:
        for (line,) in connection.execute("PRAGMA integrity_check"):
            if line != "ok":
                yield Damage(kind="file", id="", problem=str(line))
    except NAMED as error:
        yield Damage(kind="file", id="", problem=str(error))
    for table in tables().values():
        for name in (table.name, "revisions") if table.noun == "memory" else (table.name,):
            yield from _damaged_rows(connection, table, name)


def _damaged_rows(connection: apsw.Connection, table: Table[Any], name: str) -> Iterator[Damage]:
    last = -1
    while True:
        try:
            for number, *row in connection.execute(
                f"SELECT num, {table.listed} FROM {name} WHERE num > ? ORDER BY num", (last,)
            ):
                last = number
                if not table.intact(row):
                    problem = f"a row of {name} does not match its checksum"
                    yield Damage(kind=table.noun, id=str(row[0]), problem=problem)
        except UnicodeDecodeError as error:
            # Only this row is unreadable: name it and go on behind it.
            unreadable: Any = connection.execute(
                f"SELECT num, CAST(id AS BLOB) FROM {name} WHERE num > ? ORDER BY num LIMIT 1", (last,)
            ).fetchone()
            last, named = unreadable[0], bytes(unreadable[1]).decode("utf-8", "replace")
            yield Damage(kind=table.noun, id=named, problem=f"unreadable row in {name}: {error}")
        except apsw.Error as error:
            # A page is damaged; the file check above has named it.
            yield Damage(kind=table.noun, id="", problem=f"unreadable row in {name}: {error}")
            return
        else:
            return


def copy_to(source: apsw.Connection, target: Path, progress: Callable[[int, int], None] | None) -> None:
    """The copy appears under its name only when it is whole."""
    if target.exists():
        raise InvalidInput(f"{target} exists already. Name a new file, so that no backup is overwritten.")
    partial = target.with_name(f"{target.name}.partial-{os.getpid()}")
    copy = apsw.Connection(str(partial))
    try:
        # Inside a read transaction the source stands still, so that busy writers cannot make the copy start over.
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM settings").fetchall()
        with copy.backup("main", source, "main") as work:
            while not work.done:
                work.step(PAGES_PER_STEP)
                if progress is not None:
                    progress(work.page_count - work.remaining, work.page_count)
        copy.execute("PRAGMA journal_mode = DELETE")
        copy.close()
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        if source.in_transaction:
            source.execute("ROLLBACK")
        copy.close()
        partial.unlink(missing_ok=True)
