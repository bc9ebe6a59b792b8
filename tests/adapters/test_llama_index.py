"""A bank beside LlamaIndex's agents: advice as a block of the memory, runs as sessions."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("llama_index.core")
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, MessageRole
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import Memory

from reasoningbank.adapters.llama_index import BankBlock, run

# Warnings of the library about itself are not ours to mend.
pytestmark = pytest.mark.filterwarnings("default")

LESSON = {
    "title": "Build with foo",
    "description": "When building the client",
    "content": "apt install libfoo-dev first",
}


class Scripted(FunctionCallingLLM):
    """Gives the replies it was told to, in order, and keeps what it was asked."""

    replies: list
    asked: list

    @property
    def metadata(self):
        return LLMMetadata(is_function_calling_model=True)

    async def astream_chat_with_tools(self, tools, user_msg=None, chat_history=None, **options):
        self.asked.append(list(chat_history or []))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        text, calls = (reply, []) if isinstance(reply, str) else ("", [reply])
        message = ChatMessage(role=MessageRole.ASSISTANT, content=text, additional_kwargs={"calls": calls})

        async def made():
            yield ChatResponse(message=message, delta=text)

        return made()

    async def achat_with_tools(self, tools, user_msg=None, chat_history=None, **options):
        return await anext(await self.astream_chat_with_tools(tools, user_msg, chat_history))

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **options):
        return [
            ToolSelection(tool_id=name, tool_name=name, tool_kwargs=arguments)
            for name, arguments in response.message.additional_kwargs.get("calls", [])
        ]

    def _prepare_chat_with_tools(self, *arguments, **options):
        raise AssertionError("not asked for")

    def chat(self, *arguments, **options):
        raise AssertionError("not asked for")

    def complete(self, *arguments, **options):
        raise AssertionError("not asked for")

    stream_chat = stream_complete = chat

    async def achat(self, *arguments, **options):
        raise AssertionError("not asked for")

    acomplete = astream_chat = astream_complete = achat


def shell(command: str) -> str:
    """Run a command."""
    if command == "boom":
        raise ValueError("no such program")
    return f"ran {command}"


def an_agent(*replies):
    model = Scripted(replies=list(replies), asked=[])
    return FunctionAgent(name="builder", tools=[shell], llm=model, system_prompt="You build."), model


def test_advice_reaches_the_model_as_a_block_of_the_memory(bank):
    bank.record(**LESSON)

    async def ask(task):
        agent, model = an_agent("It builds.")
        memory = Memory.from_defaults(session_id=task, memory_blocks=[BankBlock(bank=bank)])
        await agent.run(task, memory=memory)
        return str(model.asked[0])

    assert "libfoo-dev" in asyncio.run(ask("building the client"))
    assert "earlier" not in asyncio.run(ask("what is the capital of Norway"))


def test_a_run_is_a_session_with_its_tool_calls_as_steps(bank):
    bank.record(**LESSON)
    agent, model = an_agent(("shell", {"command": "boom"}), ("shell", {"command": "make"}), "It builds.")

    async def ask():
        return await run(bank, agent, "building the client", succeeded=lambda result: "builds" in str(result))

    assert str(asyncio.run(ask())) == "It builds."
    assert "libfoo-dev" in str(model.asked[0])
    [session] = bank.sessions()
    assert (session.task, session.agent, session.outcome) == ("building the client", "builder", "success")
    _, steps = bank.trajectory(session.id)
    assert [(step.action, step.metadata.get("ok")) for step in steps] == [
        ('shell {"command": "boom"}', False),
        ('shell {"command": "make"}', None),
        ("answered", None),
    ]
    assert "no such program" in steps[0].result


def test_an_error_is_a_failure_and_passes_through(bank):
    agent, _ = an_agent(RuntimeError("the model is down"))

    async def ask():
        await run(bank, agent, "fix it")

    with pytest.raises(Exception, match="the model is down"):
        asyncio.run(ask())
    assert [session.outcome for session in bank.sessions()] == ["failure"]


def test_a_bank_that_is_gone_stops_no_agent(bank, caplog):
    bank.close()
    agent, _ = an_agent("It builds.")

    async def ask():
        memory = Memory.from_defaults(session_id="x", memory_blocks=[BankBlock(bank=bank)])
        return await run(bank, agent, "building the client", memory=memory)

    assert str(asyncio.run(ask())) == "It builds."
    assert "without its memory" in caplog.text
