"""Connects the SDK's server with our stdio line: the two streams that it reads and writes.

Loads the SDK, so nothing imports this file before the client has been greeted.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio.to_thread
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from reasoningbank.serve.idle_index import IdleIndexer
from reasoningbank.serve.mcp import greeting
from reasoningbank.serve.mcp.caller import LOCAL, Caller
from reasoningbank.serve.mcp.server import Context, build
from reasoningbank.serve.workers import MakeWay, Staffing, Workers

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank
    from reasoningbank.serve.mcp.line import StdioLine

CALM_S = 1.0
"""For so long nothing must have been asked before a job is begun."""
LONGEST_WAIT_S = 60.0
"""A client that asks all the time does not keep jobs waiting for ever."""
FINISH_WITHIN_S = 30.0
"""How long requests that were taken may still run when the client has closed its end or a signal has come."""


def talk(line: StdioLine, bank: Bank, *, workers: bool) -> None:
    asyncio.run(_talk(line, bank, workers=workers))


async def _talk(line: StdioLine, bank: Bank, *, workers: bool) -> None:
    inbox = Inbox()
    loop = asyncio.get_running_loop()
    local = replace(LOCAL, tenant=bank.tenant)

    def caller_of(_: Context) -> Caller:
        return local

    def bank_for(_: Caller) -> Bank:
        # Made anew for each call, which costs next to nothing: another process may have ruled about secrets.
        return bank.for_tenant(bank.tenant)

    instructions = greeting.instructions_for(bank.learning.distiller)
    server = build(bank_for, caller_of, bank.settings.search, instructions=instructions)
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Not to be had on every platform, or outside of the main thread.
        with suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(number, stopping.set)

    def deliver(message: dict[str, Any] | None) -> None:
        arrive = stopping.set if message is None else partial(inbox.put, message)
        # The loop is closed when the process is on its way out.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(arrive)

    async def stop_in_peace() -> None:
        await stopping.wait()
        await anyio.to_thread.run_sync(line.wait_until_idle, FINISH_WITHIN_S, abandon_on_cancel=True)
        inbox.close()

    line.connect(deliver)
    stopper = asyncio.create_task(stop_in_peace())
    # One job at a time: a client that asks again meets at most the rest of one.
    staffing = Staffing(workers=1 if workers else 0, batch=1, tenants=1, only=bank.tenant)
    idle_hands = Workers(bank.context.store, lambda _: bank, staffing, make_way=_when_calm(line))
    idle_hands.start()
    indexer = IdleIndexer(bank, make_way=_when_calm(line))
    indexer.start()
    try:
        await server.run(inbox, Outbox(line), server.create_initialization_options())
    finally:
        stopper.cancel()
        indexer.stop()
        idle_hands.close()
        indexer.close()


def _when_calm(line: StdioLine) -> MakeWay:
    def wait(stopping: threading.Event) -> None:
        until = time.monotonic() + LONGEST_WAIT_S
        while (remaining_s := CALM_S - line.calm_for_s()) > 0 and time.monotonic() < until:
            if stopping.wait(remaining_s):
                return

    return wait


class _Stream:
    """An end of the line as the SDK wants one: to be closed by whoever has entered it."""

    async def aclose(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Inbox(_Stream):
    """Messages of the client, in order. The line bounds how many requests can be waiting here."""

    def __init__(self) -> None:
        self._waiting: deque[SessionMessage] = deque()
        self._changed = asyncio.Event()
        self._closed = False

    def put(self, message: dict[str, Any]) -> None:
        # What fails here was no message to any reading of the protocol, and is nobody's request.
        with suppress(ValidationError):
            self._waiting.append(SessionMessage(types.jsonrpc_message_adapter.validate_python(message, by_name=False)))
            self._changed.set()

    def close(self) -> None:
        self._closed = True
        self._changed.set()

    async def receive(self) -> SessionMessage | Exception:
        while not self._waiting:
            if self._closed:
                raise anyio.EndOfStream
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    async def aclose(self) -> None:
        self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Outbox(_Stream):
    """Messages of the server, handed to the line at once; the writer's thread waits for the client, not the loop."""

    def __init__(self, line: StdioLine) -> None:
        self._line = line

    async def send(self, item: SessionMessage, /) -> None:
        message = item.message
        if isinstance(message, types.JSONRPCResponse):
            # The result is plain already: most of what is sent, so it takes the short way.
            self._line.reply({"jsonrpc": "2.0", "id": message.id, "result": message.result})
        else:
            self._line.reply(message.model_dump(by_alias=True, mode="json", exclude_unset=True))
