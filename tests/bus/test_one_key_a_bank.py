"""A bank has one key and one node, wherever it lies and however many machines serve it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import Conflict
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank_bus import Bus
from reasoningbank_bus.service import running_node
from reasoningbank_postgres.opening import TURNS, lock_number
from tests.bus.laptops import Laptop, until
from tests.postgres_server import Server


def test_a_bank_that_comes_to_another_machine_without_its_key_gets_no_second_one_unless_that_is_lost(tmp_path):
    with Laptop(tmp_path / "here.db") as here:
        known = here.bus.fingerprint
        here.bank.backup(tmp_path / "there.db")
    with ReasoningBank.open(tmp_path / "there.db", embedder="hash", config="none") as bank, Bus.open(bank) as bus:
        for attempt in (bus.init, lambda: bus.identity):
            with pytest.raises(Conflict, match=f"on the bus as {known}, and that key is not here.*there.db.bus"):
                attempt()
        assert f"on the bus as {known}" in bus.status().trouble
        assert bus.init(anew=True).fingerprint != known
        shutil.copy(tmp_path / "here.db.bus" / "key", tmp_path / "there.db.bus" / "key")
    with (
        ReasoningBank.open(tmp_path / "there.db", embedder="hash", config="none") as bank,
        Bus.open(bank) as bus,
        pytest.raises(Conflict, match=f"the key here is {known}"),
        running_node(bus, None),
    ):
        raise AssertionError


def test_two_machines_that_share_a_bank_have_one_key_and_one_of_them_the_node(tmp_path, monkeypatch, postgres_url):
    def machine(name):
        monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / name))
        return ReasoningBank.open(postgres_url, embedder="hash", config="none")

    with machine("one") as bank, machine("other") as same, Bus.open(bank) as one, Bus.open(same) as other:
        assert one.folder != other.folder
        known = one.init().fingerprint
        with pytest.raises(Conflict, match="that key is not here"):
            other.init()
        shutil.copytree(one.folder, other.folder)
        assert other.init().fingerprint == known
        with running_node(one, None), pytest.raises(Conflict, match="on another machine"), running_node(other, None):
            raise AssertionError
        with running_node(other, None) as node:
            assert not node.ended.done()


# Other tests have databases of their own in the same server, with the same names in them.
NODE_LOCKS = """FROM pg_locks JOIN pg_database d ON d.oid = database
  WHERE locktype = 'advisory' AND datname = current_database() AND classid = %s"""


@contextmanager
def holder_of_the_node(server: Server) -> Iterator[Callable[[], int]]:
    """Gives the server's process that holds the turn at being the node, 0 if none does."""
    asked = f"SELECT pid {NODE_LOCKS} AND granted AND objid = %s"
    with server.raw() as raw:
        yield lambda: (raw.execute(asked, node_lock()).fetchone() or (0,))[0]


def node_lock() -> tuple[int, int]:
    return TURNS, lock_number(f"shared\0bus-up-{DEFAULT_TENANT}") & 0xFFFFFFFF


def test_a_node_whose_connection_broke_is_the_one_node_again(tmp_path, monkeypatch, postgres, postgres_url):
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "one"))
    with (
        Laptop(postgres_url) as one,
        holder_of_the_node(postgres) as holder,
        postgres.raw("postgres") as admin,
        one.up() as node,
    ):
        before = holder()
        assert before
        admin.execute("SELECT pg_terminate_backend(%s)", (before,))
        until(lambda: holder() not in (0, before), "that it is the node again")
        assert not node.ended.done()
        one.learn("after that")
        until(lambda: one.bus.status().shared == 1, "that it goes on")


def test_a_node_whose_place_another_machine_took_meanwhile_stops_and_says_so(
    tmp_path, monkeypatch, postgres, postgres_url
):
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path / "one"))
    with (
        Laptop(postgres_url) as one,
        holder_of_the_node(postgres) as holder,
        postgres.raw("postgres") as admin,
        postgres.raw() as elsewhere,
        ThreadPoolExecutor(1) as runner,
        ExitStack() as up,
    ):
        node = up.enter_context(one.up())
        before = holder()
        assert before
        lock = (TURNS, lock_number(f"shared\0bus-up-{DEFAULT_TENANT}"))
        waiting = runner.submit(elsewhere.execute, "SELECT pg_advisory_lock(%s::int, %s::int)", lock)
        in_line = f"SELECT count(*) {NODE_LOCKS} AND NOT granted"
        until(lambda: admin.execute(in_line, (TURNS,)).fetchone() == (1,), "that another waits to be the node")
        admin.execute("SELECT pg_terminate_backend(%s)", (before,))
        waiting.result(60)
        until(node.ended.done, "that the node stops")
        until(lambda: "another machine runs its bus" in one.bus.status().trouble, "that the status tells of it")
        with pytest.raises(Conflict, match="another machine runs its bus since: this node stops"):
            up.close()
