"""Several tries at one task: bounded, cancellable, robust against runs that fail, and learned from as one."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput, LLMUnavailable
from reasoningbank.core.learning import Acted, Episode, EpisodeStep, Verdict, VerdictOutcome
from reasoningbank.learn.contrast import difference
from reasoningbank.learn.matts import parallel
from reasoningbank.llm.scripted import ScriptedLLM

SCHEMA = EpisodeStep(action="DESCRIBE singer", result="singer_id, name, country", ok=True)


def acted(answer: str, reward: float | None = None, *steps: EpisodeStep) -> Acted:
    return Acted(answer=answer, reward=reward, steps=(*steps, SCHEMA))


@pytest.fixture
def numbered():
    """An agent that gives its n-th call the n-th answer."""

    def make(*answers: object):
        lock, left = threading.Lock(), list(answers)

        def agent(task: str, advice: str) -> Acted:
            with lock:
                answer = left.pop(0)
            if isinstance(answer, BaseException):
                raise answer
            return answer  # type: ignore[return-value]

        return agent

    return make


def test_the_best_of_k_answers_counts_and_all_runs_are_one_lesson(bank, numbered) -> None:
    asked = EpisodeStep(action="SELECT name FROM singer", result="Joe", ok=True)
    guessed = EpisodeStep(action="SELECT nam FROM singer", result="Error: no such column: nam", ok=False)
    agent = numbered(acted("bad", 0.0, guessed), acted("good", 1.0, asked), acted("worse", 0.0, guessed))
    scaled = bank.scale(agent, "name all singers", k=3)
    assert scaled.answer == "good"
    assert sorted(run.verdict.outcome for run in scaled.runs) == ["failure", "failure", "success"]
    assert len({run.session for run in scaled.runs}) == 3
    job = bank.jobs.get(scaled.job_id)
    assert (job.job.kind, job.standing) == ("contrast", "done")
    assert set(job.job.metadata["trajectories"]) == {run.session for run in scaled.runs}
    assert scaled.learned == job.job.results
    contents = [bank.get(memory).content for memory in scaled.learned]
    assert (
        "Runs that succeeded all did: SELECT name FROM singer; Answer: good. Runs that failed did instead: SELECT nam FROM singer."
    ) in contents
    assert bank.jobs.tally() == {"done": 1}, "the runs are not distilled one by one as well"
    assert {bank.trajectory(run.session)[0].outcome for run in scaled.runs} == {"success", "failure"}


def test_all_runs_get_the_same_advice_and_it_is_charged_to_each(bank) -> None:
    known = bank.record(title="name all singers", content="name all singers by asking the table singer")
    advices = []

    def agent(task: str, advice: str) -> str:
        advices.append(advice)
        return "x"

    bank.scale(agent, "name all singers", k=3)
    assert len(set(advices)) == 1
    assert known.title in advices[0]
    assert bank.get(known.id).shown == 3


def test_a_run_that_fails_does_not_stop_the_others(bank, numbered) -> None:
    scaled = bank.scale(numbered(ValueError("boom"), acted("fine", 1.0), KeyboardInterrupt()), "t", k=3, at_once=1)
    assert scaled.answer == "fine"
    assert [run.error for run in scaled.runs] == ["ValueError: boom", "", "KeyboardInterrupt"]
    assert bank.trajectory(scaled.runs[0].session)[0].outcome == "unknown"
    assert len(bank.jobs.get(scaled.job_id).job.metadata["trajectories"]) == 1


def test_when_every_run_fails_there_is_no_answer_and_no_error(bank, numbered) -> None:
    scaled = bank.scale(numbered(ValueError("a"), ValueError("b")), "t", k=2)
    assert (scaled.answer, scaled.best, scaled.learned, scaled.job_id) == (None, None, (), None)


def test_no_more_run_at_once_than_allowed(bank) -> None:
    lock, running, most = threading.Lock(), 0, 0
    gate = threading.Barrier(2)

    def agent(task: str, advice: str) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(600)
        with lock:
            running -= 1
        return "x"

    bank.scale(agent, "t", k=6, at_once=2)
    assert most == 2


def test_coroutines_are_agents_too_even_inside_a_running_loop(bank) -> None:
    async def agent(task: str, advice: str) -> Acted:
        await asyncio.sleep(0)
        return acted("async", 1.0)

    assert bank.scale(agent, "t", k=2).answer == "async"

    async def outer() -> str | None:
        return bank.scale(agent, "t", k=2).answer

    assert asyncio.run(outer()) == "async"


def test_called_off_runs_end_and_finished_ones_count(bank) -> None:
    cancel, cancelled = threading.Event(), threading.Event()
    calls = iter(range(10))

    async def agent(task: str, advice: str) -> Acted:
        if next(calls) == 0:
            return acted("first", 1.0)
        cancel.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return acted("never", 1.0)

    scaled = bank.scale(agent, "t", k=4, at_once=1, cancel=cancel)
    assert scaled.answer == "first"
    assert [run.error for run in scaled.runs] == ["", *["It was called off."] * 3]
    assert cancelled.wait(600)


def test_a_run_that_takes_too_long_is_left_behind(bank) -> None:
    release = threading.Event()
    calls = iter(range(10))

    def agent(task: str, advice: str) -> Acted:
        if next(calls) == 0:
            release.wait(600)
        return acted("quick", 1.0)

    scaled = bank.scale(agent, "t", k=2, timeout_s=5)
    release.set()
    assert scaled.answer == "quick"
    assert [run.error for run in scaled.runs] == ["It took longer than 5 s.", ""]


def test_without_verdicts_the_run_with_fewer_errors_counts(bank, numbered) -> None:
    broken = EpisodeStep(action="SELECT nam FROM singer", result="Error: no such column", ok=False)
    agent = numbered(acted("stumbled", None, broken, broken), acted("straight"))
    assert bank.scale(agent, "t", k=2, at_once=1).answer == "straight"


def test_a_model_may_choose_among_the_best_and_nonsense_leaves_it_to_the_rules(bank, numbered) -> None:
    for line, answer in (("Best: 2\nReason: more complete.", "b"), ("The second!", "a"), ("Best: 9\nReason: x", "a"),
                         (LLMUnavailable("down"), "a")):  # fmt: skip
        agent = numbered(acted("a", 1.0), acted("b", 1.0), acted("c", 0.0))
        scaled = parallel(bank, agent, "t", k=3, at_once=1, choose_by=ScriptedLLM([line]))
        assert scaled.answer == answer


@pytest.mark.parametrize("k", [0, -1, 33, True, 2.0, "3"])
def test_senseless_numbers_of_runs_are_refused(bank, k) -> None:
    with pytest.raises(InvalidInput, match="k must be"):
        bank.scale(lambda task, advice: "x", "t", k=k)


def test_runs_that_ended_alike_show_no_difference() -> None:
    won = Verdict(outcome=VerdictOutcome.SUCCESS)
    lost = Verdict(outcome=VerdictOutcome.FAILURE)
    run = Episode(task="t", namespace="n", steps=(SCHEMA,))
    assert difference([(run, won), (run, won)]) is None
    assert difference([(run, won), (run, lost)]) is None
    assert difference([(run, Verdict(outcome=VerdictOutcome.UNKNOWN)), (run, lost)]) is None


def refund(order: str, name: str, *, looked_up: bool, answer: str) -> Episode:
    look = EpisodeStep(
        action=f'get_order({{"order_id": "{order}"}})', result=f'{{"order_id": "{order}", "name": "{name}"}}'
    )
    done = EpisodeStep(action=f'refund({{"order_id": "{order}", "reason": "late"}})', result="ok")
    steps = (*((look,) if looked_up else ()), done, EpisodeStep(action=f"Answer: {answer}"))
    return Episode(task=f"You are {name}. Refund order {order}, it came late.", namespace="n", steps=steps)


def test_runs_are_compared_by_what_was_done_and_not_for_whom() -> None:
    won, lost = Verdict(outcome=VerdictOutcome.SUCCESS), Verdict(outcome=VerdictOutcome.FAILURE)
    found = difference([
        (refund("#W1001", "Ada Birk", looked_up=True, answer="refunded"), won),
        (refund("#W2002", "Nils Roth", looked_up=True, answer="refunded"), won),
        (refund("#W1001", "Ada Birk", looked_up=False, answer="transferred"), lost),
    ])  # fmt: skip
    assert found is not None
    assert 'get_order({"order_id": "{order_id}"})' in found.content
    assert "Answer: refunded" in found.content
    assert "Answer: transferred" in found.content
    assert "refund(order_id" not in found.content
    for private in ("Ada", "Birk", "Nils", "Roth", "1001", "2002"):
        assert private not in f"{found.title} {found.description} {found.content}"


# ---------------------------------------------------------------- sequential


def test_the_best_round_counts_and_not_the_last(bank, numbered) -> None:
    rounds = (acted("right", 1.0), acted("worse", 0.0), acted("worst", 0.0))
    scaled = bank.scale(numbered(*rounds), "t", how="sequential", k=3)
    assert scaled.answer == "right"
    assert scaled.best.verdict.outcome == "success"
    assert bank.trajectory(scaled.best.session)[1][-1].action == "Answer: right, of round 1"


def test_of_rounds_that_nobody_can_tell_apart_the_last_counts(bank, numbered) -> None:
    scaled = bank.scale(numbered("draft", "better", "final"), "t", how="sequential", k=3)
    assert scaled.answer == "final"


def test_each_round_sees_the_answer_of_the_one_before(bank) -> None:
    asked = []

    def agent(task: str, advice: str) -> Acted:
        asked.append(task)
        return acted(f"answer {len(asked)}", 1.0 if len(asked) == 3 else 0.0)

    scaled = bank.scale(agent, "count the singers", how="sequential", k=3)
    assert scaled.answer == "answer 3"
    assert asked[0] == "count the singers"
    assert "answer 1" in asked[1]
    assert "answer 2" in asked[2]
    assert scaled.best.verdict.outcome == "success"
    steps = bank.trajectory(scaled.best.session)[1]
    assert [step.action for step in steps if step.action.startswith("Answer")] == [
        "Answer of round 1: answer 1",
        "Answer of round 2: answer 2",
        "Answer of round 3: answer 3",
    ]
    assert bank.jobs.get(scaled.job_id).standing == "done"


def test_a_refinement_that_fails_keeps_what_was_there(bank, numbered) -> None:
    scaled = bank.scale(numbered(acted("first", 1.0), ValueError("boom")), "t", how="sequential", k=3)
    assert (scaled.answer, scaled.best.error) == ("first", "ValueError: boom")


def test_a_first_round_that_fails_gives_no_answer(bank, numbered) -> None:
    scaled = bank.scale(numbered(ValueError("boom")), "t", how="sequential", k=3)
    assert (scaled.answer, scaled.runs[0].error) == (None, "ValueError: boom")


def test_rounds_can_be_called_off(bank) -> None:
    cancel = threading.Event()

    def agent(task: str, advice: str) -> str:
        cancel.set()
        return "only"

    scaled = bank.scale(agent, "t", how="sequential", k=3, cancel=cancel)
    assert scaled.runs[0].error == "It was called off."


def test_an_outage_leaves_the_contrast_queued(path: Path, numbered) -> None:
    down = ScriptedLLM([LLMUnavailable("down")], forever=True)
    with ReasoningBank.open(path, embedder="hash", namespace="n", llm=down) as bank:
        scaled = bank.scale(numbered(acted("a", 1.0), acted("b", 0.0)), "t", k=2)
        assert (scaled.answer, scaled.learned) == ("a", ())
        assert bank.jobs.get(scaled.job_id).standing == "waiting"
        assert bank.jobs.get(scaled.job_id).lease.attempts == 0
