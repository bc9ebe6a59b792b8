"""`@remember`: a function that learns from its own calls, and is never hindered by its memory."""

from __future__ import annotations

import asyncio

import pytest

from reasoningbank.bank.remember import current_task, remember
from reasoningbank.core.errors import InvalidInput


def outcomes(bank) -> list[str]:
    return [session.outcome for session in bank.sessions()]


def test_a_call_is_a_task_and_its_return_a_success(bank):
    @remember(bank)
    def solve(task):
        return f"did {task}"

    assert solve("build the client") == "did build the client"
    [session] = bank.sessions()
    assert (session.task, session.outcome, session.agent) == (
        "build the client",
        "success",
        "test_a_call_is_a_task_and_its_return_a_success.<locals>.solve",
    )
    assert bank.jobs.tally() == {"waiting": 1}, "it will be learned from"


def test_what_was_learned_comes_in_as_advice(bank):
    bank.record(title="Build with foo", description="When building the client", content="apt install libfoo-dev first")
    given = []

    @remember(bank)
    def solve(task, advice=""):
        given.append(advice)

    solve("building the client")
    solve("building the client", advice="my own")
    assert "libfoo-dev" in given[0]
    assert given[1] == "my own"
    assert solve.__name__ == "solve"


def test_an_exception_is_a_failure_and_passes_through(bank):
    @remember(bank)
    def solve(task):
        raise ValueError("no such header")

    with pytest.raises(ValueError, match="no such header"):
        solve("t")
    [session] = bank.sessions()
    assert session.outcome == "failure"
    _, steps = bank.trajectory(session.id)
    assert steps[-1].result == "ValueError: no such header"


def test_the_caller_says_what_success_is(bank):
    @remember(bank, succeeded=lambda answer: answer)
    def solve(task, answer):
        return answer

    for said in (True, False, None, "unknown"):
        solve("t", said)
    assert outcomes(bank) == ["unknown", "unknown", "failure", "success"]


def test_coroutines_alike_and_many_at_once(bank):
    seen = {}

    @remember(bank, task=lambda number: f"task {number}")
    async def solve(number):
        await asyncio.sleep(0)
        current_task().step(f"looked at {number}", "fine")
        seen[number] = current_task().task
        if number == 3:
            raise RuntimeError("three")
        return number

    async def all_of_them():
        return await asyncio.gather(*(solve(number) for number in range(5)), return_exceptions=True)

    results = asyncio.run(all_of_them())
    assert [type(result) for result in results] == [int, int, int, RuntimeError, int]
    assert seen == {number: f"task {number}" for number in range(5)}
    assert sorted(outcomes(bank)) == ["failure", *["success"] * 4]
    assert current_task() is None


def test_a_cancelled_coroutine_is_a_failure(bank):
    begun = []

    @remember(bank)
    async def solve(task):
        begun[0].set()
        await asyncio.Event().wait()

    async def cancelled(task, *, begin):
        begun[:] = [asyncio.Event()]
        running = asyncio.create_task(solve(task))
        await (begun[0].wait() if begin else asyncio.sleep(0))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled("t", begin=True))
    assert outcomes(bank) == ["failure"]
    asyncio.run(cancelled("t", begin=False))
    assert outcomes(bank) == ["unknown", "failure"], "called off before it began"


def test_a_bank_that_fails_is_no_hindrance(bank, caplog):
    @remember(bank)
    def solve(task, advice=""):
        return f"{task}{advice}"

    bank.close()
    assert solve("t") == "t"
    assert "goes on without its memory" in caplog.text


def test_nothing_to_say_begins_no_session(bank):
    @remember(bank)
    def solve(task=""):
        return 1

    assert solve() == 1
    assert bank.sessions() == []


def test_a_generator_is_refused(bank):
    with pytest.raises(InvalidInput, match="generator"):

        @remember(bank)
        def solve(task):
            yield 1
