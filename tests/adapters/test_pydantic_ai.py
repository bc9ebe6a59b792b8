"""The capability: advice with the instructions, tool calls as steps, a copy for each run."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("pydantic_ai")
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from reasoningbank.adapters.pydantic_ai import BankMemory


def test_advice_stands_with_the_instructions_and_tool_calls_are_steps(bank):
    bank.record(title="Build with foo", description="When building the client", content="apt install libfoo-dev first")
    model = TestModel(custom_output_text="It builds.")
    memory = BankMemory(bank, succeeded=lambda result: result.output == "It builds.", agent="builder")
    agent = Agent(model, instructions="You build.", capabilities=[memory])

    @agent.tool_plain
    def shell(command: str) -> str:
        return f"ran {command}"

    assert asyncio.run(agent.run("building the client")).output == "It builds."
    told = model.last_model_request_parameters
    assert told is not None
    [session] = bank.sessions()
    assert (session.task, session.agent, session.outcome) == ("building the client", "builder", "success")
    _, steps = bank.trajectory(session.id)
    assert [(step.action, step.result) for step in steps] == [
        ('shell {"command": "a"}', "ran a"),
        ("answered", "It builds."),
    ]


def test_the_model_reads_the_advice(bank):
    bank.record(title="Build with foo", description="When building the client", content="apt install libfoo-dev first")
    read = []

    def model(messages, info):
        read.append(info.instructions)
        return ModelResponse(parts=[TextPart("ok")])

    agent = Agent(FunctionModel(model), instructions="You build.", capabilities=[BankMemory(bank)])
    asyncio.run(agent.run("building the client"))
    asyncio.run(agent.run("a poem about the sea, in French"))
    assert read[0].startswith("You build.")
    assert "libfoo-dev" in read[0]
    assert "libfoo-dev" not in read[1]
    assert [session.outcome for session in bank.sessions()] == ["unknown", "unknown"]


def test_a_tool_that_fails_and_a_run_that_fails_are_told(bank):
    def model(messages, info):
        done = sum(isinstance(message, ModelResponse) for message in messages)
        if done < 2:
            return ModelResponse(parts=[ToolCallPart("shell", {"command": "make"})])
        raise RuntimeError("the model is down")

    agent = Agent(FunctionModel(model), capabilities=[BankMemory(bank)])
    tries = []

    @agent.tool_plain(retries=3)
    def shell(command: str) -> str:
        tries.append(command)
        if len(tries) == 1:
            raise ModelRetry("missing header")
        return "ok"

    with pytest.raises(RuntimeError, match="the model is down"):
        asyncio.run(agent.run("build"))
    [session] = bank.sessions()
    _, steps = bank.trajectory(session.id)
    assert session.outcome == "failure"
    assert "missing header" in steps[0].result
    assert steps[0].metadata == {"ok": False}
    assert steps[1].result == "ok"
    assert steps[-1].result == "RuntimeError: the model is down"


def test_runs_at_the_same_time_do_not_mix(bank):
    agent = Agent(TestModel(), capabilities=[BankMemory(bank)])

    async def all_of_them():
        await asyncio.gather(*(agent.run(f"task {number}") for number in range(8)))

    asyncio.run(all_of_them())
    assert sorted(session.task for session in bank.sessions()) == [f"task {number}" for number in range(8)]
