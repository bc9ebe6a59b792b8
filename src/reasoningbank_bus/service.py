"""Runs a node for a bank: transport, log and bank joined, in threads of this process, until it is stopped.

Three threads: an event loop for the transport, the node's own (`quic.worker`), and one for the bank, which signs what
is new there and applies what came (`bus.bank_thread`). What another process writes down meanwhile (grants, peers, what
is shared) is noticed within a fraction of a second.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from reasoningbank.core.errors import BankError
from reasoningbank.core.failure import OnError
from reasoningbank_bus.addresses import parse_address, public_address
from reasoningbank_bus.bank_key import bind_key, only_node
from reasoningbank_bus.bank_thread import BankThread
from reasoningbank_bus.exchange.answering import answer
from reasoningbank_bus.home import BusHome
from reasoningbank_bus.kept_rights import add_kept
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.node.effects import Effect, Search, Took
from reasoningbank_bus.node.node import BusNode
from reasoningbank_bus.node.settings import NodeSettings
from reasoningbank_bus.quic.endpoint import BusEndpoint
from reasoningbank_bus.refusal_log import RefusalLog
from reasoningbank_bus.revoked_peers import barred_peers, revoke_again
from reasoningbank_bus.running_state import being_up, last_said, say
from reasoningbank_bus.status import describe_node, refusal_view
from reasoningbank_bus.wire.entry import OF_AUTHORITY
from reasoningbank_bus.wire.refusals import BusRefusal

LOOK_S = 0.25
"""How often it is looked whether another process wrote to the log."""
SAY_S = 1.0
START_WITHIN_S = 30.0
STOP_WITHIN_S = 30.0
_SEARCHERS = 2
_log = logging.getLogger("reasoningbank.bus")


class RunningNode:
    """A node that is up. `running_node` makes one and ends it."""

    def __init__(self, bus: BusHome) -> None:
        self._bus = bus
        # A connection of its own: what is written through the bus of this process is noticed as others' writing is.
        self._log = DurableLog(bus.folder)
        self._rights = bus.rights(self._log)
        revoke_again(bus.bank, self._rights)
        self.listen = ""
        """Where it listens; "" for nowhere."""
        self.public = ""
        """Where others are told that it is; "" for nowhere."""
        self.ended: Future[None] = Future()
        """Done when the node is down; its error, if it went down by itself."""
        self._up_since = time.time()
        self._started: Future[None] = Future()
        self._refusal_log = RefusalLog()
        self._heeded = -1
        """The state of the log in which it was last looked at for what others wrote."""
        self._stop: asyncio.Event
        self._loop: asyncio.AbstractEventLoop

    def start(self, listen: str | None, public: str | None) -> None:
        """Return when it listens; raises what kept it from doing so."""
        with OnError(lambda _: self._log.close()):
            where = None if listen is None else parse_address(listen, listening=True)
            self.public = public_address(where, public)
        runner = ThreadPoolExecutor(1, thread_name_prefix="bus-loop")
        # Whatever ends the loop is kept by its future, and told by whoever waits for it.
        self.ended = runner.submit(self._run, where)
        runner.shutdown(wait=False)
        self.ended.add_done_callback(self._note_end)
        self._started.result(START_WITHIN_S)

    def _note_end(self, future: Future[None]) -> None:
        error = future.exception()
        if error is None:
            return
        if not self._started.done():
            self._started.set_exception(error)
        else:
            # Whoever runs it may hear of it late: a server goes on without.
            _log.error("the bus is down: %s", error)
            say(self._bus.folder, {**last_said(self._bus.folder), "trouble": f"The bus is down. {error}"})

    def stop(self) -> None:
        """End it: what came is worked on, what was asked for is delivered. Raises if it went down by itself."""
        if not self.ended.done():
            self._loop.call_soon_threadsafe(self._stop.set)
        self.ended.result(STOP_WITHIN_S)

    # ------------------------------------------------------------ the loop

    def _run(self, listen: tuple[str, int] | None) -> None:
        with closing(self._log):
            asyncio.run(self._work(listen))

    async def _work(self, listen: tuple[str, int] | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._searchers = ThreadPoolExecutor(_SEARCHERS, thread_name_prefix="bus-search")
        self._endpoint = BusEndpoint(on_effect=self._carry_out)
        bank = BankThread(self._bus, self._log, publish=self._publish)
        self._bank = bank
        self._node = self._make_node()
        await self._endpoint.start(listen, self._node, self._bus.key)
        self.listen = self._endpoint.address
        bank.start()
        self._started.set_result(None)
        try:
            await self._watch()
        finally:
            try:
                await asyncio.to_thread(bank.stop)
            finally:
                await self._endpoint.stop()
                # What came with the last frames is durable in the log, and is applied at the next start.
                await asyncio.to_thread(self._searchers.shutdown)

    def _make_node(self) -> BusNode:
        # The node's clock is the loop's; wall-clock time is reckoned from the bank's, so that both agree.
        clock = self._bus.bank.context.clock
        return BusNode(
            key=self._bus.key,
            rights=self._rights,
            log=self._log,
            settings=NodeSettings(listen=self.public, peers=self._peers()),
            seed=secrets.randbits(64),
            heed=self._heed_others,
            now_ms=lambda now: int((clock() + now - self._loop.time()) * 1000),
        )

    def _peers(self) -> tuple[tuple[str, bytes | None], ...]:
        return tuple((peer.address, peer.key) for peer in self._bus.peers() if peer.address)

    async def _watch(self) -> None:
        """Until it is stopped: notice what others wrote down, and leave word of ourselves."""
        said_at = 0.0
        while not self._stop.is_set():
            self._bank.check()
            await asyncio.wrap_future(self._endpoint.submit(self._heed_others))
            if self._loop.time() - said_at >= SAY_S:
                said_at = self._loop.time()
                await asyncio.wrap_future(self._endpoint.submit(self._say))
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._stop.wait()
            except TimeoutError:
                continue

    # ------------------------------------------------------------ in the node's thread

    def _heed_others(self, now: float) -> list[Effect]:
        """Take over grants, revocations, roots and peers that another process wrote to the log, if any did."""
        number = self._log.change_number()
        if number == self._heeded:
            return []
        self._heeded = number
        self._bank.wake(rights_changed=True)
        fresh = add_kept(self._rights, self._log, barred_peers(self._bus.bank))
        self._node.set_peers(self._peers())
        return [*self._node.publish(fresh, now), *self._node.change_rights(now)]

    def _say(self, now: float) -> list[Effect]:
        report = describe_node(
            self._node.status(now),
            self._endpoint.failures,
            self._endpoint.ends,
            unsent=self._bank.unsent,
            apply_refusals=self._bank.unapplied,
            now=now,
            now_s=time.time(),
        )
        ours = {"listen": self.listen, "public": self.public, "up_since": self._up_since, "trouble": self._bank.trouble}
        say(self._bus.folder, {**report, **ours})
        self._refusal_log.write(report["refused"], partial(refusal_view, self._bus), report["at"])
        return []

    # ------------------------------------------------------------ between the threads

    def _publish(self, entries: Any) -> None:
        """Tell peers of entries that the bank's thread has added to the log; returns when the node has taken them."""
        self._endpoint.submit(lambda now: self._node.publish(entries, now)).result(STOP_WITHIN_S)

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Took):
            self._bank.note_arrival(rights_changed=any(entry.kind in OF_AUTHORITY for entry in effect.entries))
        elif isinstance(effect, Search):
            self._searchers.submit(self._search, effect)

    def _search(self, question: Search) -> None:
        try:
            hits: Any = answer(
                self._bus.bank,
                self._log,
                self._bank.rights,
                question.peer,
                question.query,
                question.namespace,
                question.limit,
            )
        except BusRefusal as refusal:
            hits = refusal
        except BankError as error:
            hits = BusRefusal("over_limit", f"this bank cannot search now: {type(error).__name__}")
        self._endpoint.submit(partial(self._node.answered, question.peer, question.request, hits))


@contextmanager
def running_node(bus: BusHome, listen: str | None, public: str | None = None) -> Iterator[RunningNode]:
    """A node that is up for as long as the block lasts; `public` is where others are told that it is."""
    bind_key(bus.bank, bus.fingerprint)
    with being_up(bus.folder), only_node(bus.bank):
        node = RunningNode(bus)
        node.start(listen, public)
        try:
            yield node
        finally:
            node.stop()


def run_until_signal(bus: BusHome, listen: str | None, public: str | None, ready: Callable[[str], None] | None) -> None:
    """Be up until SIGTERM, SIGINT, or an error of the node."""
    over = threading.Event()
    before = {number: signal.signal(number, lambda *_: over.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with running_node(bus, listen, public) as node:
            node.ended.add_done_callback(lambda _: over.set())
            if ready is not None:
                ready(node.listen)
            over.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
