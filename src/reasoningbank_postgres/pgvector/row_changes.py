"""Change the rows of an index in PostgreSQL: rows, tags, counts and postings together, in the caller's transaction.

A row keeps its number for good, so that what is said of it elsewhere stays true. What is given again as it was changes
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from reasoningbank.core.turns import conversation_of
from reasoningbank.core.types import Memory
from reasoningbank.lexical.forms import pack
from reasoningbank.lexical.hashing import ABSENT, name_key
from reasoningbank.ports import WordRow
from reasoningbank_postgres.connections import TimedConnection
from reasoningbank_postgres.pgvector.packing import LONGEST, PIECE_ROWS, pack_terms, unpack_terms, without_rows
from reasoningbank_postgres.pgvector.server import Query, Rows
from reasoningbank_postgres.pgvector.tables import FACETS, BuildTables

_ROW_TYPES = {
    "num": "bigint", "id": "text", **dict.fromkeys(FACETS, "text"), "length": "bigint", "terms": "bytea",
    "conversation": "bigint", "form": "bytea",
}  # fmt: skip
Facets = tuple[str | None, ...]


class KnownRow(NamedTuple):
    num: int
    facets: Facets
    length: int
    terms: bytes
    conversation: int
    form: bytes


def facets_of(memory: Memory) -> Facets:
    """The fields of a memory that a filter asks for, but for its tags, in the order of the columns."""
    scope, outcome, state = memory.scope.value, memory.outcome.value, memory.state.value
    return memory.tenant, memory.namespace, scope, outcome, state, memory.agent, memory.task_type


def put_rows(connection: TimedConnection, tables: BuildTables, name: str, rows: Sequence[WordRow]) -> None:
    """Add rows, or replace those with the same ids."""
    rows_by_id = {row.memory.id: row for row in rows}
    new_rows = make_rows(rows_by_id)
    old_rows = _find_rows(connection, tables, list(rows_by_id))
    ids = [i for i, row in new_rows.items() if i not in old_rows or old_rows[i]._replace(num=0) != row]
    fresh = [i for i in ids if i not in old_rows]
    standings = _remove(connection, tables, {i: old_rows[i] for i in ids if i in old_rows})
    first = _reserve(connection, name, len(fresh)) if fresh else 0
    nums = dict(zip(fresh, range(first, first + len(fresh)), strict=True)) | {i: row.num for i, row in old_rows.items()}
    columns = [
        (
            nums[i],
            i,
            *new_rows[i].facets,
            new_rows[i].length,
            new_rows[i].terms,
            new_rows[i].conversation,
            new_rows[i].form,
        )
        for i in ids
    ]
    if not columns:
        return
    _insert(connection, tables.rows, _ROW_TYPES, columns)
    if standings:
        keep_standings(connection, tables, standings)
    tags = [
        (rows_by_id[i].memory.tenant, tag, nums[i]) for i in ids for tag in dict.fromkeys(rows_by_id[i].memory.tags)
    ]
    if tags:
        _insert(connection, tables.tags, {"tenant": "text", "tag": "text", "num": "bigint"}, tags)
    _count(connection, tables, [new_rows[i] for i in ids], 1)
    _add_postings(connection, tables, [(nums[i], rows_by_id[i]) for i in ids])


def make_rows(rows_by_id: Mapping[str, WordRow]) -> dict[str, KnownRow]:
    """Index rows of memories, by id, before they have a number."""
    forms = [
        form.tobytes() for form in pack([(row.memory.title, row.memory.description) for row in rows_by_id.values()])
    ]
    return {
        memory_id: KnownRow(0, facets_of(row.memory), row.length, pack_terms(row), _conversation(row.memory), form)
        for (memory_id, row), form in zip(rows_by_id.items(), forms, strict=True)
    }


def delete_rows(connection: TimedConnection, tables: BuildTables, ids: Sequence[str]) -> None:
    rows = _find_rows(connection, tables, ids)
    if rows:
        nums = [row.num for row in rows.values()]
        connection.execute(f"DELETE FROM {tables.vectors} WHERE num = ANY(%s::bigint[])", (nums,))
        _remove(connection, tables, rows)


def keep_standings(connection: TimedConnection, tables: BuildTables, standings: Sequence[tuple[str, bytes]]) -> None:
    """Store what the evidence about memories amounts to, packed; ids that are not there are ignored."""
    ids, blobs = [memory_id for memory_id, _ in standings], [standing for _, standing in standings]
    connection.execute(
        f"UPDATE {tables.rows} AS r SET standing = given.standing "
        "FROM unnest(%b::text[], %b::bytea[]) AS given (id, standing) WHERE r.id = given.id "
        "AND r.standing IS DISTINCT FROM given.standing",
        (ids, blobs),
    )


def _conversation(memory: Memory) -> int:
    """A key for the conversation that a memory is a turn of, as a signed number; `ABSENT` for what is no turn."""
    conversation = conversation_of(memory.content, memory.source, memory.metadata)
    if conversation is None:
        return ABSENT
    return int(np.uint64(name_key(memory.tenant, memory.namespace, conversation)).astype(np.int64))


def _reserve(connection: TimedConnection, name: str, count: int) -> int:
    row = connection.execute(
        "UPDATE index_builds SET next_row = next_row + %s WHERE name = %s RETURNING next_row", (count, name)
    ).fetchone()
    assert row is not None
    return int(row[0]) - count


def _find_rows(connection: TimedConnection, tables: BuildTables, ids: Sequence[str]) -> dict[str, KnownRow]:
    text, values = rows_query(tables, ids)
    return known_rows(connection.execute(text, values, binary=True).fetchall())


def rows_query(tables: BuildTables, ids: Sequence[str]) -> Query:
    columns = ", ".join(FACETS)
    text = f"SELECT id, num, length, terms, conversation, form, {columns} FROM {tables.rows} WHERE id = ANY(%s::text[])"
    return text, (list(ids),)


def known_rows(rows: Rows) -> dict[str, KnownRow]:
    return {row[0]: KnownRow(row[1], tuple(row[6:]), row[2], bytes(row[3]), row[4], bytes(row[5])) for row in rows}


def _remove(connection: TimedConnection, tables: BuildTables, rows: dict[str, KnownRow]) -> list[tuple[str, bytes]]:
    """Remove rows with what is said of them but for their vectors; gives back their standings."""
    if not rows:
        return []
    nums = [row.num for row in rows.values()]
    connection.execute(f"DELETE FROM {tables.tags} WHERE num = ANY(%s::bigint[])", (nums,))
    cursor = connection.execute(
        f"DELETE FROM {tables.rows} WHERE num = ANY(%s::bigint[]) RETURNING id, standing", (nums,), binary=True
    )
    standings = [(memory_id, bytes(standing)) for memory_id, standing in cursor.fetchall() if standing is not None]
    _count(connection, tables, list(rows.values()), -1)
    _strip_postings(connection, tables, list(rows.values()))
    return standings


def _count(connection: TimedConnection, tables: BuildTables, rows: Sequence[KnownRow], sign: int) -> None:
    memories, lengths = Counter[Facets](), Counter[Facets]()
    for row in rows:
        memories[row.facets] += sign
        lengths[row.facets] += sign * row.length
    columns = ", ".join(FACETS)
    lists = ", ".join(["%b::text[]"] * len(FACETS))
    connection.execute(
        f"INSERT INTO {tables.groups} AS g ({columns}, memories, length) SELECT * "
        f"FROM unnest({lists}, %b::bigint[], %b::bigint[]) ON CONFLICT ({columns}) DO UPDATE "
        "SET memories = g.memories + excluded.memories, length = g.length + excluded.length",
        (*map(list, zip(*memories, strict=True)), list(memories.values()), list(lengths.values())),
    )


def _insert(
    connection: TimedConnection, table: str, types: dict[str, str], rows: Sequence[tuple[Any, ...]], then: str = ""
) -> None:
    """One list for each column: a statement of the same text however many rows there are."""
    lists = ", ".join(f"%b::{kind}[]" for kind in types.values())
    connection.execute(
        f"INSERT INTO {table} ({', '.join(types)}) SELECT * FROM unnest({lists}) {then}",
        tuple(map(list, zip(*rows, strict=True))),
    )


# ---------------------------------------------------------------- postings


_POSTING_TYPES = {"tenant": "text", "term": "bigint", "piece": "bigint", "holding": "bigint", "entries": "bytea"}
_KEYS = "unnest(%b::text[], %b::bigint[], %b::bigint[]) AS k (tenant, term, piece)"


def _add_postings(connection: TimedConnection, tables: BuildTables, rows: Sequence[tuple[int, WordRow]]) -> None:
    by_tenant: dict[str, list[tuple[int, WordRow]]] = {}
    for num, row in rows:
        by_tenant.setdefault(row.memory.tenant, []).append((num, row))
    pieces = [piece for tenant, own in by_tenant.items() for piece in _pieces(tenant, own)]
    append = (
        "ON CONFLICT (tenant, term, piece) DO UPDATE "
        f"SET holding = {tables.postings}.holding + excluded.holding, "
        f"entries = {tables.postings}.entries || excluded.entries"
    )
    if pieces:
        _insert(connection, tables.postings, _POSTING_TYPES, pieces, append)


def _pieces(tenant: str, rows: Sequence[tuple[int, WordRow]]) -> Iterator[tuple[str, int, int, int, bytes]]:
    """The postings of rows, by term and piece."""
    counts = [len(row.terms) for _, row in rows]
    terms = np.fromiter(chain.from_iterable(row.terms for _, row in rows), np.int64)
    weights = np.fromiter(chain.from_iterable(row.terms.values() for _, row in rows), np.uint64)
    nums = np.repeat(np.array([num for num, _ in rows], np.uint64), counts)
    lengths = np.repeat(np.array([min(row.length, LONGEST) for _, row in rows], np.uint64), counts)
    places = (nums // np.uint64(PIECE_ROWS)).astype(np.int64)
    order = np.lexsort((nums, places, terms))
    postings = (nums << np.uint64(24) | lengths << np.uint64(8) | weights)[order]
    terms, places = terms[order], places[order]
    first = np.flatnonzero(np.diff(terms, prepend=-1) | np.diff(places, prepend=-1))
    bounds = [*first.tolist(), len(terms)]
    for start, stop, term, piece in zip(
        bounds, bounds[1:], terms[first].tolist(), places[first].tolist(), strict=False
    ):
        yield tenant, term, piece, stop - start, postings[start:stop].astype("<u8").tobytes()


def _strip_postings(connection: TimedConnection, tables: BuildTables, rows: Sequence[KnownRow]) -> None:
    keys = {
        (row.facets[0], term, row.num // PIECE_ROWS)
        for row in rows
        for term in unpack_terms(row.terms)["term"].tolist()
    }
    if not keys:
        return
    lists = tuple(map(list, zip(*keys, strict=True)))
    pieces = connection.execute(
        f"SELECT tenant, term, piece, p.entries FROM {_KEYS} JOIN {tables.postings} p USING (tenant, term, piece)",
        lists,
        binary=True,
    ).fetchall()
    nums = np.array([row.num for row in rows], np.uint64)
    remaining = [(tenant, term, piece, without_rows(entries, nums)) for tenant, term, piece, entries in pieces]
    connection.execute(
        f"DELETE FROM {tables.postings} p USING {_KEYS} "
        "WHERE p.tenant = k.tenant AND p.term = k.term AND p.piece = k.piece",
        lists,
    )
    nonempty = [
        (tenant, term, piece, len(entries) // 8, entries) for tenant, term, piece, entries in remaining if entries
    ]
    if nonempty:
        _insert(connection, tables.postings, _POSTING_TYPES, nonempty)
