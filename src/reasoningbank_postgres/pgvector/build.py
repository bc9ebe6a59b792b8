"""One build of the index in PostgreSQL: its tables, made where there are none, and how far in the feed they are."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import psycopg

from reasoningbank.core.errors import BankDamaged, BankUnavailable
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.forking import renew_in_child
from reasoningbank.ports import Filter, IndexPosition
from reasoningbank_postgres.connections import TimedConnection
from reasoningbank_postgres.opening import LOCK, MIGRATING, lock_number
from reasoningbank_postgres.pgvector.census import Census, read_census
from reasoningbank_postgres.pgvector.server import IndexServer, Query, Rows
from reasoningbank_postgres.pgvector.tables import ARE_THERE, BUILDS, OF_BUILDS, BuildTables

T = TypeVar("T")
WORDS, VECTORS = "words", "vectors"
_LOOK = f"SELECT number, embedder = %s AND facet = %s, {ARE_THERE} FROM index_builds WHERE name = %s"
_STAMP = """SELECT changes, graph_reach, words_applied, words_mark, vectors_applied, vectors_mark
FROM index_builds WHERE name = %s AND number = %s"""


class BuildStamp(NamedTuple):
    changes: int
    """How often its rows were changed."""
    reach: int
    """How far a search through the graph must reach; 0 where there is none."""
    words: IndexPosition
    vectors: IndexPosition


class PgvectorBuild:
    def __init__(self, server: IndexServer, name: str, identity: EmbedderIdentity, facet: str) -> None:
        self.server = server
        self.name = name
        self.identity = identity
        self._facet = facet
        self._tables: BuildTables | None = None
        self._lock = threading.Lock()
        # Replaced entry by entry, each as a whole: threads share it.
        self._censuses: dict[str, Census] = {}
        self._seen: BuildStamp | None = None
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        self._lock = threading.Lock()

    @property
    def _embedder(self) -> str:
        identity = self.identity
        return f"{identity.name} {identity.model} {identity.dimension} {identity.revision}"

    # ------------------------------------------------------------ tables

    @property
    def tables(self) -> BuildTables:
        """Made at the first call that needs them, unless they are there."""
        with self._lock:
            if self._tables is None:
                self._tables = self.find_tables() or self._make_tables()
            return self._tables

    def find_tables(self) -> BuildTables | None:
        """The tables of this build, if they are there and whole, and for this embedder."""
        try:
            [rows] = self.server.ask(None, (_LOOK, (self._embedder, self._facet, self.name)))
        except BankDamaged:
            return None
        return BuildTables(rows[0][0]) if rows and rows[0][1] and rows[0][2] else None

    def _make_tables(self) -> BuildTables:
        if self.server.read_only:
            raise BankUnavailable(
                f"The index of {self.server.address.shown} is not built yet, and a bank that is only read cannot build "
                "it: open it once for writing, and search."
            )
        self._censuses, self._seen = {}, None

        def make(connection: TimedConnection) -> BuildTables:
            connection.execute(LOCK, (MIGRATING, lock_number(self.server.address.schema)))
            connection.execute(BUILDS)
            row = connection.execute(_LOOK, (self._embedder, self._facet, self.name)).fetchone()
            if row is not None and row[1] and row[2]:
                return BuildTables(row[0])
            return self._renew(connection)

        return self.server.change(make)

    def renew(self) -> None:
        """Empty tables in the place of whatever is there."""
        self._censuses, self._seen = {}, None

        def make(connection: TimedConnection) -> BuildTables:
            connection.execute(LOCK, (MIGRATING, lock_number(self.server.address.schema)))
            connection.execute(BUILDS)
            return self._renew(connection)

        with self._lock:
            self._tables = self.server.change(make)

    def _renew(self, connection: TimedConnection) -> BuildTables:
        remove_build(connection, self.name)
        remove_unnamed(connection, self.server.address.schema)
        row = connection.execute(
            "INSERT INTO index_builds (name, embedder, facet) VALUES (%s, %s, %s) RETURNING number",
            (self.name, self._embedder, self._facet),
        ).fetchone()
        assert row is not None
        tables = BuildTables(row[0])
        for statement in tables.create(self.identity):
            connection.execute(statement)
        return tables

    # ------------------------------------------------------------ asking and changing

    def ask(self, tenant: str | None, *queries: Query) -> list[Rows]:
        return self.server.ask(tenant, *queries)

    def change(self, work: Callable[[TimedConnection, BuildTables], T], *, of_rows: bool = False) -> T:
        """Run a change; where it is one of rows, whoever knows figures of them hears that they are old."""
        tables = self.tables

        def act(connection: TimedConnection) -> T:
            self._note(connection, "changes = changes + 1" if of_rows else "name = name")
            return work(connection, tables)

        return self.server.change(act)

    def _note(self, connection: TimedConnection, change: str, *values: object) -> None:
        cursor = connection.execute(f"UPDATE index_builds SET {change} WHERE name = %s", (*values, self.name))
        if not cursor.rowcount:
            raise psycopg.errors.UndefinedTable("the build is gone")

    def advance(self, half: str, position: IndexPosition) -> None:
        change = f"{half}_applied = %s, {half}_mark = %s::numeric"
        self.server.change(lambda connection: self._note(connection, change, position.applied, str(position.mark)))
        self._seen = None

    # ------------------------------------------------------------ figures

    @property
    def stamp_query(self) -> Query:
        """How far it has come and how often its rows were changed: a part of whatever else is asked."""
        return _STAMP, (self.name, self.tables.number)

    def read_stamp(self, rows: Rows) -> BuildStamp:
        if not rows:
            raise BankDamaged(f"The index of {self.server.address.shown} was removed: it is built anew.")
        changes, reach, *numbers = map(int, rows[0])
        words, words_mark, vectors, vectors_mark = numbers
        stamp = BuildStamp(
            changes,
            reach,
            IndexPosition(applied=words, mark=words_mark),
            IndexPosition(applied=vectors, mark=vectors_mark),
        )
        before, self._seen = self._seen, stamp
        if before is not None and words < before.words.applied:
            raise BankUnavailable(f"The index of {self.server.address.shown} is being built anew: ask again.")
        return stamp

    def fresh_stamp(self) -> BuildStamp:
        self._seen = None
        [rows] = self.ask(None, self.stamp_query)
        if not rows and (tables := self.find_tables()) is not None:
            # Another process has begun it anew.
            self._tables, self._censuses = tables, {}
            [rows] = self.ask(None, self.stamp_query)
        return self.read_stamp(rows)

    def seen_stamp(self) -> BuildStamp:
        """As it was when it was looked at last."""
        return self._seen or self.fresh_stamp()

    def forget_stamp(self) -> None:
        self._seen = None

    def census(self, tenant: str, stamp: BuildStamp) -> Census:
        """Counts of a tenant's memories, read again when its rows have changed."""
        previous = self._censuses.get(tenant)
        if previous is not None and (previous.changes, previous.reach) == (stamp.changes, stamp.reach):
            return previous
        if len(self._censuses) >= 64:
            self._censuses = {}
        current = read_census(tenant, self.stamp_query, self.ask, self.tables)
        self._censuses[tenant] = current
        return current

    def last_census(self, tenant: str) -> Census:
        """As it was when it was read last: good enough to choose a way, not to count by."""
        return self._censuses.get(tenant) or self.census(tenant, self.seen_stamp())

    def counts(self, filters: Sequence[Filter], census: Census) -> list[int]:
        """How many memories pass each filter; all are of one tenant."""
        return census.counts(filters, self.ask, self.tables)


def remove_build(connection: TimedConnection, name: str) -> None:
    row = connection.execute("DELETE FROM index_builds WHERE name = %s RETURNING number", (name,)).fetchone()
    if row is not None:
        connection.execute(BuildTables(row[0]).drop())


def remove_unnamed(connection: TimedConnection, schema: str) -> None:
    """Remove the tables that no build names, where somebody emptied or removed `index_builds`: nobody brings them
    forward, so what is erased would live on there.
    """
    connection.execute(LOCK, (MIGRATING, lock_number(schema)))
    there = connection.execute(OF_BUILDS, (f'"{schema}"',)).fetchall()
    names = connection.execute("SELECT to_regclass('index_builds') IS NOT NULL").fetchone() == (True,)
    builds = connection.execute("SELECT number FROM index_builds").fetchall() if names else []
    tables_in_use = {table for (number,) in builds for table in BuildTables(number).all}
    orphans = [name for (name,) in there if name not in tables_in_use]
    if orphans:
        connection.execute(f"DROP TABLE IF EXISTS {', '.join(orphans)}")
