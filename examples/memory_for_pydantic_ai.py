"""Pydantic AI with a memory: `python examples/memory_for_pydantic_ai.py`. Offline: its model is a function.

With a real model only the first argument of `Agent` differs.
"""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from reasoningbank import ReasoningBank
from reasoningbank.adapters.pydantic_ai import BankMemory

PLAN = ("make", "apt install libfoo-dev")


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if "libfoo-dev" in (info.instructions or ""):
        return ModelResponse(parts=[TextPart("I knew it")])
    done = sum(isinstance(message, ModelResponse) for message in messages)
    if done < len(PLAN):
        return ModelResponse(parts=[ToolCallPart("shell", {"command": PLAN[done]})])
    assert isinstance(messages[-1], ModelRequest)
    return ModelResponse(parts=[TextPart("I found out")])


def main() -> None:
    with ReasoningBank.open(":memory:", embedder="hash") as bank:
        agent = Agent(FunctionModel(model), capabilities=[BankMemory(bank, succeeded=lambda _: True)])

        @agent.tool_plain
        def shell(command: str) -> str:
            """Run a command."""
            return {"make": "error: foo.h: No such file or directory"}.get(command, "done")

        for task in ("build the client", "build the client again"):
            print(agent.run_sync(task).output)
            bank.distill()


if __name__ == "__main__":
    main()
