"""LlamaIndex: `Memory.from_defaults(memory_blocks=[BankBlock(bank=bank)])`, and `await run(bank, agent, "task")`.

The block puts the advice for the last thing that was asked among the memory blocks. `run` is `agent.run`, followed:
tool calls become steps, the end credits what was shown. Whether an answer was right only the caller knows: `succeeded`
says it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.task_tracker import AsideOnError, as_text, aside, attempt_aside, follow, following_from
from reasoningbank.core.errors import MissingExtra

try:
    from llama_index.core.agent.workflow import ToolCallResult
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.memory import BaseMemoryBlock
except ImportError as error:
    raise MissingExtra(package="llama-index-core", extra="llama-index", purpose="The adapter for LlamaIndex") from error


class BankBlock(BaseMemoryBlock[str]):
    """Advice as a block of a chat's memory. What the chat lets go of is not kept by it: sessions are, by `run`."""

    name: str = "advice_from_earlier_tasks"
    description: str | None = "What earlier tasks taught, with how sure it is."
    bank: Any
    namespace: str | None = None
    max_tokens: int = 500

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        del block_kwargs
        queries = [message.content or "" for message in messages or () if message.role == MessageRole.USER]
        if not queries or not queries[-1].strip() or not self.max_tokens:
            return ""
        inject = self.bank.inject
        advice = await attempt_aside(lambda: inject(queries[-1], max_tokens=self.max_tokens, namespace=self.namespace))
        return advice or ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        pass


async def run(
    bank: Bank, agent: Any, task: str, *, succeeded: Callable[[Any], bool | None] | None = None, **options: Any
) -> Any:
    """`options` are `namespace`, `max_tokens` and whatever `agent.run` takes. The advice stands behind the task, so an
    agent whose memory has a `BankBlock` wants `max_tokens=0` here.
    """
    tracker = await follow(following_from(options, bank, getattr(agent, "name", None)), task)
    prompt = f"{task}\n\n{tracker.advice}" if tracker.advice else task
    async with AsideOnError(tracker.failed):
        handler = agent.run(prompt, **options)
        async for event in handler.stream_events():
            if isinstance(event, ToolCallResult):
                output = event.tool_output
                action = f"{event.tool_name} {as_text(event.tool_kwargs)}".strip()
                await aside(tracker.step, action, output.content, ok=False if output.is_error else None)
        result = await handler
    await aside(tracker.answer, str(result), None if succeeded is None else succeeded(result))
    return result
