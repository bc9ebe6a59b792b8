"""The OpenAI Agents SDK: `await run(bank, agent, "task")` is `Runner.run` with a memory, and

    async with run_streamed(bank, agent, "task") as result:
        async for event in result.stream_events(): ...

is `Runner.run_streamed` with one.

Before each call of the model the advice for this run stands behind the agent's own instructions; each tool call
becomes a step; an exception is a failure. Whether an answer was right only the caller knows: `succeeded` says it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.task_tracker import AsideOnError, Followed, as_text, aside, follow, following_from
from reasoningbank.core.errors import MissingExtra

try:
    from agents import RunConfig, RunHooks, Runner
    from agents.run_config import CallModelData, ModelInputData
except ImportError as error:
    missing = MissingExtra(package="openai-agents", extra="openai-agents", purpose="The adapter for this SDK")
    raise missing from error


async def run(
    bank: Bank,
    agent: Any,
    task: Any,
    *,
    succeeded: Callable[[Any], bool | None] | None = None,
    **options: Any,
) -> Any:
    """`options` are `namespace`, `max_tokens` and whatever `Runner.run` takes; `hooks` and `run_config` of the caller's
    own keep working.
    """
    tracker = await follow(following_from(options, bank, agent.name), _task(task))
    async with AsideOnError(tracker.failed):
        result = await Runner.run(agent, task, **_watch(tracker, options))
    await aside(tracker.answer, result.final_output, None if succeeded is None else succeeded(result))
    return result


@asynccontextmanager
async def run_streamed(
    bank: Bank,
    agent: Any,
    task: Any,
    *,
    succeeded: Callable[[Any], bool | None] | None = None,
    **options: Any,
) -> AsyncIterator[Any]:
    """As `run`, for `Runner.run_streamed`: the end of the block is the end of the task. Left early, it is unknown how
    it went.
    """
    tracker = await follow(following_from(options, bank, agent.name), _task(task))
    async with AsideOnError(tracker.failed):
        result = Runner.run_streamed(agent, task, **_watch(tracker, options))
        yield result
    if result.is_complete and result.final_output is not None:  # one that is cancelled is complete too
        await aside(tracker.answer, result.final_output, None if succeeded is None else succeeded(result))
    else:
        await aside(tracker.finish, "unknown")


def _watch(tracker: Followed, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a run, with hooks that note its steps and a filter that puts the advice before the model."""
    config = options.get("run_config") or RunConfig()
    input_filter = _advise_input(tracker, config.call_model_input_filter)
    return {
        **options,
        "hooks": _Steps(tracker, options.get("hooks")),
        "run_config": replace(config, call_model_input_filter=input_filter),
    }


def _advise_input(tracker: Followed, inner: Any) -> Callable[[CallModelData[Any]], Any]:
    async def filtered(data: CallModelData[Any]) -> ModelInputData:
        model_data = data.model_data
        if inner is not None:
            output = inner(data)
            model_data = await output if hasattr(output, "__await__") else output
        if not tracker.advice:
            return model_data
        parts = [part for part in (model_data.instructions, tracker.advice) if part]
        return replace(model_data, instructions="\n\n".join(parts))

    return filtered


class _Steps(RunHooks[Any]):
    """Notes every tool call, and passes everything on to the caller's own hooks."""

    def __init__(self, tracker: Followed, inner: Any) -> None:
        self._followed = tracker
        self._inner = inner

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
        arguments = as_text(getattr(context, "tool_arguments", ""))
        await aside(self._followed.step, f"{tool.name} {arguments}".strip(), result)
        await self._pass_on("on_tool_end", context, agent, tool, result)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        await self._pass_on("on_tool_start", context, agent, tool)

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        await aside(self._followed.step, f"handed over to {to_agent.name}")
        await self._pass_on("on_handoff", context, from_agent, to_agent)

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        await self._pass_on("on_agent_start", context, agent)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        await self._pass_on("on_agent_end", context, agent, output)

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: str | None, input_items: Any) -> None:
        await self._pass_on("on_llm_start", context, agent, system_prompt, input_items)

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        await self._pass_on("on_llm_end", context, agent, response)

    async def _pass_on(self, name: str, *arguments: Any) -> None:
        if self._inner is not None:
            await getattr(self._inner, name)(*arguments)


def _task(task_input: Any) -> str:
    """The text of the last thing that the user said."""
    if isinstance(task_input, str):
        return task_input
    items = task_input if isinstance(task_input, Sequence) and not isinstance(task_input, bytes) else ()
    messages = [item for item in items if isinstance(item, dict) and item.get("role") == "user"]
    if not messages:
        return ""
    content = messages[-1].get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
