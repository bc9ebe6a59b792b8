"""`run` is `Runner.run` with a memory: advice in the instructions, tool calls as steps, errors as failures."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("agents")
from agents import Agent, ModelSettings, RunConfig, RunHooks, function_tool
from agents.run_config import ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call

from reasoningbank.adapters.openai_agents import run, run_streamed

QUIET = RunConfig(tracing_disabled=True)


@function_tool
def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


def an_agent(*steps) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(steps)
    return Agent(name="builder", instructions="You build.", tools=[shell], model=model), model


def test_advice_stands_behind_the_instructions_and_tool_calls_are_steps(bank):
    bank.record(title="Build with foo", description="When building the client", content="apt install libfoo-dev first")
    agent, model = an_agent(
        [function_call("shell", {"command": "make"}, call_id="1")], [assistant_message("It builds.")]
    )
    result = asyncio.run(run(bank, agent, "building the client", succeeded=lambda r: True, run_config=QUIET))
    assert result.final_output == "It builds."
    for call in model.calls:
        assert call.system_instructions.startswith("You build.\n\n")
        assert "libfoo-dev" in call.system_instructions
    [session] = bank.sessions()
    assert (session.task, session.agent, session.outcome) == ("building the client", "builder", "success")
    _, steps = bank.trajectory(session.id)
    assert [(step.action, step.result) for step in steps] == [
        ('shell {"command":"make"}', "ran make"),
        ("answered", "It builds."),
    ]


def test_a_streamed_run_is_followed_to_the_end_of_its_block(bank):
    bank.record(title="Build with foo", description="When building the client", content="apt install libfoo-dev first")

    async def stream(task, *steps, leave_early=False, **options):
        agent, model = an_agent(*steps)
        async with run_streamed(bank, agent, task, run_config=QUIET, **options) as result:
            async for _ in result.stream_events():
                if leave_early:
                    result.cancel()
                    break
        return model

    called = [function_call("shell", {"command": "make"}, call_id="1")]
    model = asyncio.run(stream("building the client", called, [assistant_message("ok")], succeeded=lambda r: True))
    assert all("libfoo-dev" in call.system_instructions for call in model.calls)
    asyncio.run(stream("left early", called, [assistant_message("ok")], leave_early=True, succeeded=lambda r: True))
    with pytest.raises(RuntimeError, match="the model is down"):
        asyncio.run(stream("never answered", RuntimeError("the model is down")))
    ended = {session.task: session for session in bank.sessions()}
    assert {task: session.outcome for task, session in ended.items()} == {
        "building the client": "success",
        "left early": "unknown",
        "never answered": "failure",
    }
    _, steps = bank.trajectory(ended["building the client"].id)
    assert [step.action for step in steps] == ['shell {"command":"make"}', "answered"]


def test_an_answer_that_nobody_judged_is_unknown_and_an_error_a_failure(bank):
    agent, _ = an_agent([assistant_message("done")])
    asyncio.run(run(bank, agent, [{"role": "user", "content": "fix it"}], run_config=QUIET))
    agent, _ = an_agent(RuntimeError("the model is down"))
    with pytest.raises(RuntimeError, match="the model is down"):
        asyncio.run(run(bank, agent, "fix it again", run_config=QUIET))
    assert [(s.task, s.outcome) for s in bank.sessions()] == [("fix it again", "failure"), ("fix it", "unknown")]


def test_hooks_and_filters_of_the_callers_own_keep_working(bank):
    heard = []

    class Own(RunHooks):
        async def on_tool_start(self, context, agent, tool):
            heard.append(tool.name)

        async def on_llm_end(self, context, agent, response):
            heard.append("llm")

    def shorter(data):
        return ModelInputData(input=data.model_data.input[-1:], instructions="mine")

    agent, model = an_agent([function_call("shell", {"command": "ls"}, call_id="1")], [assistant_message("ok")])
    config = RunConfig(tracing_disabled=True, call_model_input_filter=shorter, model_settings=ModelSettings())
    asyncio.run(run(bank, agent, "list", hooks=Own(), run_config=config))
    assert heard == ["llm", "shell", "llm"]
    assert [call.system_instructions for call in model.calls] == ["mine", "mine"]
    assert len(model.calls[-1].input) == 1


def test_runs_at_the_same_time_do_not_mix(bank):
    async def all_of_them():
        async def one(number):
            agent, _ = an_agent(
                [function_call("shell", {"command": f"c{number}"}, call_id="1")], [assistant_message(f"a{number}")]
            )
            await run(bank, agent, f"task {number}", run_config=QUIET)

        await asyncio.gather(*(one(number) for number in range(8)))

    asyncio.run(all_of_them())
    for session in bank.sessions():
        number = session.task.removeprefix("task ")
        _, steps = bank.trajectory(session.id)
        assert [step.result for step in steps] == [f"ran c{number}", f"a{number}"]
