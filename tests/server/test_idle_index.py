"""A server that has nothing to do brings the index up to date, so that nobody's first search pays for a bulk write."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankFull
from reasoningbank.recall import current
from reasoningbank.serve.idle_index import EXAMINE_EVERY_S, LONGEST_WRITING_S, WORTH_OPENING_FOR, IdleIndexer
from reasoningbank.serve.mcp.caller import LOCAL
from reasoningbank.serve.mcp.tools import call
from tests.server.conftest import new_token, served
from tests.server.test_workers import until

MANY = 200
pytestmark = pytest.mark.usefixtures("looks_often")


def store_many(bank: ReasoningBank, count: int = MANY) -> None:
    bank.record_many({"title": f"Note {n}", "content": f"shelf {n} holds box {n * 7}"} for n in range(count))


def idle(bank: ReasoningBank, monotonic=lambda: 0.0) -> IdleIndexer:
    return IdleIndexer(bank, make_way=lambda _: None, monotonic=monotonic)


def test_what_is_written_in_bulk_is_indexed_before_anybody_asks(bank, tmp_path):
    store_many(bank)
    lines = "".join(f"{line.rstrip()}\n" for line in bank.export_lines())
    with ReasoningBank.open(tmp_path / "other.db", embedder="hash", namespace="n") as other, served(other) as api:
        assert api("POST", "/v1/import", lines.encode(), content_type="application/x-ndjson").status == 200
        until(lambda: other.index_lag() == 0)
        assert "reasoningbank_index_owed 0" in api("GET", "/metrics").body.decode()
        assert api.search("shelf 199 holds box 1393")["not_yet_indexed"] == 0


def test_a_server_indexes_what_another_process_has_written(bank, path):
    with served(bank), ReasoningBank.open(path, namespace="n") as other:
        store_many(other)
        until(lambda: other.index_lag() == 0)


def test_a_server_that_ends_in_the_middle_leaves_an_index_that_goes_on(path):
    with ReasoningBank.open(path, embedder="local", namespace="n") as bank:
        store_many(bank)
        with served(bank):
            until(lambda: bank.index_lag() < MANY)
        assert not any(thread.name == "reasoningbank-index" for thread in threading.enumerate())
        assert bank.catch_up()
        assert bank.index_lag() == 0


def test_damage_that_nobody_came_across_is_mended_in_an_idle_hour(bank, path):
    now = 0.0
    indexer = idle(bank, lambda: now)
    store_many(bank, 20)
    assert bank.catch_up()
    (entries,) = Path(f"{path}.index").rglob("entries")
    with entries.open("rb+") as file:
        file.seek(40)
        byte = file.read(1)[0]
        file.seek(40)
        file.write(bytes([byte ^ 4]))
    indexer.examine_if_time()
    assert bank.verify(), "not before an hour has passed"
    now = EXAMINE_EVERY_S
    indexer.examine_if_time()
    assert bank.catch_up()
    assert bank.verify() == []


def test_somebody_who_is_writing_is_waited_for_and_not_for_ever(bank):
    now = 0.0
    indexer = idle(bank, lambda: now)
    for _ in range(2):
        store_many(bank)
        assert not indexer.is_due(), "it was written to since the last look"
    assert indexer.is_due()
    store_many(bank)
    assert not indexer.is_due()
    now = LONGEST_WRITING_S
    store_many(bank)
    assert indexer.is_due()


def test_no_index_and_model_are_loaded_for_a_few(path):
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        indexer = idle(bank)
        store_many(bank, WORTH_OPENING_FOR - 1)
        assert not indexer.is_due()
        assert not indexer.is_due()
        assert not bank.has_open_index
        bank.search("shelf")
        store_many(bank, 1)
        assert not indexer.is_due()
        assert indexer.is_due(), "where both are loaded already, it costs nothing"


def test_a_bank_that_cannot_be_written_is_left_alone(path: Path):
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        store_many(bank, 2)
        bank.search("shelf")
        store_many(bank)
    with ReasoningBank.open(path, namespace="n", read_only=True) as bank:
        indexer = idle(bank)
        indexer.start()
        assert not any(thread.name == "reasoningbank-index" for thread in threading.enumerate())
        indexer.close()
        found = bank.search("shelf 199 holds box 1393")
        assert found.not_yet_indexed == MANY


def test_a_full_disk_makes_it_wait_and_try_again(bank, monkeypatch, caplog):
    monkeypatch.setattr("reasoningbank.serve.idle_index.LOOK_S", 0.01)
    monkeypatch.setattr("reasoningbank.serve.idle_index.FIRST_PAUSE_S", 0.01)
    store_many(bank)
    tried = threading.Event()
    catch_up, full = bank.catch_up, iter([BankFull("no room")] * 2)

    def failing(**options):
        if (error := next(full, None)) is not None:
            raise error
        tried.set()
        return catch_up(**options)

    monkeypatch.setattr(bank, "catch_up", failing)
    indexer = idle(bank)
    indexer.start()
    assert tried.wait(300)
    until(lambda: bank.index_lag() == 0)
    indexer.close()
    assert "no room" in caplog.text


def test_an_answer_that_was_out_of_time_says_what_is_owed_in_every_door(bank, monkeypatch):
    monkeypatch.setattr(current, "CATCH_UP_BUDGET_S", 0.0)
    monkeypatch.setattr("reasoningbank.serve.idle_index.LOOK_S", 3600.0)
    store_many(bank)
    bank.record(title="zanzibar", content="Check the tuples of the namespace before the cache is asked.")
    with served(bank) as api:
        found = api.search("zanzibar tuples", limit=1)
        assert found["not_yet_indexed"] > 0
        assert [hit["title"] for hit in found["memories"]] == ["zanzibar"]
        stranger = api.as_(new_token(bank, "other")).search("zanzibar tuples")
        assert stranger["not_yet_indexed"] == 1, "how much the others have stored is not told"
    reply = call("memory_search", {"query": "zanzibar tuples", "limit": 1}, bank, LOCAL)
    assert reply.values["not_yet_indexed"] > 0
    assert [hit["title"] for hit in reply.values["memories"]] == ["zanzibar"]
