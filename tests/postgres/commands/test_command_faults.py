"""What a person gets to read when something is wrong with a bank in PostgreSQL: each fault for real, at the command line."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest

from bench.own_postgres import OwnPostgres
from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankFull, BankReadOnly
from tests.postgres_server import GUEST, PASSWORD, Server
from tests.server.test_workers import until
from tests.socket_proxy import SocketProxy

STORE = ("store", "build", "make build, not npm")


@contextmanager
def server_to_oneself(postgres: Server) -> Iterator[None]:
    """No tablespace is made while there is a standby: on one machine both would want its folder."""
    with psycopg.connect(host=postgres.socket, dbname="postgres", user="postgres", autocommit=True) as admin:
        admin.execute("SELECT pg_advisory_lock(2)")
        yield


@pytest.fixture
def proxy(postgres: Server, tmp_path_factory) -> Iterator[SocketProxy]:
    made = SocketProxy(tmp_path_factory.mktemp("p"), postgres.socket)
    yield made
    made.close()


def through(proxy: SocketProxy, postgres: Server, url: str) -> str:
    return url.replace(postgres.socket, str(proxy.folder))


# ---------------------------------------------------------------- refused at the door


def guest_url(postgres: Server, password: str, schema: str = "nobodys") -> str:
    return f"postgresql://{GUEST}:{password}@/{postgres.database}?host={postgres.socket}&schema={schema}"


def test_whatever_is_wrong_with_server_role_or_bank_is_one_sentence_that_says_what_helps(
    rb, postgres, postgres_url, proxy
):
    with ReasoningBank.open(postgres.url("from_later"), embedder="hash"), postgres.raw() as connection:
        connection.execute("UPDATE from_later.bank SET version = version + 1")
    proxy.to_client = lambda piece: piece.replace(b"server_version\x0018.", b"server_version\x0014.")
    wrong = "n0t/the:pass@word?&"
    for url, says in (
        (guest_url(postgres, wrong), "Check the password"),
        (postgres.url().replace(postgres.database, "no such%2Fdatabase"), "createdb"),
        (guest_url(postgres, PASSWORD), f'CREATE SCHEMA "nobodys" AUTHORIZATION "{GUEST}"'),
        (postgres.url("from_later"), "Upgrade reasoningbank here"),
        (through(proxy, postgres, postgres_url), "PostgreSQL 14; a bank needs 15 or newer"),
        ("postgresql://ann:n0t/the:pass@word?&@/db?host=/nowhere/at/all", "Check that the server runs"),
    ):
        refused = rb("--bank", url, *STORE)
        assert refused.code == 5, refused
        assert says in refused.err
        assert refused.err.startswith("error: postgresql://") or "The role guest" in refused.err
        for secret in (wrong, "pass@word", "p@ss", "pass%40"):
            assert secret not in refused.out + refused.err
        assert "Traceback" not in refused.err


# ---------------------------------------------------------------- the way to the server


def test_a_network_that_hangs_is_given_up_in_time(rb, postgres, postgres_url, proxy):
    url = through(proxy, postgres, postgres_url)
    assert rb("--bank", url, *STORE).code == 0
    proxy.to_client = lambda _: b""
    refused = rb("--bank", f"{url}&connect_timeout=2", "list")
    assert (refused.code, "timeout" in refused.err) == (5, True), refused
    assert "Check the host, the port and the network" in refused.err
    proxy.to_client = bytes
    assert rb("--bank", url, "list").code == 0


def test_a_server_whose_processes_are_ended_under_an_open_bank_costs_no_command(postgres, postgres_url):
    with ReasoningBank.open(postgres_url, embedder="hash", namespace="n") as bank, postgres.raw("postgres") as admin:
        for number in range(3):
            admin.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE application_name = 'reasoningbank' AND datname = %s",
                (postgres.database,),
            )
            bank.record(title=f"Lesson {number}", content=f"After the end of process {number}.")
            assert len(bank.list()) == number + 1


# ---------------------------------------------------------------- a replica, and a primary that is gone


@pytest.fixture
def standby(postgres: Server, postgres_cluster: OwnPostgres) -> Iterator[Server]:
    """A hot standby of the server, made by PostgreSQL's own means."""
    with server_to_oneself(postgres):
        yield from standby_of(postgres, postgres_cluster)


def standby_of(postgres: Server, postgres_cluster: OwnPostgres) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="rb-standby-"))
    owner = Path(postgres.socket).stat()
    os.chown(folder, owner.st_uid, owner.st_gid)
    data = folder / "data"
    postgres_cluster.run("pg_basebackup", "-D", data, "-R", "-c", "fast", "-h", postgres.socket, "-U", "postgres")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c hot_standby=on"
    postgres_cluster.run("pg_ctl", "-D", data, "-w", "-o", options, "-l", folder / "log", "start")
    yield Server(str(folder), postgres.database)
    postgres_cluster.run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    shutil.rmtree(folder)


def wait_for_replay(postgres: Server, standby: Server) -> None:
    with postgres.raw("postgres") as primary, standby.raw("postgres") as replica:
        (written,) = primary.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        until(lambda: replica.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (written,)).fetchone()[0])


