"""smolagents: `run(bank, agent, "task")` is `agent.run("task")` with a memory.

Advice stands behind the task, every action becomes a step, running out of steps is a failure. Whether an answer was
right only the caller knows: `succeeded` says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.task_tracker import Followed, as_text, following_from
from reasoningbank.core.errors import MissingExtra
from reasoningbank.core.failure import OnError

try:
    from smolagents import ActionStep, FinalAnswerStep
    from smolagents.utils import AgentMaxStepsError
except ImportError as error:
    raise MissingExtra(package="smolagents", extra="smolagents", purpose="The adapter for smolagents") from error


def run(
    bank: Bank,
    agent: Any,
    task: str,
    *,
    succeeded: Callable[[Any], bool | None] | None = None,
    **options: Any,
) -> Any:
    """`options` are `namespace`, `max_tokens` and whatever `agent.run` takes; with `stream=True` it gives the steps as
    they are made.
    """
    name = getattr(agent, "name", None) or type(agent).__name__
    tracker = Followed(following_from(options, bank, name), task)
    prompt = f"{task}\n\n{tracker.advice}" if tracker.advice else task
    if options.get("stream"):
        return _stream(tracker, agent.run(prompt, **options), succeeded)
    first = 0 if options.get("reset", True) else len(agent.memory.steps)

    def note_steps() -> list[ActionStep]:
        steps = [step for step in agent.memory.steps[first:] if isinstance(step, ActionStep)]
        for step in steps:
            _note(tracker, step)
        return steps

    def fail(error: BaseException) -> None:
        note_steps()
        tracker.failed(error)

    with OnError(fail):
        result = agent.run(prompt, **options)
    steps = note_steps()
    tracker.answer(getattr(result, "output", result), _judge(result, steps[-1] if steps else None, succeeded))
    return result


def _stream(tracker: Followed, steps: Iterator[Any], judge: Callable[[Any], bool | None] | None) -> Iterator[Any]:
    """The same steps; the last one ends the task. Left early, it is unknown how it went."""
    last: ActionStep | None = None

    def end(error: BaseException) -> None:
        if isinstance(error, GeneratorExit):
            tracker.finish("unknown")
        else:
            tracker.failed(error)

    with OnError(end):
        for step in steps:
            # The step at which an agent runs out of them comes twice.
            if isinstance(step, ActionStep) and step is not last:
                last = step
                _note(tracker, step)
            if isinstance(step, FinalAnswerStep):
                tracker.answer(step.output, _judge(step.output, last, judge))
            yield step


def _judge(result: Any, last: ActionStep | None, judge: Callable[[Any], bool | None] | None) -> bool | None:
    if judge is not None:
        return judge(result)
    return False if last is not None and isinstance(last.error, AgentMaxStepsError) else None


def _note(tracker: Followed, step: ActionStep) -> None:
    if step.is_final_answer:
        return
    # A call that raised is known by what the model said alone.
    message = step.model_output_message
    calls = step.tool_calls or [call.function for call in (message and message.tool_calls) or ()]
    action = step.code_action or "\n".join(f"{call.name} {as_text(call.arguments)}".strip() for call in calls)
    if step.error is not None:
        tracker.step(action or "it answered", str(step.error), ok=False)
    elif action:
        tracker.step(action, step.observations or "")
