"""Serves one MCP client over a pair of pipes: reads, refuses or greets, counts and answers its messages.

A thread reads and another writes, so that a client is greeted, and told which tools there are, while libraries load.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from reasoningbank.core.settings import DEFAULTS, SearchSettings
from reasoningbank.serve.mcp import greeting
from reasoningbank.serve.mcp.frames import INVALID_REQUEST, FrameRefused, RequestId, read_message
from reasoningbank.serve.mcp.pipe import Pipe

MOST_IN_FLIGHT = 256


class StdioLine:
    """One client's messages, framed and counted. Requests that are being answered are known by their ids."""

    def __init__(
        self,
        incoming: int,
        outgoing: int,
        search: SearchSettings = DEFAULTS.search,
        instructions: str = greeting.INSTRUCTIONS,
    ) -> None:
        self._search = search
        self._instructions = instructions
        self._pipe = Pipe(incoming, outgoing, on_broken=self._end)
        self._state = threading.Condition()
        self._in_flight: set[RequestId] = set()
        self._unwritten = 0
        self._greeted: set[RequestId] = set()
        self._early: list[dict[str, Any] | None] = []
        self._deliver: Callable[[dict[str, Any] | None], None] | None = None
        self._first = True
        self._touched_at = time.monotonic()
        self._version: str | None = None
        """The revision of the protocol that a greeted client speaks."""

    def listen(self) -> None:
        threading.Thread(target=self._read, name="reasoningbank-mcp-reader", daemon=True).start()

    def connect(self, deliver: Callable[[dict[str, Any] | None], None]) -> None:
        """Hand each message to `deliver`, from any thread, beginning with those that came before. None is the end."""
        with self._state:
            for message in self._early:
                deliver(message)
            self._early.clear()
            self._deliver = deliver

    def reply(self, message: dict[str, Any]) -> None:
        """Send a message of the server. The SDK's answer to a greeting that is out already is dropped."""
        request_id = message.get("id") if "method" not in message else None
        if request_id in self._greeted:
            self._greeted.discard(request_id)
        else:
            self._send(message, answers=request_id)

    def wait_until_idle(self, timeout_s: float) -> None:
        """Wait until every request has its answer on the wire, at most so long."""
        with self._state:
            self._state.wait_for(lambda: not self._in_flight and not self._unwritten, timeout_s)

    def calm_for_s(self) -> float:
        """Seconds since anything was asked or answered."""
        return 0.0 if self._in_flight or self._unwritten else time.monotonic() - self._touched_at

    def close(self) -> None:
        """Raise where answers were lost, unless it was the client that no longer reads."""
        self._pipe.close()
        if self._pipe.failure is not None and not isinstance(self._pipe.failure, BrokenPipeError):
            raise self._pipe.failure

    # ------------------------------------------------------------ reading

    def _read(self) -> None:
        for line in self._pipe.lines():
            message = line if isinstance(line, FrameRefused) else read_message(line)
            if isinstance(message, FrameRefused):
                self._refuse(message)
            elif "method" in message and "id" in message:
                self._take_request(message)
            else:
                self._take(message)
        self._end()

    def _take_request(self, message: dict[str, Any]) -> None:
        request_id = message["id"]
        with self._state:
            self._state.wait_for(lambda: len(self._in_flight) + self._unwritten < MOST_IN_FLIGHT)
            self._touched_at = time.monotonic()
            is_duplicate = request_id in self._in_flight
            self._in_flight.add(request_id)
        if is_duplicate:
            self._refuse(
                FrameRefused(code=INVALID_REQUEST, message="A request with this id is being answered.", id=request_id)
            )
            return
        if self._first and (hello := greeting.answer_to(message, self._instructions)) is not None:
            self._greeted.add(request_id)
            self._version = hello["result"]["protocolVersion"]
            self._send(hello, answers=request_id)
        elif self._deliver is None and self._version is not None:
            listing = greeting.listing_for(message, self._version, self._search)
            if listing is not None:
                self._send(listing, answers=request_id)
                return
        self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        self._first = False
        self._hand_over(message)
        if message.get("method") == "notifications/cancelled":
            self._cancel(message.get("params", {}).get("requestId"))

    def _refuse(self, fault: FrameRefused) -> None:
        error = {"code": fault.code, "message": fault.message}
        self._send({"jsonrpc": "2.0", "id": fault.id, "error": error})

    def _end(self) -> None:
        self._hand_over(None)

    def _hand_over(self, message: dict[str, Any] | None) -> None:
        with self._state:
            if self._deliver is None:
                self._early.append(message)
            else:
                self._deliver(message)

    def _send(self, message: dict[str, Any], *, answers: RequestId = None) -> None:
        with self._state:
            # No longer in flight before it is written: a client may use the id again once it has read the answer.
            self._in_flight.discard(answers)
            self._unwritten += 1
        self._pipe.send(encode(message), self._write)

    def _write(self) -> None:
        with self._state:
            self._unwritten -= 1
            self._touched_at = time.monotonic()
            self._state.notify_all()

    def _cancel(self, request_id: object) -> None:
        """A cancelled request gets no answer. Its id may come as text or as a number, whichever it was sent as."""
        with self._state:
            self._in_flight -= {candidate for candidate in self._in_flight if str(candidate) == str(request_id)}
            self._state.notify_all()


def encode(message: dict[str, Any]) -> bytes:
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        # Half a surrogate pair that the client itself sent: it can be escaped, not encoded.
        return json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii")
