"""AutoGen: `AssistantAgent(…, memory=[AutoGenMemory(bank)])`, and `await run(bank, team, "task")`.

As a `Memory` it puts the advice for the last thing that was asked into the model's context, and finds and keeps what
others ask it to. `run` is the `run` of an agent or a team, followed: tool calls become steps, the end credits what was
shown. Whether an answer was right only the caller knows: `succeeded` says it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reasoningbank.adapters.memory_texts import list_all, text_for_model, title_of
from reasoningbank.bank.bank import Bank
from reasoningbank.bank.task_tracker import (
    AsideOnError,
    Followed,
    as_text,
    aside,
    attempt_aside,
    follow,
    following_from,
)
from reasoningbank.core.errors import InvalidInput, MissingExtra

try:
    from autogen_agentchat.base import TaskResult
    from autogen_agentchat.messages import ToolCallExecutionEvent, ToolCallRequestEvent
    from autogen_core import CancellationToken
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import SystemMessage, UserMessage
except ImportError as error:
    raise MissingExtra(package="autogen-agentchat", extra="autogen", purpose="The adapter for AutoGen") from error

TAG = "autogen"
"""Tag of what was added through a memory: `clear` forgets that and nothing else."""


class AutoGenMemory(Memory):
    """One bank as the memory of any number of agents. Closing it leaves the bank open: it is the caller's."""

    def __init__(self, bank: Bank, *, namespace: str | None = None, max_tokens: int = 500, limit: int = 10) -> None:
        self._bank, self._namespace, self._max_tokens, self._limit = bank, namespace, max_tokens, limit

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        messages = [message for message in await model_context.get_messages() if isinstance(message, UserMessage)]
        query = as_text(messages[-1].content) if messages else ""
        advice = None
        if query.strip() and self._max_tokens:
            inject = self._bank.inject
            advice = await attempt_aside(lambda: inject(query, max_tokens=self._max_tokens, namespace=self._namespace))
        if not advice:
            return UpdateContextResult(memories=MemoryQueryResult(results=[]))
        await model_context.add_message(SystemMessage(content=advice))
        content = MemoryContent(content=advice, mime_type=MemoryMimeType.MARKDOWN)
        return UpdateContextResult(memories=MemoryQueryResult(results=[content]))

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """`kwargs` are those of `bank.search`."""
        del cancellation_token
        text = as_text(query.content if isinstance(query, MemoryContent) else query)
        contents = await attempt_aside(lambda: self._search(text, kwargs)) if text.strip() else None
        return MemoryQueryResult(results=contents or [])

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        del cancellation_token
        if not isinstance(content.content, (str, dict)):
            raise InvalidInput("A bank keeps texts: give MemoryContent of text, Markdown or JSON.")
        text = as_text(content.content)
        await aside(
            self._bank.record,
            title=title_of(text),
            content=text,
            namespace=self._namespace,
            tags=[TAG],
            metadata=content.metadata or {},
            origin="agent",
        )

    async def clear(self) -> None:
        """Forget what was added through a memory like this one; `reasoningbank restore` brings it back."""
        await aside(self._forget_all)

    async def close(self) -> None:
        pass

    def _search(self, query: str, options: dict[str, Any]) -> list[MemoryContent]:
        result = self._bank.search(query, **{"namespace": self._namespace, "limit": self._limit, **options})
        return [
            MemoryContent(
                content=text_for_model(hit),
                mime_type=MemoryMimeType.TEXT,
                metadata={"id": hit.id, "score": hit.relevance, "confidence": hit.confidence.mean},
            )
            for hit in result.memories
        ]

    def _forget_all(self) -> None:
        for item in list(list_all(self._bank, namespace=self._namespace, tags=[TAG])):
            self._bank.forget(item.id)


async def run(
    bank: Bank,
    runner: Any,
    task: str,
    *,
    succeeded: Callable[[TaskResult], bool | None] | None = None,
    **options: Any,
) -> TaskResult:
    """`runner` is an agent or a team; `options` are `namespace`, `max_tokens` and whatever its `run_stream` takes. The
    advice stands behind the task, so an agent with an `AutoGenMemory` of its own wants `max_tokens=0` here.
    """
    tracker = await follow(following_from(options, bank, getattr(runner, "name", None)), task)
    prompt = f"{task}\n\n{tracker.advice}" if tracker.advice else task
    calls: dict[str, str] = {}
    async with AsideOnError(tracker.failed):
        async for message in runner.run_stream(task=prompt, **options):
            await _note(tracker, message, calls)
        result: TaskResult = message
    answer = result.messages[-1].to_text() if result.messages else ""
    await aside(tracker.answer, answer, None if succeeded is None else succeeded(result))
    return result


async def _note(tracker: Followed, message: Any, calls: dict[str, str]) -> None:
    if isinstance(message, ToolCallRequestEvent):
        calls.update({call.id: f"{call.name} {call.arguments}".strip() for call in message.content})
    elif isinstance(message, ToolCallExecutionEvent):
        for result in message.content:
            action = calls.pop(result.call_id, result.name)
            await aside(tracker.step, action, result.content, ok=False if result.is_error else None)
