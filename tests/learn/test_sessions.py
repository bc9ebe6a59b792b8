"""A session notes what was shown and credits it when the task ends, once, and only for what is known."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import Conflict, InvalidInput, NotFound
from reasoningbank.learn.credit import SHOWN_BESIDE
from reasoningbank.store.record_store import RecordStore

TASK = "configure the retry policy of the http client"


@pytest.fixture
def lessons(bank: ReasoningBank) -> list[str]:
    return [
        bank.record(title=f"lesson {n}", content=f"configure the retry policy, way {n}", initial_confidence=0.5).id
        for n in range(3)
    ]


def test_those_named_as_used_are_credited_in_full_and_bystanders_a_little(
    bank: ReasoningBank, lessons: list[str]
) -> None:
    with bank.session(task=TASK) as run:
        assert {hit.id for hit in run.search(floor=0.0)} == set(lessons)
        run.step(action="edit", result="ok")
        run.step(action="test")
        ended = run.finish(outcome="success", used=[lessons[0]])
    assert ended.steps == 2
    assert {s.memory_id: (s.weight, s.used, s.positive) for s in ended.signals} == {
        lessons[0]: (1.0, True, True),
        lessons[1]: (SHOWN_BESIDE, False, True),
        lessons[2]: (SHOWN_BESIDE, False, True),
    }
    used, bystander = bank.get(lessons[0]), bank.get(lessons[1])
    assert used.confidence.mean > bystander.confidence.mean > 0.5
    assert (used.usage_count, bystander.usage_count) == (1, 0)
    assert (used.shown, bystander.shown) == (1, 1)
    trajectory, steps = bank.trajectory(run.id)
    assert (trajectory.outcome, trajectory.task) == ("success", TASK)
    assert [(s.number, s.action, s.result) for s in steps] == [(1, "edit", "ok"), (2, "test", "")]


def test_a_failed_session_lowers_what_was_shown(bank: ReasoningBank, lessons: list[str]) -> None:
    with bank.session(task=TASK) as run:
        run.search(floor=0.0)
        run.finish("failure")
    assert all(bank.get(lesson).confidence.mean < 0.5 for lesson in lessons)


def test_a_block_that_raises_ends_as_a_failure_and_the_error_comes_through(
    bank: ReasoningBank, lessons: list[str]
) -> None:
    with pytest.raises(ZeroDivisionError), bank.session(task=TASK) as run:  # noqa: PT012 - the block is the subject
        run.search(floor=0.0)
        raise ZeroDivisionError
    assert bank.trajectory(run.id)[0].outcome == "failure"
    assert all(bank.get(lesson).confidence.mean < 0.5 for lesson in lessons)


def test_an_error_in_the_block_is_not_hidden_by_a_session_that_somebody_else_ended(bank: ReasoningBank) -> None:
    with pytest.raises(ZeroDivisionError), bank.session(task=TASK) as run:  # noqa: PT012 - the block is the subject
        bank.end_session(run.id, "success")
        raise ZeroDivisionError
    assert bank.trajectory(run.id)[0].outcome == "success"


def test_a_block_that_says_nothing_ends_as_unknown_and_credits_nobody(bank: ReasoningBank, lessons: list[str]) -> None:
    with bank.session(task=TASK) as run:
        run.search(floor=0.0)
    assert bank.trajectory(run.id)[0].outcome == "unknown"
    assert bank.status().signals == 0
    assert all(bank.get(lesson).confidence.mean == pytest.approx(0.5) for lesson in lessons)


def test_a_session_ends_once(bank: ReasoningBank, lessons: list[str]) -> None:
    with bank.session(task=TASK) as run:
        run.search(floor=0.0)
        run.finish("success")
        for again in (
            lambda: run.finish("success"),
            lambda: bank.end_session(run.id, "failure"),
            lambda: run.step("too late"),
        ):
            with pytest.raises(Conflict, match="ended already"):
                again()
    assert bank.status().signals == 3
    assert bank.trajectory(run.id)[0].outcome == "success"


def test_a_session_works_across_processes_of_the_same_bank(path: Path, bank: ReasoningBank, lessons: list[str]) -> None:
    trajectory = bank.start_session(TASK, agent="coder", metadata={"a": 1})
    with ReasoningBank.open(path, namespace="n") as second:
        second.search(TASK, floor=0.0, session=trajectory.id)
        second.add_step(trajectory.id, "from the second")
    with ReasoningBank.open(path, namespace="n") as third:
        ended = third.end_session(trajectory.id, "success", used=[lessons[2]])
    assert {s.memory_id for s in ended.signals} == set(lessons)
    assert ended.steps == 1


def test_used_memories_need_not_have_been_shown_and_may_be_named_by_key(bank: ReasoningBank) -> None:
    kept = bank.store("k", "v")
    with bank.session(task=TASK) as run:
        assert [s.memory_id for s in run.finish("success", used=["k", kept.id]).signals] == [kept.id]


def test_a_wrong_name_among_the_used_ends_nothing(bank: ReasoningBank, lessons: list[str]) -> None:
    trajectory = bank.start_session(TASK)
    with pytest.raises(NotFound):
        bank.end_session(trajectory.id, "success", used=[lessons[0], "mem_none"])
    assert bank.trajectory(trajectory.id)[0].ended_at is None
    assert bank.status().signals == 0
    with pytest.raises(InvalidInput):
        bank.end_session(trajectory.id, "splendid")


def test_what_was_erased_or_forgotten_meanwhile_gets_no_credit(bank: ReasoningBank, lessons: list[str]) -> None:
    with bank.session(task=TASK) as run:
        run.search(floor=0.0)
        bank.erase(lessons[0])
        bank.forget(lessons[1])
        assert [s.memory_id for s in run.finish("success").signals] == [lessons[2]]


def test_what_a_thread_is_writing_down_at_the_end_of_a_session_is_credited_too(
    bank: ReasoningBank, lessons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = threading.Event(), threading.Event()
    write = RecordStore.log_shown

    def write_slowly(store: Any, exposures: Any) -> None:
        if exposures and not begun.is_set():
            begun.set()
            may_end.wait(60)
        write(store, exposures)

    monkeypatch.setattr(RecordStore, "log_shown", write_slowly)
    with bank.session(task=TASK) as run:
        run.search(floor=0.0)
        assert begun.wait(60)
        threading.Timer(0.2, may_end.set).start()
        assert {s.memory_id for s in run.finish("success").signals} == set(lessons)


def test_a_session_searches_in_its_own_namespace(bank: ReasoningBank) -> None:
    there = bank.record(title="there", content=TASK, namespace="m")
    with bank.session(task=TASK, namespace="m") as run:
        assert [hit.id for hit in run.search()] == [there.id]


def test_an_unknown_session_is_not_found(bank: ReasoningBank) -> None:
    for verb in (bank.trajectory, lambda i: bank.add_step(i, "a"), lambda i: bank.end_session(i, "success")):
        with pytest.raises(NotFound):
            verb("trj_none")
