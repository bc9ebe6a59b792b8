"""Reads and writes lines on the standard streams of this process.

Independent of what a line says. The standard streams are moved aside, so that whatever else prints in this process (a
library, a child) reaches standard error and never the client.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue

from reasoningbank.serve.mcp.frames import END_BYTES, MOST_BYTES, FrameRefused, too_large

READ_BYTES = 65_536
CLOSE_WITHIN_S = 5.0


class Pipe:
    def __init__(self, incoming: int, outgoing: int, *, on_broken: Callable[[], None]) -> None:
        """`on_broken` is called, from another thread, when the client no longer reads."""
        self._incoming = incoming
        self._outgoing = outgoing
        self._on_broken = on_broken
        self._waiting: SimpleQueue[tuple[bytes, Callable[[], None]] | None] = SimpleQueue()
        self.failure: OSError | None = None
        """Why nothing more is written."""
        self._writer = threading.Thread(target=self._write, name="reasoningbank-mcp-writer", daemon=True)
        self._writer.start()

    def lines(self) -> Iterator[bytes | FrameRefused]:
        """Each line that is not blank, until the client closes its end. One that is too long is refused unread."""
        pending = bytearray()
        head = b""
        while chunk := self._read():
            *whole, rest = chunk.split(b"\n")
            for piece in whole:
                pending += piece
                if head or len(pending) > MOST_BYTES:
                    yield too_large(head or bytes(pending[:END_BYTES]), bytes(pending[-END_BYTES:]))
                elif not pending.isspace() and pending:
                    yield bytes(pending)
                pending.clear()
                head = b""
            pending += rest
            if len(pending) > MOST_BYTES or (head and len(pending) > READ_BYTES):
                # Too long: its two ends are all that is kept of it.
                head = head or bytes(pending[:END_BYTES])
                del pending[:-END_BYTES]
        if pending and not pending.isspace():
            yield bytes(pending)

    def _read(self) -> bytes:
        try:
            return os.read(self._incoming, READ_BYTES)
        except OSError:
            return b""

    def send(self, line: bytes, on_done: Callable[[], None]) -> None:
        """Hand a line over; `on_done` is called once it is out, or is known never to get out."""
        self._waiting.put((line, on_done))

    def close(self) -> None:
        """Write what was handed over, unless the client does not take it."""
        self._waiting.put(None)
        self._writer.join(CLOSE_WITHIN_S)

    def _write(self) -> None:
        while (entry := self._waiting.get()) is not None:
            line, on_done = entry
            if self.failure is None:
                try:
                    _write_all(self._outgoing, line + b"\n")
                except OSError as error:
                    self.failure = error
                    self._on_broken()
            on_done()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def claim_standard_streams() -> tuple[int, int]:
    """Private descriptors of what were standard input and output. From here on those lead to nothing and to stderr."""
    incoming, outgoing = _private_copy(0), _private_copy(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        os.dup2(2, 1)
    except OSError:
        # Started without standard error: then stray output has nowhere to go.
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.close(sink)
    return incoming, outgoing


def _private_copy(descriptor: int) -> int:
    """A copy of a descriptor that children do not inherit, and that is never one of the standard three."""
    copies = [os.dup(descriptor)]
    while copies[-1] <= 2:
        copies.append(os.dup(descriptor))
    for spare in copies[:-1]:
        os.close(spare)
    return copies[-1]
