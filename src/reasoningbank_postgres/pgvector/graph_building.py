"""Builds the graph (HNSW) over the vectors of an index once there are many, and finds out whether it can be trusted.

How far a search must reach through it depends on the vectors: those of words alone lie so evenly that no graph finds
the nearest. So it is tried with mixtures of vectors that are there, whose neighbours are known by comparing all; where
the reach that pgvector allows is not enough, there is no graph, and every vector is compared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress

import numpy as np
import psycopg

from reasoningbank.core.errors import BankError
from reasoningbank_postgres.connections import TimedConnection
from reasoningbank_postgres.pgvector.build import PgvectorBuild
from reasoningbank_postgres.pgvector.nearest import MOST_REACH, compare_all, walk_graph
from reasoningbank_postgres.pgvector.packing import read_halfvec, vector_text
from reasoningbank_postgres.pgvector.tables import BuildTables
from reasoningbank_postgres.transaction import SCOPE, scope_of

BUILD_FROM = 10_000
"""Vectors from which a graph is worth its while; fewer are compared in a few milliseconds."""
MOST_DIMENSIONS = 4_000
"""That a graph over half precision may have."""
AGAIN_AT = 4
"""A graph that was of no use is tried again when there are so many times as many vectors."""
WITHIN_S = 6 * 3600.0
TRIED, NEAREST = 24, 10
WANTED_RECALL = 0.98
REACHES = (25, 50, 75, 100, 150, 200, 250)
MARGIN = 4
"""Questions lie farther from what is there than a mixture of it does, and are harder to find the way for."""
_MEMORY = (
    "SELECT set_config('maintenance_work_mem', '256MB', false) WHERE (SELECT setting::bigint FROM pg_settings "
    "WHERE name = 'maintenance_work_mem') < 262144"
)


class GraphBuilding:
    def __init__(self, build: PgvectorBuild, turn: Callable[[str, float], AbstractContextManager[bool]]) -> None:
        self._build = build
        self._turn = turn
        self._given = 0
        self._thread: threading.Thread | None = None
        self._connection: TimedConnection | None = None

    def note_given(self, vectors: int) -> None:
        self._given += vectors

    def begin_where_due(self) -> None:
        """In a thread of its own: searches compare everything meanwhile, and nobody waits for it."""
        if self._thread is not None and self._thread.is_alive():
            return
        if self._is_due():
            self._thread = threading.Thread(target=self._run, name="reasoningbank-graph", daemon=True)
            self._thread.start()

    def _is_due(self) -> bool:
        build = self._build
        if build.server.read_only or build.identity.dimension > MOST_DIMENSIONS:
            return False
        [rows] = build.ask(
            None,
            (
                (
                    "SELECT graph_reach, graph_tried_at, vectors_applied >= words_applied, "
                    f"(SELECT coalesce(sum(memories), 0)::bigint FROM {build.tables.groups}) "
                    "FROM index_builds WHERE name = %s"
                ),
                (build.name,),
            ),
        )
        if not rows:
            return False
        reach, tried_at, is_complete, memories = rows[0]
        return bool(reach == 0 and is_complete and memories >= max(BUILD_FROM, AGAIN_AT * tried_at))

    def _run(self) -> None:
        # Whatever fails, the next one that brings the vectors forward tries again.
        with suppress(BankError), self._turn(f"{self._build.name} graph", 0.0) as has_lock:
            if has_lock and self._is_due():
                with self._build.server.apart(WITHIN_S) as connection:
                    self._connection = connection
                    try:
                        make_graph(connection, self._build)
                    finally:
                        self._connection = None

    def close(self) -> None:
        """Whoever has brought most of the vectors waits for their graph; others leave it to the next one."""
        thread, connection = self._thread, self._connection
        if thread is None or not thread.is_alive():
            return
        if connection is not None and self._given < BUILD_FROM:
            with suppress(psycopg.Error):
                connection.cancel_safe()
        thread.join(WITHIN_S)


def make_graph(connection: TimedConnection, build: PgvectorBuild) -> None:
    tables = build.tables
    connection.execute("SET lock_timeout = 0")
    connection.execute(_MEMORY)
    # One that was left unfinished is no good to anybody.
    connection.execute(f"DROP INDEX IF EXISTS {tables.graph}")
    connection.execute(
        f"CREATE INDEX CONCURRENTLY {tables.graph} ON {tables.vectors} USING hnsw (vector halfvec_ip_ops)"
    )
    for table in tables.all:
        connection.execute(f"ANALYZE {table}")
    reach, vectors = _find_reach(connection, tables)
    if not reach:
        connection.execute(f"DROP INDEX IF EXISTS {tables.graph}")
    connection.execute(
        "UPDATE index_builds SET graph_reach = %s, graph_tried_at = %s WHERE name = %s", (reach, vectors, build.name)
    )


def _find_reach(connection: TimedConnection, tables: BuildTables) -> tuple[int, int]:
    """How far searches must reach to find nearly all of the nearest, 0 where no reach is enough; and of how many."""
    connection.execute("BEGIN")
    connection.execute(f"SELECT {SCOPE}", scope_of(None))
    row = connection.execute(f"SELECT count(*), min(num), max(num) FROM {tables.vectors}").fetchone()
    assert row is not None
    vectors, first, last = row
    queries = _mixtures(connection, tables, first, last) if vectors else []
    exact = [
        _ids(connection, compare_all(tables, "num", "true", (), vector_text(vector), NEAREST)) for vector in queries
    ]
    reach = 0
    for candidate in REACHES if queries else ():
        connection.execute(
            f"SET LOCAL hnsw.ef_search = {candidate}; SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off"
        )
        hits = [
            len(neighbours & _ids(connection, walk_graph(tables, "num", "true", (), vector_text(vector), NEAREST)))
            for vector, neighbours in zip(queries, exact, strict=True)
        ]
        if sum(hits) >= WANTED_RECALL * sum(map(len, exact)):
            reach = min(MOST_REACH, MARGIN * candidate)
            break
    connection.execute("COMMIT")
    return reach, vectors


def _mixtures(connection: TimedConnection, tables: BuildTables, first: int, last: int) -> list[np.ndarray]:
    nums = np.random.default_rng(last).integers(first, last + 1, 8 * TRIED).tolist()
    rows = connection.execute(
        f"SELECT vector FROM {tables.vectors} WHERE num = ANY(%s::bigint[]) ORDER BY num LIMIT %s",
        (nums, 2 * TRIED),
        binary=True,
    ).fetchall()
    vectors = [read_halfvec(raw) for (raw,) in rows]
    half = len(vectors) // 2
    return [vector + other for vector, other in zip(vectors[:half], vectors[half : 2 * half], strict=True)]


def _ids(connection: TimedConnection, query: tuple[str, Sequence[object]]) -> set[int]:
    return {num for num, _ in connection.execute(*query).fetchall()}
