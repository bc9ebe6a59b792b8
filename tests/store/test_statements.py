"""How many statements a verb costs: over a network each of them is a round trip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from reasoningbank import ReasoningBank

OF_THE_TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA", "SELECT value FROM settings WHERE name = ? AND value")
"""The last asks whether the bank is closed."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What SQLite is asked, without what begins, stamps and ends transactions."""
    seen: list[str] = []

    def note(event: dict[str, Any]) -> None:
        if not event["sql"].startswith(OF_THE_TRANSACTION) and "stamp" not in event["sql"]:
            seen.append(event["sql"])

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, note)

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, watch])
    return seen


def test_the_end_of_a_session_is_a_dozen_statements_whatever_was_shown(path: Path, asked: list[str]) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        made = [bank.record(title=f"Install package {n}", content=f"Use the frozen lockfile {n}.") for n in range(20)]
        session = bank.start_session("install the packages with the frozen lockfile")
        shown = bank.search("install the packages with the frozen lockfile", session=session.id, limit=10).memories
        bank.add_step(session.id, "npm ci", "ok")
        del asked[:]
        ended = bank.end_session(session.id, "success", used=[made[0].id, made[1].id])
        assert len(ended.signals) >= len(shown) > 2
        assert ended.steps == 1
        assert len(asked) <= 12, "\n".join(asked)


def test_neighbours_are_four_statements_whatever_the_number_of_edges(path: Path, asked: list[str]) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        made = [bank.record(title=f"Step {n}", content=f"Do {n}.") for n in range(21)]
        for number, memory in enumerate(made[1:]):
            ends = (made[0].id, memory.id) if number % 2 else (memory.id, made[0].id)
            bank.link(*ends, "requires")
        del asked[:]
        assert len(bank.neighbours(made[0].id)) == 20
        # The memory, what was revoked, its edges, their other ends.
        assert len(asked) <= 4, "\n".join(asked)


def test_an_erasure_costs_no_more_for_many_edges_and_signals_than_for_two(path: Path, asked: list[str]) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        made = [bank.record(title=f"Step {n}", content=f"Do {n}.") for n in range(23)]
        few, many = made[0], made[1]
        for memory in made[2:]:
            bank.link(many.id, memory.id, "requires")
            bank.feedback(many.id, helpful=True)
        bank.link(few.id, made[2].id, "requires")
        bank.feedback(few.id, helpful=True)
        counts = []
        for memory in (few, many):
            del asked[:]
            bank.context.store.write("local", lambda writer, one=memory: writer.remove(type(one.memory), one.id))
            counts.append(len(asked))
        assert counts[0] == counts[1]


def test_a_search_asks_nothing_about_links_where_there_are_none_and_little_where_there_are_many(
    path: Path, asked: list[str]
) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        made = [bank.record(title=f"Step {n}", content=f"Do the step {n}.") for n in range(40)]

        def statements(links: str) -> int:
            bank.catch_up()
            bank.search("do the step", links=links, noted=False)
            del asked[:]
            bank.search("do the step", links=links, noted=False)
            return len(asked)

        without = statements("off")
        assert statements("required") == statements("named") == without
        for memory in made[1:]:
            bank.link(made[0].id, memory.id, "relates", weight=0.9)
        assert statements("off") == without
        assert statements("named") <= without + 5, "\n".join(asked)
