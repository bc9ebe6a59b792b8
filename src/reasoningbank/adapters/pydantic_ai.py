"""Pydantic AI: `Agent(model, capabilities=[BankMemory(bank)])`.

A capability: the advice for a run stands with the instructions, every tool call becomes a step, the end of the run is
the end of the session. Whether an answer was right only the caller knows: `succeeded` says it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.task_tracker import AsideOnError, Followed, Following, as_text, aside, follow
from reasoningbank.core.errors import MissingExtra

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
except ImportError as error:
    missing = MissingExtra(package="pydantic-ai-slim", extra="pydantic-ai", purpose="The adapter for Pydantic AI")
    raise missing from error


class BankMemory(AbstractCapability[Any]):
    """One for all runs of an agent; each run gets a copy of its own."""

    def __init__(
        self,
        bank: Bank,
        *,
        succeeded: Callable[[Any], bool | None] | None = None,
        namespace: str | None = None,
        agent: str | None = None,
        max_tokens: int = 500,
    ) -> None:
        self._how = Following(bank=bank, namespace=namespace, agent=agent, max_tokens=max_tokens)
        self._succeeded = succeeded
        self._followed: Followed | None = None

    async def for_run(self, ctx: RunContext[Any]) -> BankMemory:
        del ctx
        how = self._how
        return BankMemory(
            how.bank,
            succeeded=self._succeeded,
            namespace=how.namespace,
            agent=how.agent,
            max_tokens=how.max_tokens,
        )

    def get_instructions(self) -> Callable[[RunContext[Any]], str]:
        def advice(ctx: RunContext[Any]) -> str:
            del ctx
            return "" if self._followed is None else self._followed.advice

        return advice

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Callable[[], Any]) -> Any:
        tracker = self._followed = await follow(self._how, _task(ctx.prompt))
        async with AsideOnError(tracker.failed):
            result = await handler()
        await aside(tracker.answer, result.output, None if self._succeeded is None else self._succeeded(result))
        return result

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, handler: Callable[[Any], Any]
    ) -> Any:
        del ctx, tool_def
        action = f"{call.tool_name} {as_text(args)}".strip()
        if self._followed is None:
            return await handler(args)
        step = partial(self._followed.step, action)
        async with AsideOnError(lambda error: step(f"{type(error).__name__}: {error}", ok=False)):
            result = await handler(args)
        await aside(step, result)
        return result


def _task(prompt: Any) -> str:
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(part for part in prompt if isinstance(part, str))
