"""Lists come newest first by time, also when ids tell no time; and ids need not be typed in full."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import Outcome
from tests.conftest import Clock

DAY_S = 86_400.0


def test_what_an_import_brings_is_listed_by_its_own_time(tmp_path: Path, path: Path, clock: Clock) -> None:
    lines = [
        {"title": f"lesson {day}", "content": f"do as on day {day}", "created_at": clock.now - day * DAY_S}
        for day in (3, 9, 1, 5)
    ]
    (tmp_path / "lessons.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank:
        bank.import_from(tmp_path / "lessons.jsonl")
        clock.forward(seconds=1)
        bank.record(title="of today", content="x")
        assert [item.title for item in bank.list(state=None)] == [
            "of today",
            "lesson 1",
            "lesson 3",
            "lesson 5",
            "lesson 9",
        ]


def test_sessions_that_were_taken_over_are_listed_by_when_they_began(path: Path, clock: Clock) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank:
        for day in reversed(range(6)):
            clock.forward(days=1)
            done = (EpisodeStep(action="ls"),)
            bank.keep(
                Episode(task=f"day {day}", namespace="n", steps=done, source=f"log:{day}", outcome=Outcome.SUCCESS)
            )
        assert [session.task for session in bank.sessions()] == [f"day {day}" for day in range(6)]
        first = bank.sessions(limit=2)
        assert [s.task for s in bank.sessions(limit=2, before=position_of(first[-1]))] == ["day 2", "day 3"]


def test_an_edit_moves_nothing_from_one_page_to_another(path: Path, clock: Clock) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as bank:
        for number in range(4):
            clock.forward(seconds=1)
            bank.store(f"k{number}", "v")
        first = bank.list(limit=2)
        bank.edit("k0", content="anew")
        rest = bank.list(limit=2, before=first[-1].id)
        assert [item.memory.key for item in (*first, *rest)] == ["k3", "k2", "k1", "k0"]


def test_a_page_of_any_list_is_read_from_an_index_and_not_sorted(path: Path, bank: ReasoningBank) -> None:
    bank.record(title="a", content="b")
    asked = {
        "memories": "SELECT * FROM memories WHERE tenant = 't' AND namespace = 'n' AND state = 'active' "
        "AND (created_at, id) < (5.0, 'x') ORDER BY created_at DESC, id DESC LIMIT 5",
        "memories_of_all": "SELECT id FROM memories WHERE tenant = 't' AND state = 'active' "
        "AND (created_at, id) < (5.0, 'x') ORDER BY created_at DESC, id DESC LIMIT 5",
        "trajectories": "SELECT * FROM trajectories WHERE tenant = 't' AND namespace = 'n' "
        "AND (started_at, id) < (5.0, 'x') ORDER BY started_at DESC, id DESC LIMIT 5",
        "signals": "SELECT * FROM signals WHERE tenant = 't' ORDER BY at DESC, id DESC LIMIT 5",
        "jobs": "SELECT * FROM jobs WHERE tenant = 't' ORDER BY created_at DESC, id DESC LIMIT 5",
    }
    with sqlite3.connect(path) as raw:
        for table, sql in asked.items():
            plan = " ".join(str(row[3]) for row in raw.execute(f"EXPLAIN QUERY PLAN {sql}"))
            assert f"{table}_by_moment" in plan
            assert "TEMP B-TREE" not in plan
    raw.close()


def test_a_piece_of_an_id_stands_for_it_wherever_an_id_is_asked(bank: ReasoningBank) -> None:
    made = bank.record(title="Wrap errors", content="use %w")
    other = bank.record(title="Retry", content="twice")
    for piece in (made.id[-8:], f"…{made.id[-6:].lower()}", made.id[:-1]):
        assert bank.get(piece).id == made.id
    bank.feedback(made.id[-8:], helpful=True)
    edge = bank.link(made.id[-8:], other.id[-8:], "requires")
    assert [near.memory.id for near in bank.neighbours(other.id[-7:])] == [made.id]
    assert bank.unlink(edge.id[-8:]).id == edge.id
    assert bank.forget(made.id[-8:]).id == made.id
    assert bank.restore(made.id[-8:]).id == made.id
    session = bank.start_session("wrap them")
    assert bank.add_step(session.id[-8:], "edit", "ok").trajectory_id == session.id
    ended = bank.end_session(session.id[-8:], "success", used=[made.id[-8:]])
    assert (ended.steps, ended.signals[0].memory_id) == (1, made.id)
    assert ended.job_id is not None
    assert bank.jobs.discard(ended.job_id[-8:]).job.id == ended.job_id


def test_a_piece_that_fits_several_ids_is_answered_by_naming_them(bank: ReasoningBank) -> None:
    made = [bank.record(title=f"lesson {number}", content="x") for number in range(2)]
    shared = made[0].id[:9]
    with pytest.raises(InvalidInput, match="fits several ids") as refused:
        bank.get(shared)
    assert all(f"{item.id} ({item.title})" in str(refused.value) for item in made)
    with pytest.raises(NotFound):
        bank.get("ZZZZZZ")


def test_a_key_goes_before_a_piece_of_an_id(bank: ReasoningBank) -> None:
    made = bank.record(title="one", content="x")
    keyed = bank.store(made.id[-8:], "the key of another")
    assert bank.get(made.id[-8:]).id == keyed.id
