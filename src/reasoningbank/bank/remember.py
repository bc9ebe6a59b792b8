"""`@remember`: a plain function that learns from its own calls.

    @remember(bank)
    def solve(task: str, advice: str = "") -> str: ...

Each call is a task: what earlier calls taught comes in as `advice`, a return is a success, an exception a failure.
Functions and coroutines alike.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.task_tracker import AsideOnError, Followed, Following, as_text, follow
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.failure import OnError

F = TypeVar("F", bound=Callable[..., Any])
Said = bool | str | None

ADVICE = "advice"
_current: ContextVar[Followed | None] = ContextVar("reasoningbank_task", default=None)


def current_task() -> Followed | None:
    """The task that is being followed around the caller: its `advice`, and `step` to note what was done."""
    return _current.get()


def remember(
    bank: Bank,
    *,
    task: Callable[..., str] | None = None,
    succeeded: Callable[[Any], Said] | None = None,
    namespace: str | None = None,
    agent: str | None = None,
    max_tokens: int = 500,
) -> Callable[[F], F]:
    """`task` makes the task's text of the arguments (default: the first one). `succeeded` looks at what was returned
    and says True, False, or success, failure or unknown; without it a return is a success.
    """

    def decorate(function: F) -> F:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise InvalidInput("@remember is for functions and coroutines; a generator has no one end.")
        how = Following(bank=bank, namespace=namespace, agent=agent or _name(function), max_tokens=max_tokens)
        takes_advice = ADVICE in inspect.signature(function).parameters

        def given(tracker: Followed, options: dict[str, Any]) -> dict[str, Any]:
            return {ADVICE: tracker.advice, **options} if takes_advice else options

        def end(tracker: Followed, result: Any) -> None:
            tracker.step(_name(function), result)
            tracker.finish(_outcome(True if succeeded is None else succeeded(result)))

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*arguments: Any, **options: Any) -> Any:
                tracker = await follow(how, _task(task, arguments, options))
                token = _current.set(tracker)
                try:
                    async with AsideOnError(tracker.failed):
                        result = await function(*arguments, **given(tracker, options))
                finally:
                    _current.reset(token)
                await asyncio.to_thread(end, tracker, result)
                return result

            return cast("F", awaited)

        @functools.wraps(function)
        def called(*arguments: Any, **options: Any) -> Any:
            tracker = Followed(how, _task(task, arguments, options))
            token = _current.set(tracker)
            try:
                with OnError(tracker.failed):
                    result = function(*arguments, **given(tracker, options))
            finally:
                _current.reset(token)
            end(tracker, result)
            return result

        return cast("F", called)

    return decorate


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__name__)[:200]


def _task(task: Callable[..., str] | None, arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
    if task is not None:
        return task(*arguments, **options)
    first = arguments[0] if arguments else next(iter(options.values()), "")
    return as_text(first)


def _outcome(verdict: Said) -> str:
    if isinstance(verdict, str):
        return verdict
    return "unknown" if verdict is None else "success" if verdict else "failure"
