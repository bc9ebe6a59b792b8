"""A bank has one key and one node, wherever it lies and however many machines serve it."""

from __future__ import annotations

import shutil

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.bus import Bus
from reasoningbank.bus.service import running_node
from reasoningbank.core.errors import Conflict
from tests.bus.laptops import Laptop


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
