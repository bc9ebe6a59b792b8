"""How many round trips a search costs whose index is in a server, and how many statements of the records."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.ports import IndexPlugin
from reasoningbank.store.sqlite.store import SqliteEngine
from reasoningbank.store.sqlite.transaction import SqliteTransaction
from reasoningbank.wiring.indexes import INDEXES
from tests.contract.plain_index import PlainBuilds, PlainVectors, PlainWords

ASKED = {
    PlainWords: ("search", "frequencies", "counts", "count", "position"),
    PlainVectors: ("search", "fetch", "position"),
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    monkeypatch.setitem(INDEXES, "plain", IndexPlugin(builds=PlainBuilds))
    made: Counter[str] = Counter()

    def counted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **named: Any) -> Any:
            # What was shown is written down by a thread, after the answer.
            made[name] += threading.current_thread() is threading.main_thread()
            return call(*arguments, **named)

        return wrapper

    for half, names in ASKED.items():
        for name in names:
            label = f"{half.__name__.removeprefix('Plain').lower()}.{name}"
            found = getattr(half, name)
            is_asked = isinstance(found, property)
            wrapped = counted(label, found.fget if is_asked and found.fget else found)
            monkeypatch.setattr(half, name, property(wrapped) if is_asked else wrapped)
    for engine, name in ((SqliteTransaction, "scan"), (SqliteTransaction, "scan_each"), (SqliteEngine, "scan")):
        monkeypatch.setattr(engine, name, counted("statements", getattr(engine, name)))
    return made


def teach(bank: ReasoningBank) -> None:
    for word in ("harbour", "orchard", "violin", "bakery", "stairs"):
        bank.record(title=f"The {word}", content=f"A long walk to the {word} on a rainy morning.")


def calls_of_a_search(bank: ReasoningBank, calls: Counter[str]) -> dict[str, int]:
    assert bank.search("a walk to the harbour").memories
    calls.clear()
    assert bank.search("a walk to the harbour").memories
    return dict(calls)


ONCE = {"words.frequencies": 1, "vectors.search": 1, "words.search": 1, "words.counts": 1}


def test_a_search_asks_an_engine_four_times_and_the_records_as_often(tmp_path: Path, calls: Counter[str]) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", index="plain", embedder="hash", namespace="n") as bank:
        teach(bank)
        assert calls_of_a_search(bank, calls) == {**ONCE, "statements": 4}


def test_past_tasks_are_asked_for_in_as_many_once_there_are_any(tmp_path: Path, calls: Counter[str]) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", index="plain", embedder="hash", namespace="n") as bank:
        teach(bank)
        bank.end_session(bank.start_session("walk to the harbour").id, "success", distil=False)
        twice = dict.fromkeys(ONCE, 2)
        assert calls_of_a_search(bank, calls) == {**twice, "statements": 11}


def test_a_bank_that_was_just_opened_asks_each_half_once_where_it_is(tmp_path: Path, calls: Counter[str]) -> None:
    def opened() -> ReasoningBank:
        return ReasoningBank.open(tmp_path / "bank.db", index="plain", embedder="hash", namespace="n")

    with opened() as bank:
        teach(bank)
        assert bank.catch_up()
    with opened() as bank:
        calls.clear()
        assert bank.search("a walk to the harbour").memories
        assert (calls["words.position"], calls["vectors.position"]) == (1, 1)
