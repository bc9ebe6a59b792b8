"""The builds of an index in the bank's own PostgreSQL: which there are, opened, removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.ports import Halves, IndexInfo, IndexPlace
from reasoningbank_postgres.connections import TimedConnection
from reasoningbank_postgres.pgvector.build import PgvectorBuild, remove_build, remove_unnamed
from reasoningbank_postgres.pgvector.examination import PgvectorExamination
from reasoningbank_postgres.pgvector.graph_building import GraphBuilding
from reasoningbank_postgres.pgvector.joined import PgvectorJoined
from reasoningbank_postgres.pgvector.server import IndexServer
from reasoningbank_postgres.pgvector.tables import ARE_THERE, BuildTables
from reasoningbank_postgres.pgvector.vectors import PgvectorVectors
from reasoningbank_postgres.pgvector.words import PgvectorWords

KIND = "pgvector"


class PgvectorBuilds:
    def __init__(self, place: IndexPlace, *, read_only: bool) -> None:
        self._place = place
        self._server = IndexServer(place.location, read_only=read_only)

    def place(self, name: str) -> str:
        return name

    def is_there(self, name: str) -> bool:
        return self._number(name) is not None

    def open(self, name: str, identity: EmbedderIdentity, facet: str) -> Halves:
        build = PgvectorBuild(self._server, name, identity, facet)
        vectors = PgvectorVectors(build, GraphBuilding(build, self._place.turn))
        return Halves(
            vectors,
            PgvectorWords(build),
            lambda wait_s: self._writing(build, wait_s),
            PgvectorJoined(build),
            PgvectorExamination(build),
        )

    @contextmanager
    def _writing(self, build: PgvectorBuild, wait_s: float) -> Iterator[bool]:
        # Whoever wants to write it wants to know how far it is now, whether it is free or not.
        build.forget_stamp()
        if self._server.read_only:
            yield False
            return
        with self._place.turn(f"{build.name} index", wait_s) as has_lock:
            yield has_lock

    def open_beside(self, name: str, of: str, identity: EmbedderIdentity, facet: str, *, anew: bool) -> Halves:
        halves = self.open(f"{name}-{of}", identity, facet)
        if anew and not self._server.read_only:
            halves.words.clear()
        return halves

    def inspect(self, name: str, identity: EmbedderIdentity, facet: str) -> None:
        """The server looks after its pages."""

    def info(self, name: str) -> IndexInfo | None:
        number = self._number(name)
        if number is None:
            return None
        tables = BuildTables(number)
        sizes = " + ".join(f"pg_total_relation_size('{table}')" for table in tables.all)
        try:
            [[(position, memories, vectors, size)]] = self._server.ask(
                None,
                (
                    (
                        f"SELECT words_applied, (SELECT coalesce(sum(memories), 0)::bigint FROM {tables.groups}), "
                        f"(SELECT count(*) FROM {tables.vectors}), {sizes} FROM index_builds WHERE name = %s"
                    ),
                    (name,),
                ),
            )
        except BankDamaged:
            return IndexInfo(kind=KIND, memories=0, awaiting_vectors=0, applied=0, bytes_on_disk=0, is_damaged=True)
        awaiting = max(0, memories - vectors)
        return IndexInfo(
            kind=KIND, memories=memories, awaiting_vectors=awaiting, applied=position, bytes_on_disk=int(size)
        )

    def distrust(self) -> None:
        """Tables that cannot be used are made anew by whoever may write."""

    # ------------------------------------------------------------ removing

    def remove(self, build: int) -> None:
        self._remove(lambda name: name.startswith(f"{build}-"))

    def remove_left_over(self, keep: str) -> None:
        self._remove(lambda name: not name.startswith(keep))

    def remove_all(self) -> bool:
        return self._remove(lambda _: True)

    def _remove(self, is_meant: Callable[[str], bool]) -> bool:
        """Remove builds by name; True if there was any. Whoever is reading one finds it gone, and looks again."""
        if self._server.read_only:
            return False
        names = [name for name in self._names() if is_meant(name)]

        def work(connection: TimedConnection) -> None:
            for name in names:
                remove_build(connection, name)
            remove_unnamed(connection, self._server.address.schema)

        self._server.change(work)
        return bool(names)

    def _names(self) -> list[str]:
        try:
            [rows] = self._server.ask(None, ("SELECT name FROM index_builds", ()))
        except BankDamaged:
            # None was ever made here.
            return []
        return [name for (name,) in rows]

    def _number(self, name: str) -> int | None:
        try:
            [rows] = self._server.ask(
                None,
                (
                    f"SELECT number FROM index_builds WHERE name = %s AND {ARE_THERE}",
                    (name,),
                ),
            )
        except BankDamaged:
            return None
        return int(rows[0][0]) if rows else None

    def close(self) -> None:
        self._server.close()
