"""Workers side by side: how many, who runs alone, and what is left when they are stopped."""

from __future__ import annotations

import threading

import pytest

from reasoningbank.core.errors import BankFull
from reasoningbank.learn import queue
from reasoningbank.learn.process_identity import is_gone, this_process
from reasoningbank.learn.worker_pool import Crew, Shift, beating


def gone() -> str:
    """The name of a process of this machine that is no more."""
    place, _, started = this_process().removesuffix("@").split("/")
    return f"{place}/4194303/{started}@"


def test_this_process_lives_and_others_are_only_gone_for_certain() -> None:
    assert not is_gone(f"{this_process()}1#job")
    assert is_gone(f"{gone()}1#job")
    place, pid, started = this_process().removesuffix("@").split("/")
    assert is_gone(f"{place}/{pid}/{int(started) - 1}@"), "the number was given to another process since"
    for stranger in ("", "host/x@", "elsewhere/1/2@", f"elsewhere/{pid}/{started}@", "?/1/2@", f"{place}/{pid}/?@"):
        assert not is_gone(stranger)


def test_jobs_are_worked_on_side_by_side(bank, end_sessions, a_teacher, a_lesson) -> None:
    end_sessions(bank, 8)
    together = threading.Barrier(4)

    def act(episode):
        together.wait(60)
        return [a_lesson(episode.task)]

    assert bank.distill(Shift(workers=2, batch=2), teachers=[a_teacher(act)]).count("done") == 8


def test_a_job_whose_worker_died_is_run_alone(bank, end_sessions, a_teacher, a_lesson) -> None:
    suspect = end_sessions(bank)[0]
    queue.claim(bank.context, f"{gone()}1", 1)
    end_sessions(bank, 6, task="fresh")
    subject = bank.jobs.get(suspect).job.subject
    lock, running, seen = threading.Lock(), set(), {}

    def act(episode):
        with lock:
            running.add(episode.source)
            seen[episode.source] = len(running)
        with lock:
            alone = set(running)
        running.discard(episode.source)
        assert episode.source != subject or alone == {subject}
        return [a_lesson(episode.task)]

    distilled = bank.distill(Shift(workers=2, batch=5), teachers=[a_teacher(act)])
    assert distilled.count("done") == 7
    assert seen[subject] == 1


def test_what_is_not_done_when_workers_are_stopped_is_given_back_uncounted(bank, end_sessions, a_teacher) -> None:
    end_sessions(bank, 4)
    started, release = threading.Event(), threading.Event()

    def act(episode):
        started.set()
        release.wait(600)
        return []

    crew = bank.jobs.crew(Shift(workers=1, batch=2, watch=True), teachers=[a_teacher(act)])
    assert isinstance(crew, Crew)
    thread = threading.Thread(target=crew.run)
    thread.start()
    assert started.wait(600)
    crew.stop()
    thread.join(600)
    assert not thread.is_alive()
    release.set()
    assert bank.jobs.tally() == {"waiting": 4}
    assert {item.lease.attempts for item in bank.jobs.list()} == {0}


def test_a_bank_that_fails_stops_the_workers_and_no_job_is_blamed(bank, end_sessions, a_teacher) -> None:
    end_sessions(bank, 3)

    def act(episode):
        raise BankFull("the disk is full")

    with pytest.raises(BankFull):
        bank.distill(Shift(workers=1, batch=1), teachers=[a_teacher(act)])
    assert bank.jobs.tally().get("dead") is None


def test_a_long_job_beats_so_that_nobody_takes_it_over(bank, end_sessions, monkeypatch) -> None:
    monkeypatch.setattr(queue, "HEARTBEAT_S", 0.01)
    [job] = end_sessions(bank)
    [claimed] = queue.claim(bank.context, f"{this_process()}1", 1)
    with beating(bank.context, claimed):
        deadline = threading.Event()
        for _ in range(30_000):
            if bank.jobs.get(job).lease.beat > claimed.lease.beat + 2:
                break
            deadline.wait(0.02)
    assert bank.jobs.get(job).lease.beat > claimed.lease.beat + 2
    bank.context.store.write(bank.tenant, lambda w: queue.finish(bank.context, w, claimed, ()))
    assert bank.jobs.get(job).standing == "done"


def test_of_the_jobs_of_dead_workers_the_least_tried_go_first(bank, end_sessions, a_teacher, a_lesson) -> None:
    often, once = end_sessions(bank, 2)
    for job, times in ((often, 3), (once, 1)):
        lease = queue.claim_one(bank.context, gone(), job).lease
        for _ in range(times - 1):
            [claimed] = queue.take_over(bank.context, gone(), lease)
            lease = claimed.lease
    order = []

    def act(episode):
        order.append(episode.task)
        return []

    bank.distill(teachers=[a_teacher(act)])
    assert order == ["task 1", "task 0"]


def test_a_crew_on_watch_tidies_up_once_when_nothing_is_left(bank, end_sessions, a_teacher) -> None:
    end_sessions(bank)
    tidied = []

    def tidy() -> None:
        tidied.append(bank.jobs.tally())
        crew.stop()

    crew = bank.jobs.crew(Shift(watch=True), teachers=[a_teacher()], when_idle=tidy)
    crew.run()
    assert tidied == [{"done": 1}]
