"""Sessions that end are distilled while the server runs: of every tenant, in turns, and never at a caller's cost."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import BankBusy, LLMUnavailable
from reasoningbank.core.learning import Episode
from reasoningbank.learn.worker import Attempt
from reasoningbank.serve.workers import Staffing, Workers
from tests.learn.conftest import Distiller, a_lesson
from tests.server.conftest import Api, new_token, served
from tests.server.test_process import start  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("looks_often")


def until(true: Callable[[], Any], within_s: float = 300.0) -> Any:
    """What `true` gives once it gives something. Between two looks a server is at rest: only then does it tidy up."""
    end = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.02)
    return found


def end_session(api: Api, task: str = "build the client", outcome: str = "success") -> str:
    session = api("POST", "/v1/sessions", {"task": task}).json["id"]
    for action, result in (("make", "error: missing header foo.h"), ("apt install libfoo-dev", "done"), ("make", "ok")):
        assert api("POST", f"/v1/sessions/{session}/steps", {"action": action, "result": result}).status == 201
    assert api("POST", f"/v1/sessions/{session}/end", {"outcome": outcome}).status == 200
    return session


def jobs(api: Api) -> dict[str, int]:
    answer = api("GET", "/v1/status")
    assert answer.status == 200, answer.body
    return answer.json["jobs"]


def test_a_session_that_ends_is_learned_from_without_anybody_asking(api):
    end_session(api)
    until(lambda: jobs(api) == {"done": 1})
    [hit, *_] = api.search("missing header foo.h")["memories"]
    assert "libfoo-dev" in hit["content"]
    # Counted by the crew, a moment after the job is done.
    until(lambda: 'reasoningbank_jobs_total{end="done"} 1' in api("GET", "/metrics").body.decode())
    assert "reasoningbank_jobs_waiting 0" in api("GET", "/metrics").body.decode()


def test_more_tenants_than_crews_are_all_served(bank):
    with served(bank, staffing=Staffing(workers=1, tenants=2)) as api:
        for number in range(5):
            end_session(api.as_(new_token(bank, f"t{number}")))
        until(lambda: bank.context.store.tenants_with_jobs() == [])
    for number in range(5):
        assert bank.for_tenant(f"t{number}").list(namespace="*")


def say_one_thing_twice(bank: ReasoningBank) -> None:
    for number in range(20):
        bank.record(title=f"Note {number}", content=f"shelf {number} holds box {number * 7}")
    bank.record(title="Wrap errors", content="Wrap errors with context, using %w.")
    bank.record(title="Wrap errors", content="Use %w to wrap the errors with context.")


def test_a_server_at_rest_consolidates_when_that_is_due(bank):
    say_one_thing_twice(bank)
    with served(bank, staffing=Staffing(workers=1, consolidates=True)) as api:
        end_session(api)
        until(bank.upkeep.runs)  # not asked of the server, which would not be at rest
        (run,) = api("GET", "/v1/consolidations").json["runs"]
        assert run["counts"]["merged"] == 1
        end_session(api, task="build the server")
        until(lambda: jobs(api) == {"done": 2})
    assert len(bank.upkeep.runs()) == 1


def test_a_crew_whose_last_job_is_done_consolidates_before_it_ends(bank):
    class LooksAtOnce(Workers):
        """Looks for jobs at the very moment at which the last one has ended."""

        def _note(self, attempt: Attempt) -> None:
            super()._note(attempt)
            self._look()

    say_one_thing_twice(bank)
    bank.end_session(bank.start_session("build the client").id, "success")
    staffing = Staffing(workers=1, consolidates=True)
    workers = LooksAtOnce(bank.context.store, lambda _: bank, staffing, make_way=lambda _: None)
    workers._look()
    [turn] = workers._turns.values()
    turn.thread.join(300)
    assert (workers.ends, len(bank.upkeep.runs())) == ({"done": 1}, 1)


def test_a_server_that_was_asked_not_to_leaves_memories_as_they_are(bank):
    say_one_thing_twice(bank)
    with served(bank, staffing=Staffing(workers=1)) as api:
        end_session(api)
        until(lambda: jobs(api) == {"done": 1})
    assert bank.upkeep.runs() == []


def test_nobody_works_where_nobody_was_asked_to(bank):
    with served(bank, staffing=Staffing(workers=0)) as api:
        end_session(api)
        assert api("GET", "/readyz").json == {"status": "ready", "distilling": False}
        assert "reasoningbank_jobs_waiting 1" in api("GET", "/metrics").body.decode()
    assert bank.jobs.tally() == {"waiting": 1}


def test_jobs_for_the_host_wait_for_the_host(path):
    with ReasoningBank.open(path, embedder="hash", namespace="n", distiller="host") as bank, served(bank) as api:
        end_session(api)
        workers = Workers(bank.context.store, lambda _: bank, Staffing(), make_way=lambda _: None)
        workers._look()
        assert workers.crews == 0
        assert bank.jobs.tally() == {"waiting": 1}


def test_a_job_in_hand_is_given_back_when_the_server_ends(path):
    begun, go_on = threading.Event(), threading.Event()

    def slow(episode: Episode) -> list[Any]:
        begun.set()
        assert go_on.wait(300)
        return [a_lesson()]

    with ReasoningBank.open(path, embedder="hash", namespace="n", distiller=Distiller(slow)) as bank:
        with served(bank) as api:
            end_session(api)
            assert begun.wait(300)
        [queued] = bank.jobs.list()
        assert (queued.standing, queued.lease.attempts) == ("waiting", 0), "no attempt is counted for it"
        go_on.set()


def test_a_tenant_whose_model_is_out_of_reach_does_not_keep_the_others_waiting(path):
    def by_tenant(episode: Episode) -> list[Any]:
        if "unlucky" in episode.task:
            raise LLMUnavailable("out of budget")
        return [a_lesson()]

    with ReasoningBank.open(path, embedder="hash", namespace="n", distiller=Distiller(by_tenant)) as bank:
        unlucky, other = bank.for_tenant("a"), bank.for_tenant("b")
        unlucky.end_session(unlucky.start_session("unlucky").id, "success")
        other.end_session(other.start_session("lucky").id, "success")
        with served(bank, staffing=Staffing(workers=1, tenants=1, turn_s=0.0)):
            until(lambda: other.jobs.tally() == {"done": 1})
        assert unlucky.jobs.tally() == {"waiting": 1}


def test_a_crew_that_fails_is_replaced(path):
    """An error of the store ends a crew and keeps its job leased; the next crew goes on with the others."""

    def act(episode: Episode) -> list[Any]:
        if episode.task == "first":
            raise BankBusy("locked by another process")
        return [a_lesson()]

    with ReasoningBank.open(path, embedder="hash", namespace="n", distiller=Distiller(act)) as bank:
        bank.end_session(bank.start_session("first").id, "success")
        with served(bank, staffing=Staffing(workers=1, batch=1)) as api:
            until(lambda: jobs(api) == {"running": 1})
            end_session(api, "second")
            until(lambda: jobs(api) == {"running": 1, "done": 1})


def test_work_makes_way_for_whoever_is_being_served(bank):
    asked = threading.Event()
    bank.end_session(bank.start_session("t").id, "success")
    workers = Workers(bank.context.store, lambda _: bank, Staffing(workers=1), make_way=lambda _: asked.set())
    workers.start()
    until(lambda: bank.jobs.tally() == {"done": 1})
    workers.close()
    assert asked.is_set()
    assert not workers.at_work


def test_a_bank_that_can_only_be_read_is_served_without_workers(path, bank):
    bank.record(title="x", content="y")
    bank.close()
    path.chmod(0o444)
    with ReasoningBank.open(path, embedder="hash", namespace="n") as reading:
        if not reading.context.store.info.read_only:
            pytest.skip("whoever runs this may write everywhere")
        with served(reading) as api:
            assert api("GET", "/readyz").json["distilling"] is False


def test_a_server_killed_at_work_loses_no_job_and_doubles_no_lesson(start, path):  # noqa: F811
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        for number in range(150):
            session = bank.start_session(f"task {number}").id
            bank.add_step(session, f"run tool{number}", f"error: no such option --flag{number}")
            bank.add_step(session, f"run tool{number} --other{number}", "ok")
            bank.end_session(session, "success")
    for least in (0, 30, 60):
        process, api, _ = start("--workers", "2")
        seen = until(lambda api=api, least=least: jobs(api).get("done", 0) > least and jobs(api))
        assert seen["done"] < 150, "there must be something left to lose"
        process.kill()
        process.communicate()
    process, api, _ = start("--workers", "2")
    until(lambda: jobs(api) == {"done": 150})
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    assert process.returncode == 0
    with ReasoningBank.open(path, namespace="n") as bank:
        [learned] = bank.list(tags=["fix"], limit=1000)
        assert len(bank.list(tags=["solved"], limit=1000)) == 150, "and each task how it was solved"
        heard = [
            signal.trajectory_id
            for signal in (point.signal for point in bank.history(learned.id).points)
            if signal is not None
        ]
        assert len(heard) == len({*heard}) == 149, "the first session taught it, each other one confirmed it once"
        assert bank.verify() == []


def test_the_server_says_who_distils(start):  # noqa: F811
    process, _, _ = start("--workers", "3")
    process.send_signal(signal.SIGTERM)
    assert "offline, 3 workers at work while it serves" in process.communicate(timeout=300)[1]
    with pytest.raises(AssertionError, match="--workers must be from 0 to 64"):
        start("--workers", "65")
