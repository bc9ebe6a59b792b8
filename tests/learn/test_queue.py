"""A job is accepted with the end of its session, done once, tried again with patience, and given up in plain sight."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import Conflict, LeaseLost, LLMUnavailable, NotFound
from reasoningbank.core.types import Job, Memory
from reasoningbank.learn import queue
from reasoningbank.learn.lease_monitor import LONGEST_LOOK_S, LeaseMonitor
from reasoningbank.learn.queue import FIRST_WAIT_S, LEASE_S, LONGEST_WAIT_S, MOST_ATTEMPTS, MOST_LOST, waiting_s
from reasoningbank.learn.worker_pool import Shift

ONE = Shift(workers=1, batch=1)


@pytest.fixture
def bank(path: Path, clock):
    with ReasoningBank.open(path, embedder="hash", namespace="n", clock=clock) as opened:
        yield opened


def desk_of(bank: ReasoningBank):
    return bank.context


def memories(bank: ReasoningBank) -> list[Memory]:
    with desk_of(bank).store.read(bank.tenant) as reader:
        return reader.select(Memory, {})


def test_the_end_of_a_session_and_its_job_are_one_change(bank, end_sessions) -> None:
    [job] = end_sessions(bank)
    assert bank.jobs.get(job).standing == "waiting"
    session = bank.start_session("doomed")
    with pytest.raises(NotFound):
        bank.end_session(session.id, "success", used=["mem_nobody"])
    assert bank.trajectory(session.id)[0].ended_at is None
    assert [item.job.id for item in bank.jobs.list()] == [job]


def test_working_off_keeps_what_was_learned_with_its_source(bank, end_sessions, teacher) -> None:
    jobs = end_sessions(bank, 3)
    distilled = bank.distill(teachers=[teacher])
    assert distilled.count("done") == 3
    assert distilled.waiting == 0
    assert len(distilled.memories) == len(memories(bank)) == 3
    for job in jobs:
        item = bank.jobs.get(job)
        memory = bank.get(item.job.results[0]).memory
        assert (item.standing, memory.source, memory.origin) == ("done", item.job.subject, "agent")
        assert memory.initial_confidence == 0.7
        assert memory.metadata["job"] == job
    assert bank.distill(teachers=[teacher]).attempts == ()


def test_distilled_memories_list_by_time_like_all_others(bank, end_sessions, teacher, clock) -> None:
    before = bank.record(title="before", content="x").id
    clock.forward(seconds=1)
    end_sessions(bank)
    clock.forward(seconds=1)
    after = bank.record(title="after", content="x").id
    [distilled] = bank.distill(teachers=[teacher]).memories
    assert [memory.id for memory in bank.list()] == [after, distilled, before]


def test_a_lesson_of_a_failure_starts_lower_and_an_unjudged_one_lowest(bank, end_sessions, a_teacher, a_lesson) -> None:
    end_sessions(bank, outcome="failure")
    end_sessions(bank, outcome="unknown", task="quiet")
    bank.distill(teachers=[a_teacher(lambda e: [a_lesson(f"avoid {e.task}", outcome="failure")])])
    assert sorted(memory.initial_confidence for memory in memories(bank)) == [0.5, 0.6]


def test_the_same_lesson_again_is_evidence_and_not_a_second_memory(bank, end_sessions, a_teacher, a_lesson) -> None:
    end_sessions(bank, 3)
    teacher = a_teacher(lambda _: [a_lesson("the same words")])
    distilled = bank.distill(ONE, teachers=[teacher])
    [memory] = memories(bank)
    assert distilled.memories == (memory.id,)
    history = bank.history(memory.id)
    assert [signal.weight for signal in (point.signal for point in history.points) if signal] == [0.5, 0.5]
    assert all(signal.trajectory_id for signal in (point.signal for point in history.points) if signal)
    assert history.remembered.confidence.mean > 0.7


def test_what_was_shown_in_a_session_is_a_parent_of_what_it_taught(bank, teacher) -> None:
    shown = bank.record(title="fix the build", content="fix the build with make", origin="import:web")
    with bank.session(task="fix the build") as run:
        run.search(floor=0.0)
        run.finish("success")
    [learned] = bank.distill(teachers=[teacher]).memories
    assert bank.get(learned).memory.parents == (shown.id,)


def test_somebody_elses_memory_under_the_same_key_is_never_revised(bank, end_sessions, a_teacher, a_lesson) -> None:
    mine = bank.store("build", "my own words")
    end_sessions(bank)
    bank.distill(teachers=[a_teacher(lambda _: [a_lesson("other words", key="build")])])
    assert bank.get("build").id == mine.id
    assert bank.get(mine.id).content == "my own words"
    assert len(memories(bank)) == 2


# ---------------------------------------------------------------- failing


def failing(_: object):
    raise ValueError("boom")


def test_a_failing_job_waits_longer_each_time_and_is_given_up_after_five_attempts(
    bank, end_sessions, a_teacher, clock
) -> None:
    [job] = end_sessions(bank)
    teacher = a_teacher(failing)
    for attempt in range(1, MOST_ATTEMPTS + 1):
        ends = [a.end for a in bank.distill(teachers=[teacher]).attempts]
        assert ends == ["dead" if attempt == MOST_ATTEMPTS else "failed"]
        assert bank.distill(teachers=[teacher]).attempts == (), "it must wait"
        clock.forward(seconds=FIRST_WAIT_S * 2.0 ** (attempt - 1) + 1)
    item = bank.jobs.get(job)
    assert (item.standing, item.job.attempts, item.job.error) == ("dead", 5, "ValueError: boom")
    assert len(teacher.distiller.seen) == 5
    assert [dead.job.id for dead in bank.jobs.list(state="dead")] == [job]


def test_a_dead_job_can_be_replayed(bank, end_sessions, a_teacher, teacher, clock) -> None:
    [job] = end_sessions(bank)
    for _ in range(MOST_ATTEMPTS):
        bank.distill(teachers=[a_teacher(failing)])
        clock.forward(seconds=LONGEST_WAIT_S)
    assert bank.jobs.retry(job).standing == "waiting"
    assert bank.distill(teachers=[teacher]).count("done") == 1
    assert bank.jobs.get(job).job.attempts == 1
    with pytest.raises(Conflict, match="done"):
        bank.jobs.retry(job)


def test_a_poisoned_job_does_not_keep_the_others_back(bank, end_sessions, a_teacher, a_lesson) -> None:
    end_sessions(bank, 5)

    def act(episode):
        if episode.task == "task 2":
            raise ValueError("poison")
        return [a_lesson(episode.task)]

    distilled = bank.distill(ONE, teachers=[a_teacher(act)])
    assert (distilled.count("done"), distilled.count("failed"), distilled.waiting) == (4, 1, 1)


@pytest.mark.parametrize("act", [lambda _: 1 / 0, lambda _: exit(3), lambda _: [None]], ids=["bug", "exit", "nonsense"])
def test_a_distiller_that_misbehaves_costs_an_attempt_and_nothing_else(bank, end_sessions, a_teacher, act) -> None:
    end_sessions(bank)
    assert [a.end for a in bank.distill(teachers=[a_teacher(act)]).attempts] == ["failed"]
    assert memories(bank) == []


def test_lessons_beyond_their_limits_are_refused_whoever_made_them(bank, end_sessions, a_teacher, a_lesson) -> None:
    for lessons in ([a_lesson(title="t" * 51)], [a_lesson(f"c{n}", title=f"t{n}") for n in range(4)], [a_lesson()] * 2):
        end_sessions(bank)
        [attempt] = bank.distill(teachers=[a_teacher(lambda _, made=lessons: made)]).attempts
        assert attempt.end == "failed"
        bank.jobs.discard(attempt.job_id)
    assert memories(bank) == []


def test_discarded_is_discarded_even_while_somebody_is_at_it(bank, end_sessions, teacher) -> None:
    [job] = end_sessions(bank)
    [claimed] = queue.claim(desk_of(bank), "elsewhere", 1)
    assert bank.jobs.discard(job).standing == "discarded"
    with pytest.raises(LeaseLost):
        desk_of(bank).store.write(bank.tenant, lambda w: queue.finish(desk_of(bank), w, claimed, ()))
    assert bank.distill(teachers=[teacher]).attempts == ()


def test_an_erased_session_has_nothing_to_teach(bank, end_sessions, teacher) -> None:
    [job] = end_sessions(bank)
    subject = bank.jobs.get(job).job.subject
    from reasoningbank.core.types import Trajectory

    desk_of(bank).store.write(bank.tenant, lambda w: w.remove(Trajectory, subject))
    assert bank.distill(teachers=[teacher]).count("done") == 1
    assert memories(bank) == []


# ---------------------------------------------------------------- outages


def test_an_outage_costs_no_attempt_however_long_it_lasts(bank, end_sessions, a_teacher, teacher, clock) -> None:
    def down(_: object):
        raise LLMUnavailable("down")

    end_sessions(bank, 3)
    for _ in range(20):
        assert bank.distill(teachers=[a_teacher(down)]).count("done") == 0
        clock.forward(seconds=LONGEST_WAIT_S)
    assert {item.lease.attempts for item in bank.jobs.list()} == {0}
    assert all("down" in item.lease.error for item in bank.jobs.list())
    assert bank.distill(teachers=[teacher]).count("done") == 3


def test_in_an_outage_the_first_refusals_are_enough(bank, end_sessions, a_teacher) -> None:
    def down(_: object):
        raise LLMUnavailable("down")

    end_sessions(bank, 30)
    teacher = a_teacher(down)
    distilled = bank.distill(Shift(workers=1, batch=2), teachers=[teacher])
    assert distilled.waiting == 30
    assert len(teacher.distiller.seen) <= 4, "each of them would have asked in vain"


def test_a_second_teacher_takes_over_when_the_first_cannot_be_reached(bank, end_sessions, a_teacher, teacher) -> None:
    def down(_: object):
        raise LLMUnavailable("down")

    end_sessions(bank, 2)
    distilled = bank.distill(teachers=[a_teacher(down), teacher])
    assert distilled.count("done") == 2
    assert len(memories(bank)) == 2


# ---------------------------------------------------------------- leases


def test_a_claim_is_held_until_its_owner_is_gone(bank, end_sessions, teacher) -> None:
    [job] = end_sessions(bank)
    queue.claim(desk_of(bank), "elsewhere/1/1@1", 10)
    assert bank.jobs.get(job).standing == "running"
    assert bank.distill(teachers=[teacher]).attempts == ()


def test_the_answer_of_a_worker_that_lost_its_lease_is_dropped_whole(bank, end_sessions, a_teacher, a_lesson) -> None:
    [job] = end_sessions(bank)
    context = desk_of(bank)

    def stolen(episode):
        [held] = [lease for lease in _leases(bank) if lease.owner]
        queue.take_over(context, "thief", held)
        return [a_lesson("too late")]

    assert [a.end for a in bank.distill(teachers=[a_teacher(stolen)]).attempts] == ["lost"]
    assert memories(bank) == []
    assert (bank.jobs.get(job).lease.attempts, bank.jobs.get(job).lease.lost) == (1, 1)


def _leases(bank):
    with desk_of(bank).store.read(bank.tenant) as reader:
        return reader.leases()


def test_the_job_of_a_process_that_died_is_taken_over_at_once(
    bank, end_sessions, teacher, child, finished, path
) -> None:
    end_sessions(bank)
    dead = child(
        "import sys; from reasoningbank.wiring import ReasoningBank; from reasoningbank.learn import process_identity, queue\n"
        "bank = ReasoningBank.open(sys.argv[1], embedder='hash', namespace='n', clock=lambda: 2e9)\n"
        "print(len(queue.claim(bank.context, process_identity.this_process() + '1', 9)))",
        path,
    )
    assert finished(dead) == "1\n"
    distilled = bank.distill(teachers=[teacher])
    assert distilled.count("done") == 1
    assert bank.jobs.list()[0].job.attempts == 1, "nothing says that the death was the job's fault"


def kill_worker(bank) -> list[queue.Claimed]:
    """The worker that holds the only job dies, and another one takes it over."""
    [held] = _leases(bank)
    return queue.take_over(desk_of(bank), "w", held)


def test_a_session_is_learned_from_however_often_its_server_was_killed_meanwhile(bank, end_sessions, teacher) -> None:
    end_sessions(bank)
    queue.claim(desk_of(bank), "w", 1)
    for _ in range(2 * MOST_ATTEMPTS):
        [claimed] = kill_worker(bank)
    queue.put_off(desk_of(bank), claimed, "stopped", 0.0)
    assert bank.distill(teachers=[teacher]).count("done") == 1


def test_a_job_that_kills_each_of_its_workers_is_buried_in_the_end(bank, end_sessions) -> None:
    [job] = end_sessions(bank)
    queue.claim(desk_of(bank), "w", 1)
    for _ in range(MOST_LOST - 1):
        assert kill_worker(bank)
    assert kill_worker(bank) == []
    item = bank.jobs.get(job)
    assert item.standing == "dead"
    assert "died" in item.job.error


@pytest.mark.parametrize("jump_s", [3_600.0, -3_600.0, 10 * 365 * 86_400.0, -10 * 365 * 86_400.0])
def test_no_jump_of_the_clock_steals_a_job_or_leaves_one_stuck(
    bank, end_sessions, a_teacher, teacher, clock, jump_s
) -> None:
    held, failed, free = end_sessions(bank, 3)
    queue.claim_one(desk_of(bank), "elsewhere/1/1@", held)
    queue.fail(desk_of(bank), queue.claim_one(desk_of(bank), "w", failed), "x", Random(1))
    clock.forward(seconds=jump_s)
    done = {a.job_id for a in bank.distill(teachers=[teacher]).attempts}
    assert held not in done, "stolen"
    assert free in done, "stuck"
    clock.forward(seconds=LONGEST_WAIT_S + 1)
    done |= {a.job_id for a in bank.distill(teachers=[teacher]).attempts}
    assert failed in done, "stuck"
    assert bank.jobs.get(held).standing == "running"


class Watchmaker:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def looks_until_stale(bank, watchmaker: Watchmaker, step_s, beat=lambda look: None, most: int = 200) -> int | None:
    watch = LeaseMonitor(watchmaker)
    for look in range(most):
        if watch.stale(_leases(bank), lambda _: False):
            return look
        beat(look)
        watchmaker.now += step_s(look)
    return None


def test_a_lease_without_a_beat_is_stale_after_its_time(bank, end_sessions) -> None:
    end_sessions(bank)
    queue.claim(desk_of(bank), "elsewhere/1/1@1", 1)
    assert looks_until_stale(bank, Watchmaker(), lambda _: 1.0) == LEASE_S


def test_a_lease_with_a_beat_is_never_stale(bank, end_sessions) -> None:
    end_sessions(bank)
    queue.claim(desk_of(bank), "elsewhere/1/1@1", 1)

    def beat(look: int) -> None:
        if look % 15 == 0:
            assert queue.renew(desk_of(bank), _leases(bank))

    assert looks_until_stale(bank, Watchmaker(), lambda _: 1.0, beat) is None


@pytest.mark.parametrize("jump_s", [3_600.0, -3_600.0, 3.2e8, -3.2e8])
def test_a_watch_that_jumps_neither_steals_nor_waits_for_ever(bank, end_sessions, jump_s) -> None:
    end_sessions(bank)
    queue.claim(desk_of(bank), "elsewhere/1/1@1", 1)
    looks = looks_until_stale(bank, Watchmaker(), lambda look: jump_s if look == 3 else 1.0)
    assert looks is not None
    assert LEASE_S - LONGEST_LOOK_S <= looks <= LEASE_S + 2


def test_waits_double_to_a_cap_and_differ() -> None:
    rng = Random(7)
    for attempts in range(1, 40):
        longest = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** (attempts - 1))
        waits = {waiting_s(attempts, rng) for _ in range(20)}
        assert len(waits) > 10
        assert all(longest / 2 <= wait <= longest for wait in waits)


def test_tenants_do_not_see_each_others_jobs(path, end_sessions, teacher, bank) -> None:
    end_sessions(bank)
    with ReasoningBank.open(path, embedder="hash", namespace="n", tenant="other") as other:
        assert other.jobs.list() == []
        assert other.jobs.tally() == {}
        assert other.distill(teachers=[teacher]).attempts == ()
        with pytest.raises(NotFound):
            other.jobs.get(bank.jobs.list()[0].job.id)
        with pytest.raises(NotFound):
            other.jobs.discard(bank.jobs.list()[0].job.id)
    assert bank.jobs.tally() == {"waiting": 1}


def test_jobs_survive_a_backup_and_are_checked_by_verify(bank, end_sessions, tmp_path) -> None:
    end_sessions(bank, 2)
    bank.backup(tmp_path / "copy.db")
    with ReasoningBank.open(tmp_path / "copy.db", namespace="n") as copy:
        assert copy.jobs.tally() == {"waiting": 2}
        assert copy.verify() == []
    with desk_of(bank).store.read(bank.tenant) as reader:
        assert reader.count(Job, {}) == 2
