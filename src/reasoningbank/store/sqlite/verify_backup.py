"""Check a bank from end to end: its pages, its rows, its feed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from reasoningbank.core.origins import Trust
from reasoningbank.core.types import Op
from reasoningbank.ports import Damage
from reasoningbank.store.coding import RecordTable, record_tables
from reasoningbank.store.records.tokens import ALTERED, token_from
from reasoningbank.store.sqlite.error_mapping import NAMED
from reasoningbank.store.tables import TOKENS


def damage_in(connection: apsw.Connection) -> Iterator[Damage]:
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
        for name in (coding.table.name, "revisions") if coding.noun == "memory" else (coding.table.name,):
            yield from _damaged_rows(connection, coding, name)
    yield from _damage_in_feed(connection)
    yield from _damage_of_side_records(connection)
    yield from _altered_tokens(connection)


def _altered_tokens(connection: apsw.Connection) -> Iterator[Damage]:
    try:
        for row in connection.execute(f"SELECT {', '.join(TOKENS.written)} FROM tokens ORDER BY created_at, id"):
            if not (token := token_from(row)).intact:
                yield Damage(kind="token", id=token.id, problem=ALTERED)
    except (apsw.Error, UnicodeDecodeError) as error:
        yield Damage(kind="token", id="", problem=f"unreadable: {error}")


def _damage_in_feed(connection: apsw.Connection) -> Iterator[Damage]:
    """Its rows carry no checksum. A view that follows it would stop at one of these, or miss a memory."""
    words = ", ".join(f"'{op}'" for op in Op)
    nouns = ", ".join(f"'{table.noun}'" for table in record_tables().values())
    checks = (
        ("a change of no known kind", f"SELECT seq FROM feed WHERE op NOT IN ({words}) OR kind NOT IN ({nouns})"),
        (
            "a change is missing before this one",
            "SELECT seq FROM feed f WHERE seq > 1 AND NOT EXISTS (SELECT 1 FROM feed WHERE seq = f.seq - 1)",
        ),
        (
            "a change of a memory that never was",
            (
                "SELECT min(seq) FROM feed f WHERE kind = 'memory' GROUP BY id HAVING max(op = 'remove') = 0 "
                "AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = f.id AND m.tenant = f.tenant)"
            ),
        ),
    )
    for problem, sql in checks:
        try:
            rows: list[Any] = connection.execute(sql).fetchall()
        except apsw.Error as error:
            yield Damage(kind="feed", id="", problem=f"unreadable: {error}")
            continue
        for (number,) in rows:
            yield Damage(kind="feed", id=str(number), problem=problem)


_BESIDE: tuple[tuple[str, str], ...] = (
    (
        "a kept trust that is none",
        (
            f"SELECT memory_id FROM trust WHERE typeof(level) != 'integer' OR level NOT BETWEEN {int(min(Trust))} "
            f"AND {int(max(Trust))}"
        ),
    ),
    (
        "a kept trust without its memory",
        (
            "SELECT memory_id FROM trust WHERE NOT EXISTS "
            "(SELECT 1 FROM memories m WHERE m.id = memory_id AND m.tenant = trust.tenant)"
        ),
    ),
    (
        "no kept trust, though it was made from others",
        (
            "SELECT id FROM memories m WHERE m.parents != '[]' AND NOT EXISTS "
            "(SELECT 1 FROM trust t WHERE t.tenant = m.tenant AND t.memory_id = m.id)"
        ),
    ),
    (
        "not found under one of its parents",
        (
            "SELECT DISTINCT m.id FROM memories m, json_each(m.parents) p WHERE m.parents != '[]' AND NOT EXISTS "
            "(SELECT 1 FROM kin k WHERE k.tenant = m.tenant AND k.parent_id = p.value AND k.memory_id = m.id)"
        ),
    ),
    (
        "found under a parent that it does not have",
        (
            "SELECT DISTINCT k.memory_id FROM kin k JOIN memories m ON m.id = k.memory_id AND m.tenant = k.tenant "
            "WHERE NOT EXISTS (SELECT 1 FROM json_each(m.parents) p WHERE p.value = k.parent_id)"
        ),
    ),
    (
        "a mark without its memory",
        "SELECT DISTINCT memory FROM marks WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.num = memory)",
    ),
)
"""What is kept beside the memories to know how far each is believed: what may not be, and how it is found."""


def _damage_of_side_records(connection: apsw.Connection) -> Iterator[Damage]:
    for problem, sql in _BESIDE:
        try:
            rows: list[Any] = connection.execute(sql).fetchall()
        except (apsw.Error, UnicodeDecodeError) as error:
            yield Damage(kind="trust", id="", problem=f"unreadable: {error}")
            continue
        for (memory_id,) in rows:
            yield Damage(kind="trust", id=str(memory_id), problem=problem)


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
            last, named = unreadable[0], bytes(unreadable[1]).decode("utf-8", "replace")
            yield Damage(kind=coding.noun, id=named, problem=f"unreadable row in {name}: {error}")
        except apsw.Error as error:
            # A page is damaged; the file check above has named it.
            yield Damage(kind=coding.noun, id="", problem=f"unreadable row in {name}: {error}")
            return
        else:
            return