def test_a_read_replica_is_read_and_not_written_and_takes_over_when_it_is_promoted(
    rb, postgres, postgres_cluster, postgres_url, standby, proxy
):
    with ReasoningBank.open(postgres_url, embedder="hash", namespace="n") as bank:
        bank.record(title="Wrap errors", content="Wrap errors with context.")
    wait_for_replay(postgres, standby)
    there = standby.url("shared")
    refused = rb("--bank", there, "--namespace", "n", *STORE)
    assert (refused.code, "is a read replica. Name the primary" in refused.err) == (5, True), refused
    warned = rb("--bank", there, "doctor", "--json")
    assert any("read replica" in check["says"] for check in warned.json["checks"])
    with ReasoningBank.open(there, namespace="n", read_only=True) as bank:
        assert [one.memory.title for one in bank.search("wrap errors")] == ["Wrap errors"]
        with pytest.raises(BankReadOnly):
            bank.record(title="No", content="Not here.")
    # A failover: the primary is out of reach, the standby takes over, and the bank that is open goes on with it.
    hosts = postgres_url.replace(postgres.socket, f"{proxy.folder},{standby.socket}")
    with ReasoningBank.open(f"{hosts}&target_session_attrs=read-write", embedder="hash", namespace="n") as bank:
        bank.record(title="Before", content="Written to the primary.")
        wait_for_replay(postgres, standby)
        proxy.close()
        postgres_cluster.run("pg_ctl", "-D", f"{standby.socket}/data", "-w", "promote")
        bank.record(title="After", content="Written to the one that took over.")
        titles = {one.memory.title for one in bank.list()}
    assert titles == {"Wrap errors", "Before", "After"}
    with ReasoningBank.open(there, namespace="n") as bank:
        assert {one.memory.title for one in bank.list()} == titles
        assert bank.verify() == []


# ---------------------------------------------------------------- a full disk


@pytest.fixture
def small_disk(postgres: Server) -> Iterator[Callable[[str], None]]:
    """A tablespace on a disk of a few megabytes, which can be made larger."""
    with server_to_oneself(postgres):
        yield from small_disk_of(postgres)


def small_disk_of(postgres: Server) -> Iterator[Callable[[str], None]]:
    folder = Path(tempfile.mkdtemp(prefix="rb-small-"))
    owner = Path(postgres.socket).stat()
    inside = f"uid={owner.st_uid},gid={owner.st_gid},mode=0700"

    def mount(size: str, *more: str) -> None:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"{','.join([f'size={size}', *more])}", "tmpfs", folder], check=True
        )

    try:
        mount("4m", inside)
    except (OSError, subprocess.CalledProcessError):
        folder.rmdir()
        pytest.skip("only a superuser may mount a small disk")
    with postgres.raw("postgres") as admin:
        admin.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        admin.execute("GRANT CREATE ON TABLESPACE small TO team")
    yield lambda size: mount(size, "remount")
    with postgres.raw("postgres") as admin:
        admin.execute("DROP SCHEMA IF EXISTS on_small CASCADE")
        admin.execute("CHECKPOINT")
        admin.execute("DROP TABLESPACE small")
    subprocess.run(["umount", folder], check=True)
    folder.rmdir()


def test_a_disk_that_is_full_is_told_loses_nothing_and_takes_writes_when_there_is_room(rb, postgres, small_disk):
    url = postgres.url("on_small", options="-cdefault_tablespace%3Dsmall")
    stored: list[str] = []
    with ReasoningBank.open(url, embedder="hash", namespace="n") as bank:

        def fill(many: int) -> None:
            for number in range(len(stored), len(stored) + many):
                text = "".join(sha256(f"{number} {part}".encode()).hexdigest() for part in range(600))
                stored.append(bank.record(title=f"Lesson {number}", content=text).id)

        with pytest.raises(BankFull, match=r"has no room .*Nothing was written: make room there and try again"):
            fill(500)
        told = rb("--bank", url, "--namespace", "n", "store", "big", "".join(f" word{n}" for n in range(2_000)))
        kept = [one.memory.id for one in bank.list(limit=1_000)]
        assert sorted(kept) == sorted(stored), "what was acknowledged, and nothing else"
        small_disk("32m")
        fill(3)
        assert len(bank.list(limit=1_000)) == len(stored) + (told.code == 0)
        assert bank.verify() == []


def test_the_value_of_an_option_that_nobody_knows_is_never_printed(rb):
    for command in (STORE, ("status",), ("doctor",)):
        refused = rb("--bank", "postgresql://127.0.0.1:1/bank?frobnicate=s3cr3t-value", *command)
        told = refused.out + refused.err
        assert (refused.code != 0, "frobnicate" in told, "s3cr3t-value" in told) == (True, True, False), told


def test_doctor_goes_on_with_what_needs_no_bank_when_the_server_is_away(rb):
    looked = rb("--bank", "postgresql://127.0.0.1:1/bank?connect_timeout=2", "doctor", "--json")
    verdicts = {check["name"]: check["verdict"] for check in looked.json["checks"]}
    assert (looked.code, verdicts["opens"], verdicts["unchecked"]) == (1, "fail", "warn")
    assert {"settings", "hooks", "model", "embedder"} <= set(verdicts)
