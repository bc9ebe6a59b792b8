"""Tracks one task of another framework's agent: starts a session, gives advice, notes steps, ends it.

Memory is a help and never a hindrance: whatever goes wrong in the bank is told in the log, and the agent goes on
without it. What a framework calls a task, a tool or a result is the business of its adapter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import BankError
from reasoningbank.core.failure import OnError
from reasoningbank.core.frozen import dataclass

T = TypeVar("T")

MOST_TEXT_CHARS = 20_000
MOST_TASK_CHARS = 20_000
_log = logging.getLogger("reasoningbank.adapters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """How tasks are followed; the same for every adapter."""

    bank: Bank
    namespace: str | None = None
    """None is the bank's own."""
    agent: str | None = None
    max_tokens: int = 500
    """Budget for advice; 0 asks for none."""


def following_from(options: dict[str, Any], bank: Bank, agent: str | None) -> Following:
    """How to follow, by `namespace` and `max_tokens` among the options of a run; they are taken out of it."""
    overrides = {name: options.pop(name) for name in ("namespace", "max_tokens") if name in options}
    return Following(bank=bank, agent=agent, **overrides)


class Followed:
    """A task under way. Safe to use from several threads; `finish` counts once."""

    def __init__(self, how: Following, task: str) -> None:
        self._how = how
        self._finished = False
        self.task = shorten(task, MOST_TASK_CHARS)
        self.advice = ""
        """Prompt-ready text, or "" when nothing fits."""
        self.session: str | None = None
        """The id of the session that this is kept as; None when the bank cannot be used."""
        if self.task.strip():
            self.session = attempt(
                lambda: how.bank.start_session(self.task, namespace=how.namespace, agent=how.agent).id
            )
            self.advice = self.ask(self.task, max_tokens=how.max_tokens)

    def ask(self, text: str, *, max_tokens: int) -> str:
        """Advice on something that came up in the task; what is shown is charged to it. "" when nothing fits."""
        if not max_tokens or not text.strip():
            return ""
        how, query = self._how, shorten(text, MOST_TASK_CHARS)
        return (
            attempt(
                lambda: how.bank.inject(query, max_tokens=max_tokens, namespace=how.namespace, session=self.session)
            )
            or ""
        )

    def step(self, action: str, result: Any = "", *, ok: bool | None = None) -> None:
        session = self.session
        if session is not None and not self._finished and action.strip():
            metadata = {} if ok is None else {"ok": ok}
            attempt(lambda: self._how.bank.add_step(session, shorten(action), shorten(as_text(result)), metadata))

    def finish(self, outcome: str, *, used: Sequence[str] = ()) -> None:
        """success, failure or unknown. Credits what was shown, and queues the session to be distilled."""
        session = self.session
        if session is not None and not self._finished:
            self._finished = True
            attempt(lambda: self._how.bank.end_session(session, outcome, used=used))

    def answer(self, output: Any, verdict: bool | None) -> None:
        """End it with what the agent answered; `verdict` is whether that was right, as far as anybody knows."""
        self.step("answered", as_text(output))
        self.finish("unknown" if verdict is None else "success" if verdict else "failure")

    def failed(self, error: BaseException) -> None:
        self.step("it raised", f"{type(error).__name__}: {error}", ok=False)
        self.finish("failure")


def attempt(act: Callable[[], T]) -> T | None:
    """Result of `act`, or None: an agent whose bank fails goes on without its memory, and the log says so."""
    try:
        return act()
    except BankError as error:
        _log.warning("the agent goes on without its memory: %s", error)
        return None


class AsideOnError(OnError):
    """`OnError` for coroutines: the function is called off the event loop, and to its end."""

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            await asyncio.shield(asyncio.to_thread(self.__exit__, kind, error, trace))


async def follow(how: Following, task: str) -> Followed:
    """Off the event loop: a bank is synchronous, and its first search may load a model."""
    beginning = asyncio.ensure_future(asyncio.to_thread(Followed, how, task))
    try:
        return await asyncio.shield(beginning)
    except asyncio.CancelledError:
        # Called off before it began: no session may be left open.
        await aside((await beginning).finish, "unknown")
        raise


async def attempt_aside(act: Callable[[], T]) -> T | None:
    return await asyncio.to_thread(attempt, act)


async def aside(act: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    await asyncio.to_thread(act, *arguments, **options)


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    from json import dumps

    try:
        return dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return str(value)


def shorten(text: str, most_chars: int = MOST_TEXT_CHARS) -> str:
    """The beginning and the end: how it started, and how it came out."""
    if len(text) <= most_chars:
        return text
    half = most_chars // 2 - 10
    return f"{text[:half]}\n[… cut …]\n{text[-half:]}"
