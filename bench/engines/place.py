"""Where engines are measured: a PostgreSQL of its own and banks of a known size, made once for all parts of a run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench.banks import Built, built, workplace
from bench.corpus import Corpus
from bench.own_postgres import own_postgres
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
    with own_postgres() as postgres, workplace() as folder:
        home, os.environ["REASONINGBANK_HOME"] = os.environ.get("REASONINGBANK_HOME"), str(folder)
        try:
            yield Place(postgres.database, folder, corpus, scale, embedders, indexes, questions)
        finally:
            if home is None:
                del os.environ["REASONINGBANK_HOME"]
            else:
                os.environ["REASONINGBANK_HOME"] = home
