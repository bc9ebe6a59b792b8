"""Commits of other processes wake whoever follows a bank in PostgreSQL: nobody here looks by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.serve import idle_index
from reasoningbank.serve.idle_index import WORTH_OPENING_FOR, IdleIndexer
from reasoningbank_postgres import listening
from tests.postgres_server import Server
from tests.server.test_workers import until
from tests.socket_proxy import SocketProxy

WRITER = """
import sys
from reasoningbank import ReasoningBank
with ReasoningBank.open(sys.argv[1], namespace="n") as bank:
    for word in sys.stdin:
        bank.record_many({"title": f"{word} {n}", "content": f"shelf {n} holds {word}"} for n in range(int(sys.argv[2])))
        print("stored", flush=True)
"""


@pytest.fixture(autouse=True)
def _nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_index, "LOOK_S", 3600.0)


@pytest.fixture
def indexing(postgres_url) -> Iterator[ReasoningBank]:
    with ReasoningBank.open(postgres_url, embedder="hash", namespace="n") as bank:
        yield bank


def listeners(postgres: Server) -> list[int]:
    with postgres.raw("postgres") as admin:
        found = admin.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = %s AND query LIKE 'LISTEN%%'", (postgres.database,)
        )
        return [pid for (pid,) in found.fetchall()]


def write(process, word: str) -> None:
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "stored\n"


def test_an_idle_server_indexes_what_another_process_commits_without_looking(indexing, postgres, postgres_url, child):
    indexer = IdleIndexer(indexing, make_way=lambda _: None)
    indexer.start()
    writer = child(WRITER, postgres_url, WORTH_OPENING_FOR)
    try:
        until(lambda: len(listeners(postgres)) == 1)
        for word in ("pears", "plums"):
            before = indexing.context.store.head()
            write(writer, word)
            assert indexing.context.store.head() > before
            until(lambda: indexing.index_lag() == 0)
        # The server ends that connection, and meanwhile something is committed: it is heard of all the same.
        (lost,) = until(lambda: listeners(postgres))
        with postgres.raw("postgres") as admin:
            admin.execute("SELECT pg_terminate_backend(%s, 10000)", (lost,))
        write(writer, "figs")
        until(lambda: indexing.index_lag() == 0)
        until(lambda: lost not in listeners(postgres) and len(listeners(postgres)) == 1)
        write(writer, "dates")
        until(lambda: indexing.index_lag() == 0)
    finally:
        indexer.close()
    until(lambda: listeners(postgres) == [])


def test_a_connection_that_keeps_silent_is_made_again(postgres, postgres_url, tmp_path_factory, monkeypatch):
    monkeypatch.setattr(listening, "ASK_EVERY_S", 0.2)
    monkeypatch.setattr(listening, "ANSWERS_WITHIN_S", 0.5)
    proxy = SocketProxy(tmp_path_factory.mktemp("p"), postgres.socket)
    place = postgres_url.replace(postgres.socket, str(proxy.folder))
    heard: list[int] = []
    with (
        ReasoningBank.open(place, embedder="hash", namespace="n") as bank,
        bank.context.store.listen(lambda: heard.append(1)),
        ReasoningBank.open(postgres_url, namespace="n") as other,
    ):
        until(lambda: heard)
        proxy.to_client = lambda _: b""
        other.record(title="While nothing came through", content="Nobody was told.")
        silent = until(lambda: listeners(postgres))
        until(lambda: not set(silent) & set(listeners(postgres)))
        del heard[:]
        # From here on no answer comes too late, however slow the machine is.
        monkeypatch.setattr(listening, "ANSWERS_WITHIN_S", 300.0)
        proxy.to_client = bytes
        until(lambda: heard)
        del heard[:]
        other.record(title="Heard", content="Through another connection.")
        until(lambda: heard)
    proxy.close()


def test_all_who_follow_a_bank_in_a_process_share_one_connection(indexing, postgres):
    heard: list[str] = []
    store = indexing.context.store
    with store.listen(lambda: heard.append("first")), store.listen(lambda: heard.append("second")):
        until(lambda: {"first", "second"} <= set(heard))
        assert len(listeners(postgres)) == 1
        del heard[:]
        indexing.record(title="Told", content="To both.")
        until(lambda: sorted(heard) == ["first", "second"])
    until(lambda: listeners(postgres) == [])
