"""The endpoint of a node: listens, dials, keeps one link to each peer, and does what the node says is to be done.

Frames of all links go to the node in turn, so that a busy peer takes no other's. A peer that sends faster than the
node works is slowed down by flow control; one that takes slowly what it asked for is not given more to ask.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from qh3.asyncio._transport import create_optimized_datagram_transport

from reasoningbank.core.errors import BankError, BankUnavailable
from reasoningbank.core.failure import attempt
from reasoningbank_bus.addresses import address_text, parse_address
from reasoningbank_bus.node.effects import Close, Dial, Effect, Send
from reasoningbank_bus.quic.channel import Channel
from reasoningbank_bus.quic.dialling import begin_link, move_link, open_socket, wait_open
from reasoningbank_bus.quic.limits import TransportLimits
from reasoningbank_bus.quic.link import REFUSED, PeerLink
from reasoningbank_bus.quic.link_ends import LinkEnds
from reasoningbank_bus.quic.listener import Listener
from reasoningbank_bus.quic.problems import PeerUnreachable
from reasoningbank_bus.quic.worker import DrivenNode, NodeJob, NodeThread, NodeWork
from reasoningbank_bus.wire.frame import CONTROL
from reasoningbank_bus.wire.signing import SigningKey

_LOG = logging.getLogger(__name__)
_TURN_FRAMES = 64
_TURN_BYTES = 1024 * 1024
_ALIVE_SECONDS = 2.0
"""In which a link must answer when another of the same key comes."""
_CHECK_SECONDS = 0.5
_FLUSH_LOOK_SECONDS = 0.005
_REQUESTS = (b"\x09", b"\x0c")
"""How frames go on, behind the first byte, whose answers may be long: `Want` and `Ask`."""


class BusEndpoint:
    """Make one, `start` it, `stop` it. All of it belongs to one event loop; `submit` may be called from any thread."""

    def __init__(self, *, on_effect: Callable[[Effect], None], limits: TransportLimits | None = None) -> None:
        """`on_effect` is told in the loop of what is not the transport's (took, search, answered); it must not wait."""
        self.limits = limits or TransportLimits()
        self.failures: dict[str, str] = {}
        """Why the last dialling of an address failed."""
        self.ends = LinkEnds()
        self.links: dict[bytes, PeerLink] = {}
        """The link to each peer that is connected."""
        self.address = ""
        """Where it listens."""
        self._on_effect = on_effect
        self._asking: set[PeerLink] = set()
        self._guests: dict[bytes, PeerLink] = {}
        """Links of peers that only ask, and are not connected otherwise."""
        self._newcomers: set[PeerLink] = set()
        self._dialled: set[PeerLink] = set()
        """All that may have a socket of their own."""
        self._by_channel: dict[int, PeerLink] = {}
        self._last_channel = 0
        self._jobs: deque[NodeJob] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._dialling: set[str] = set()
        self._wake = asyncio.Event()
        self._tick_at = 0.0
        self._is_stopping = self._is_over = False
        self._listener: Listener | None = None

    async def start(self, listen: tuple[str, int] | None, node: DrivenNode, key: SigningKey) -> None:
        self._loop = asyncio.get_running_loop()
        self._node, self._key = node, key
        if listen is not None:
            await self._listen(listen)
        self._thread = NodeThread(node)
        self._working = self._loop.create_task(self._work())
        self._checking = self._loop.create_task(self._check())

    async def dial(self, address: tuple[str, int], peer_key: bytes | None = None, *, name: str = "") -> bytes:
        """Connect to an address; the key that answers there. Raises with a sentence that says what is wrong with it.

        `name`: what the node calls the address, if it is not written in full there.
        """
        link = await begin_link(address, self, self._key, self.limits, peer_key=peer_key)
        if self._is_stopping:
            link.forget()
            raise PeerUnreachable("This node stops.")
        link.dialled_as = name or link.dialled_as
        self._dialled = {other for other in self._dialled if not other.is_gone} | {link}
        await wait_open(link)
        assert link.peer is not None
        return link.peer

    def submit(self, work: NodeWork) -> Future[None]:
        """Have something done with the node, in its thread: `submit(lambda now: node.publish(entries, now))`."""
        future: Future[None] = Future()
        self._loop.call_soon_threadsafe(self._add_job, NodeJob(work, None, future))
        return future

    async def stop(self) -> None:
        """Stop without losing anything: what came is worked on, what was acknowledged or asked for is delivered."""
        if self._is_stopping:
            return
        self._is_stopping = True
        for task in list(self._tasks):
            task.cancel()
        for link in self._all_links():
            link.quic.hold()
        self._wake.set()
        await asyncio.wait([self._working])
        self._checking.cancel()
        await asyncio.gather(*(self._flush(link) for link in self._all_links() if link.is_open))
        await self._loop.run_in_executor(None, self._thread.stop)
        for link in [*self._all_links(), *(self._listener.half_open if self._listener else ())]:
            link.end("This node stops.")
        for link in self._dialled:
            link.forget()
        if self._listener is not None:
            self._listener.close()
        await asyncio.gather(self._checking, *self._tasks, return_exceptions=True)
        await asyncio.sleep(0)

    # What links tell.

    def next_channel(self) -> int:
        self._last_channel -= 1
        return self._last_channel

    def on_opened(self, link: PeerLink) -> None:
        if self._is_stopping or len(self.links) + len(self._asking) >= self.limits.links:
            link.refuse("over_limit", "no more connections are taken here now")
        elif link.is_asking:
            self._receive_guest(link)
        else:
            present = self.links.get(link.peer or b"")
            if present is None:
                self._adopt(link)
            else:
                self._newcomers.add(link)
                self._begin_task(self._settle(present, link))

    def on_frames(self, link: PeerLink) -> None:
        if link.is_asking and link not in self._asking:
            self._receive_guest(link)
        self._wake.set()

    def on_ended(self, link: PeerLink) -> None:
        self._asking.discard(link)
        self._newcomers.discard(link)
        for number in [number for number, other in self._by_channel.items() if other is link]:
            del self._by_channel[number]
        peer = link.peer or b""
        if self.links.get(peer) is link:
            while (frame := link.next_frame()) is not None:
                self._add_job(self._frame_job(peer, *frame))
            del self.links[peer]
            self.ends.note(link)
            self._disconnect(peer)
        elif self._guests.get(peer) is link:
            del self._guests[peer]
            self._disconnect(peer)

    # Two links of one key: dialled by both at once, left over from a crash, or two machines with the same key.

    async def _settle(self, present: PeerLink, newcomer: PeerLink) -> None:
        is_alive = await present.answers_within(_ALIVE_SECONDS)
        peer = newcomer.peer or b""
        dialler = self._key.public if newcomer.is_dialled else peer
        if not is_alive:
            present.end("It did not answer, and its peer came again.")
        elif newcomer.is_dialled == present.is_dialled:
            if self.ends.note_newcomer(present, newcomer, self._loop.time()):
                self._add_job(NodeJob(lambda now: self._node.tell_of_second(peer, now)))
            newcomer.end("This key is connected already. Two machines must not use one key at once.", REFUSED)
        elif dialler == min(self._key.public, peer):
            present.end("Both dialled at once; the other connection stays.")
        else:
            newcomer.end("Both dialled at once; the other connection stays.")
        self._newcomers.discard(newcomer)
        if not newcomer.is_ended and peer not in self.links:
            self._adopt(newcomer)

    def _adopt(self, link: PeerLink) -> None:
        peer = link.peer or b""
        if self._guests.pop(peer, None) is not None:
            self._disconnect(peer)
        self.links[peer] = link
        self.ends.forget(peer)
        self._connect(peer, link.dialled_as)

    def _receive_guest(self, link: PeerLink) -> None:
        """Somebody who only asks: for the node it is its peer's question, and the peer, if that is not there itself."""
        self._asking.add(link)
        peer = link.peer or b""
        if peer not in self.links and peer not in self._guests:
            self._guests[peer] = link
            self._connect(peer)
            if link.hello is not None:
                hello = link.hello
                self._add_job(NodeJob(lambda now: self._node.receive(peer, CONTROL, hello, now), peer))

    def _connect(self, peer: bytes, address: str = "") -> None:
        self._add_job(NodeJob(lambda now: self._node.connected(peer, now, address=address), peer))

    def _disconnect(self, peer: bytes) -> None:
        self._add_job(NodeJob(lambda now: self._node.disconnected(peer, now)))

    # The node's turn.

    async def _work(self) -> None:
        try:
            while not self._is_stopping or self._jobs or any(link.inbox for link in self._heard_links()):
                jobs = self._next_jobs()
                if not jobs and self._loop.time() < self._tick_at:
                    await self._wait_for_work()
                    continue
                effects, self._tick_at = await self._thread.perform(jobs)
                for effect in effects:
                    self._carry_out(effect)
        finally:
            self._is_over = True
            while self._jobs:
                self._add_job(self._jobs.popleft())

    async def _wait_for_work(self) -> None:
        timer = self._loop.call_at(self._tick_at, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
        self._wake.clear()

    def _next_jobs(self) -> list[NodeJob]:
        """Jobs that wait, and of every link as many frames as its turn allows."""
        jobs = list(self._jobs)
        self._jobs.clear()
        for link in self._heard_links():
            size = 0
            for _ in range(_TURN_FRAMES):
                if size >= _TURN_BYTES or (arrival := self._next_frame(link)) is None:
                    break
                size += len(arrival[1])
                jobs.append(self._frame_job(link.peer or b"", *arrival))
                if arrival[1][1:2] in _REQUESTS:
                    # Its answer is queued before the next one is looked at.
                    break
        return jobs

    def _next_frame(self, link: PeerLink) -> tuple[Channel, bytes] | None:
        if link.waiting_requests and not link.is_full:
            return link.waiting_requests.popleft()
        while (arrival := link.next_frame()) is not None:
            if link.is_asking and arrival[0].number == CONTROL:
                continue
            if arrival[0].number < 0:
                self._by_channel[arrival[0].number] = link
            if not link.is_full or arrival[1][1:2] not in _REQUESTS:
                return arrival
            # Its answer would only lie here. All else goes on, or two such peers would wait for each other.
            link.waiting_requests.append(arrival)
            if len(link.waiting_requests) > link.limits.streams_at_once:
                link.refuse("over_limit", "too many requests whose answers are not taken")
        return None

    def _frame_job(self, peer: bytes, channel: Channel, frame: bytes) -> NodeJob:
        number = channel.number
        return NodeJob(lambda now: self._node.receive(peer, number, frame, now), peer)

    def _add_job(self, job: NodeJob) -> None:
        if not self._is_over:
            self._jobs.append(job)
            self._wake.set()
        elif job.done is not None:
            job.done.set_exception(BankUnavailable("The node of this bank has stopped."))

    # What the node wants done.

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Send):
            self._send(effect)
        elif isinstance(effect, Dial):
            if effect.address not in self._dialling and (effect.key is None or effect.key not in self.links):
                self._begin_task(self._dial_for_node(effect))
        elif isinstance(effect, Close):
            link = self.links.get(effect.peer) or self._guests.get(effect.peer)
            if link is not None:
                link.end(f"{effect.code}: {effect.sentence}", REFUSED)
        else:
            _, error = attempt(partial(self._on_effect, effect))
            if error is not None:
                _LOG.error("The bus could not hand over what came: %s: %s", type(error).__name__, error)

    def _send(self, effect: Send) -> None:
        link = self.links.get(effect.peer) if effect.channel >= 0 else self._by_channel.get(effect.channel)
        if link is not None:
            link.send(effect.channel, effect.frame, effect.last)

    async def _dial_for_node(self, effect: Dial) -> None:
        self._dialling.add(effect.address)
        try:
            await self.dial(parse_address(effect.address), effect.key, name=effect.address)
            self.failures.pop(effect.address, None)
        except BankError as error:
            self.failures[effect.address] = str(error)
        finally:
            self._dialling.discard(effect.address)

    # The rest.

    async def _listen(self, listen: tuple[str, int]) -> None:
        host, port = listen
        try:
            addresses = await self._loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)
            sock = open_socket(addresses[0][0], local=addresses[0][4])
        except OSError as error:
            raise BankUnavailable(f"Cannot listen at {address_text(host, port)}: {error.strerror or error}.") from None
        self.address = address_text(*sock.getsockname()[:2])
        _, listener = await create_optimized_datagram_transport(
            self._loop, lambda: Listener(self, self._key, self.limits), sock=sock
        )
        assert isinstance(listener, Listener)
        self._listener = listener

    async def _check(self) -> None:
        """Look at the clock of every link."""
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            now = self._loop.time()
            for link in [*self._all_links(), *(self._listener.half_open if self._listener else ())]:
                link.check(now)
                if link.is_dialled and not link.is_ended and now - link.heard_at > 2 * self.limits.keep_alive_seconds:
                    await move_link(link)

    async def _flush(self, link: PeerLink) -> None:
        link.quic.release()
        for _ in range(int(self.limits.flush_seconds / _FLUSH_LOOK_SECONDS)):
            if link.is_ended or (not link.outbox_bytes and link.quic.is_flushed):
                return
            link.transmit()
            await asyncio.sleep(_FLUSH_LOOK_SECONDS)

    def _heard_links(self) -> list[PeerLink]:
        return [*self.links.values(), *self._asking]

    def _all_links(self) -> list[PeerLink]:
        return [*self._heard_links(), *self._newcomers]

    def _begin_task(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
