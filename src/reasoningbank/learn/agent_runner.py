"""Runs a caller's agent, a plain function or a coroutine, on a thread, with a time limit and a way to cancel it.

A coroutine is cancelled where it waits. A plain function cannot be stopped from outside: it is left behind, and what it
gives back is dropped.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.failure import attempt
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Acted

Agent = Callable[[str, str], "Acted | str | Awaitable[Acted | str]"]
"""`agent(task, advice)`: does the task, going by the advice if it is any good; gives back the answer or an `Acted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    acted: Acted | None
    error: str = ""
    """Why there is no answer: what the agent raised, or that time ran out, or that it was called off."""
    raised: BaseException | None = None


class _Call:
    """One call on a thread of its own."""

    def __init__(self, place: int, agent: Agent, task: str, advice: str, ends: SimpleQueue[int]) -> None:
        self._place = place
        self._agent = agent
        self._arguments = (task, advice)
        self._done = ends
        self._lock = threading.Lock()
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._called_off = ""
        self.result: Called | None = None
        self.began = time.monotonic()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        reply, error = attempt(self._act)
        if error is None:
            self._settle(Called(acted=reply))
        else:
            # The end of this run, not of the others.
            self._settle(Called(acted=None, error=f"{type(error).__name__}: {error}".rstrip(": "), raised=error))

    def _act(self) -> Acted:
        value = self._agent(*self._arguments)
        if inspect.isawaitable(value):
            value = asyncio.run(self._await(value))
        if isinstance(value, Acted):
            return value
        if isinstance(value, str):
            return Acted(answer=value)
        raise InvalidInput(f"An agent gives back its answer as text, or an Acted, not {type(value).__name__}.")

    async def _await(self, awaitable: Awaitable[Any]) -> Any:
        with self._lock:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            if self._called_off:
                raise asyncio.CancelledError
        return await awaitable

    def _settle(self, result: Called) -> None:
        with self._lock:
            first = self.result is None
            if first:
                self.result = result
        if first:
            self._done.put(self._place)

    def call_off(self, why: str) -> None:
        self._settle(Called(acted=None, error=why))
        with self._lock:
            self._called_off = why
            loop, task = self._loop, self._task
        if loop is not None and task is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:
                # It ended between the look and the call.
                return


def call_all(
    agent: Agent,
    calls: Sequence[tuple[str, str]],
    *,
    at_once: int,
    timeout_s: float | None = None,
    cancel: threading.Event | None = None,
) -> list[Called]:
    """Call the agent for each (task, advice), at most `at_once` at a time; gives back one result a call, in order."""
    if at_once < 1:
        raise InvalidInput(f"at_once must be from 1 on, not {at_once}.")
    ends: SimpleQueue[int] = SimpleQueue()
    running: dict[int, _Call] = {}
    results: dict[int, Called] = {}
    waiting = list(range(len(calls)))
    try:
        while waiting or running:
            if cancel is not None and cancel.is_set():
                results.update({place: Called(acted=None, error="It was called off.") for place in waiting})
                waiting = []
                _call_off(running.values(), "It was called off.")
            while waiting and len(running) < at_once:
                place = waiting.pop(0)
                running[place] = _Call(place, agent, *calls[place], ends)
            if timeout_s is not None:
                late = [call for call in running.values() if time.monotonic() - call.began > timeout_s]
                _call_off(late, f"It took longer than {timeout_s:g} s.")
            try:
                place = ends.get(timeout=0.05)
            except Empty:
                continue
            results[place] = running.pop(place).result or Called(acted=None)
    finally:
        _call_off(running.values(), "It was called off.")
    return [results[place] for place in range(len(calls))]


def call(agent: Agent, task: str, advice: str, *, timeout_s: float | None = None) -> Acted:
    """One call; what the agent raises comes through."""
    [result] = call_all(agent, [(task, advice)], at_once=1, timeout_s=timeout_s)
    if result.raised is not None:
        raise result.raised
    if result.acted is None:
        raise TimeoutError(result.error)
    return result.acted


def _call_off(calls: Any, why: str) -> None:
    for entry in list(calls):
        entry.call_off(why)
