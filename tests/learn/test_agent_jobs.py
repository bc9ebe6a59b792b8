"""A job in the hands of an agent: handed out once, answered in the same form, and not lost when the agent never answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from reasoningbank import Episode, EpisodeStep, ReasoningBank
from reasoningbank.core.errors import Conflict, NotFound
from reasoningbank.learn import queue
from reasoningbank.learn.agent_jobs import InvalidAnswer
from reasoningbank.learn.lease_monitor import HOST_LEASE_S
from reasoningbank.learn.prompting import prompt

GOOD = """## Memory 1
**Title**: Install the -dev package
**Description**: When a build cannot find a library's headers
**Content**: Install libfoo-dev, then run make again.
**Tags**: build
**Outcome**: success"""


@pytest.fixture
def bank(path: Path, clock):
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock, distiller="host") as opened:
        yield opened


def test_the_agent_gets_the_task_the_record_and_the_prompt_and_its_answer_is_kept(bank, end_sessions) -> None:
    [job] = end_sessions(bank)
    handed = bank.jobs.next()
    assert (handed.job.id, handed.task, handed.verdict.outcome) == (job, "task 0", "success")
    assert handed.prompt == prompt("success").text
    assert "apt install libfoo-dev" in handed.record
    assert bank.jobs.next() is None, "it is leased"
    [memory] = bank.jobs.answer(job, GOOD)
    kept = bank.get(memory).memory
    assert (kept.title, kept.source, kept.initial_confidence) == ("Install the -dev package", handed.job.subject, 0.7)
    assert kept.metadata["distiller"] == "host"
    assert kept.metadata["prompt"].startswith("success/")
    assert bank.jobs.get(job).standing == "done"
    with pytest.raises(Conflict, match="done"):
        bank.jobs.answer(job, GOOD)


def test_nothing_to_learn_ends_the_job(bank, end_sessions) -> None:
    [job] = end_sessions(bank)
    bank.jobs.next()
    assert bank.jobs.answer(job, "NO_EXTRACTIONS") == ()
    assert bank.jobs.get(job).standing == "done"


def test_a_bad_answer_says_what_is_wrong_and_may_be_mended_until_the_attempts_are_gone(bank, end_sessions) -> None:
    [job] = end_sessions(bank)
    bank.jobs.next()
    for left in (4, 3, 2, 1, 0):
        with pytest.raises(InvalidAnswer, match="no memory with a title") as caught:
            bank.jobs.answer(job, "I learned a lot!")
        assert caught.value.attempts_left == left
    assert bank.jobs.get(job).standing == "dead"
    assert bank.list() == []


def test_a_named_job_can_be_asked_for_and_a_free_one_answered_straight_away(bank, end_sessions) -> None:
    first, second = end_sessions(bank, 2)
    assert bank.jobs.next(second).job.id == second
    assert len(bank.jobs.answer(first, GOOD)) == 1
    with pytest.raises(NotFound):
        bank.jobs.next("job_nobody")


def test_a_job_that_a_worker_has_takes_no_answer(bank, end_sessions) -> None:
    [job] = end_sessions(bank)
    queue.claim(bank.context, "elsewhere/1/1@1", 1)
    with pytest.raises(Conflict, match="worker"):
        bank.jobs.answer(job, GOOD)
    with pytest.raises(Conflict, match="running"):
        bank.jobs.next(job)


@pytest.mark.parametrize("jump_s", [HOST_LEASE_S + 1, -HOST_LEASE_S - 1])
def test_a_job_that_is_never_answered_is_handed_out_again_and_the_late_answer_is_refused_once_it_is_done(
    bank, end_sessions, clock, jump_s
) -> None:
    [job] = end_sessions(bank)
    bank.jobs.next()
    clock.forward(seconds=jump_s)
    assert bank.jobs.next().job.id == job
    bank.jobs.answer(job, GOOD)
    with pytest.raises(Conflict):
        bank.jobs.answer(job, GOOD)
    assert len(bank.list()) == 1


def test_nobody_works_jobs_off_that_are_left_to_the_host(bank, end_sessions) -> None:
    end_sessions(bank, 2)
    distilled = bank.distill()
    assert (distilled.attempts, distilled.waiting) == ((), 2)


def test_an_erased_session_is_passed_over(bank, end_sessions) -> None:
    from reasoningbank.core.types import Trajectory

    first, second = end_sessions(bank, 2)
    subject = bank.jobs.get(first).job.subject
    bank.context.store.write(bank.tenant, lambda w: w.remove(Trajectory, subject))
    assert bank.jobs.next().job.id == second
    assert bank.jobs.get(first).standing == "done"


def test_a_rule_of_the_user_is_kept_when_the_job_is_handed_out_and_takes_no_place_from_the_answer(bank) -> None:
    said = ({"role": "user", "content": "Build it. From now on always run the linter before you commit."},)
    step = EpisodeStep(action="make", result="built with libfoo-dev")
    kept = bank.keep(Episode(task="Build it", namespace="n", steps=(step,), messages=said, outcome="success"))
    bank.jobs.next()
    assert [memory.content for memory in bank.list()] == ["From now on always run the linter before you commit."]
    answered = bank.jobs.answer(kept.job_id, GOOD)
    assert len(answered) == 2
    assert {memory.id for memory in bank.list()} == set(answered)
