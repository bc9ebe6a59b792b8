"""The half of an index in PostgreSQL that keeps vectors, with a graph over them where there are many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reasoningbank.core.types import EmbedderIdentity, Memory
from reasoningbank.ports import Filter, IndexPosition
from reasoningbank_postgres.connections import TimedConnection
from reasoningbank_postgres.pgvector.build import VECTORS, PgvectorBuild
from reasoningbank_postgres.pgvector.graph_building import GraphBuilding
from reasoningbank_postgres.pgvector.nearest import SearchWay
from reasoningbank_postgres.pgvector.packing import Floats, VectorList, read_halfvec, vector_text
from reasoningbank_postgres.pgvector.row_changes import facets_of
from reasoningbank_postgres.pgvector.tables import FACETS, BuildTables


class PgvectorVectors:
    def __init__(self, build: PgvectorBuild, graph: GraphBuilding) -> None:
        self._build = build
        self._graph = graph

    @property
    def identity(self) -> EmbedderIdentity:
        return self._build.identity

    @property
    def position(self) -> IndexPosition:
        return self._build.fresh_stamp().vectors

    def advance(self, position: IndexPosition) -> None:
        self._build.advance(VECTORS, position)
        self._graph.begin_where_due()

    def upsert(self, rows: Sequence[tuple[Memory, Floats]]) -> None:
        last = {memory.id: (memory, vector) for memory, vector in rows}
        ids, vectors = list(last), VectorList([vector for _, vector in last.values()])
        facets = [list(column) for column in zip(*(facets_of(memory) for memory, _ in last.values()), strict=True)]
        if not ids:
            return
        self._build.change(lambda connection, tables: _put_vectors(connection, tables, ids, facets, vectors))
        self._graph.note_given(len(ids))

    def delete(self, ids: Sequence[str]) -> None:
        def work(connection: TimedConnection, tables: BuildTables) -> None:
            connection.execute(
                f"DELETE FROM {tables.vectors} WHERE num IN (SELECT num FROM {tables.rows} WHERE id = ANY(%s::text[]))",
                (list(ids),),
            )

        self._build.change(work)

    def search(self, vector: Floats, where: Filter, k: int) -> list[tuple[str, float]]:
        flat = np.asarray(vector, np.float32).reshape(-1)
        length = float(np.linalg.norm(flat))
        if k <= 0 or not 0 < length < np.inf:
            return []
        query_text = vector_text(flat / np.float32(length))
        census = self._build.last_census(where.tenant)
        [passing] = self._build.counts([where], census)
        way = SearchWay(self._build.tables, where, k, passing, census.reach)
        stamp, *_, rows = self._build.ask(
            where.tenant, self._build.stamp_query, *way.terms, way.query("id", query_text)
        )
        self._build.census(where.tenant, self._build.read_stamp(stamp))
        if way.may_lack(len(rows)):
            [rows] = self._build.ask(where.tenant, way.exact("id", query_text))
        return sorted(((memory_id, -far) for memory_id, far in rows), key=lambda pair: -pair[1])

    def fetch(self, ids: Sequence[str]) -> dict[str, Floats]:
        tables = self._build.tables
        [rows] = self._build.ask(
            None,
            (
                (
                    f"SELECT v.id, v.vector FROM {tables.rows} r JOIN {tables.vectors} v USING (num) "
                    "WHERE r.id = ANY(%s::text[])"
                ),
                (list(ids),),
            ),
        )
        vectors = {memory_id: read_halfvec(raw) for memory_id, raw in rows}
        return {memory_id: vectors[memory_id] for memory_id in ids if memory_id in vectors}

    def clear(self) -> None:
        self._build.renew()

    def close(self) -> None:
        self._graph.close()


def _put_vectors(
    connection: TimedConnection,
    tables: BuildTables,
    ids: Sequence[str],
    facets: Sequence[list[str | None]],
    vectors: VectorList,
) -> None:
    columns = ", ".join(FACETS)
    new_values = ", ".join(f"given.{column}" for column in FACETS)
    updates = ", ".join(f"{column} = excluded.{column}" for column in (*FACETS, "vector"))
    connection.execute(
        f"INSERT INTO {tables.vectors} (num, id, {columns}, vector) SELECT r.num, given.id, {new_values}, given.vector "
        f"FROM unnest(%b::text[], {', '.join(['%b::text[]'] * len(FACETS))}, %b::halfvec[]) "
        f"AS given (id, {columns}, vector) JOIN {tables.rows} r ON r.id = given.id "
        f"ON CONFLICT (num) DO UPDATE SET {updates}",
        (list(ids), *facets, vectors),
    )
