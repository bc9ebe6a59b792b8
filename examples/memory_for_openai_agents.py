"""The OpenAI Agents SDK with a memory: `python examples/memory_for_openai_agents.py`. Offline: its model is scripted.

With a real model only the line that makes it differs: `Agent(name="builder", model="gpt-5", …)`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, RunConfig, function_tool
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from reasoningbank import ReasoningBank
from reasoningbank.adapters.openai_agents import run


@function_tool
def shell(command: str) -> str:
    """Run a command."""
    return {"make": "error: foo.h: No such file or directory"}.get(command, "done")


def first(call: Any) -> list[Any]:
    del call
    return [function_call("shell", {"command": "make"}, call_id="1")]


def last(call: Any) -> list[Any]:
    knows = "libfoo-dev" in (call.system_instructions or "")
    return [assistant_message("I knew it" if knows else "I found out")]


async def main() -> None:
    steps = [
        ModelStep.respond(first),
        [function_call("shell", {"command": "apt install libfoo-dev"}, call_id="2")],
        ModelStep.respond(last),
        ModelStep.respond(last),
    ]
    agent = Agent(name="builder", instructions="You build things.", tools=[shell], model=ScriptedModel(steps))
    config = RunConfig(tracing_disabled=True)
    with ReasoningBank.open(":memory:", embedder="hash") as bank:
        for task in ("build the client", "build the client again"):
            result = await run(bank, agent, task, succeeded=lambda _: True, run_config=config)
            print(result.final_output)
            bank.distill()


if __name__ == "__main__":
    asyncio.run(main())
