"""Asks a running server to answer a hook, over a socket in the folder that hooks have of a bank.

Loads nothing but sockets and JSON. A socket that nobody listens on any more is removed; a server that does not answer
in time, or is still loading, is left alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping

TYPE_CHECKING = False  # as `typing` has it
if TYPE_CHECKING:
    from _socket import socket

SOCKET_ENDING = ".sock"
LONGEST_ANSWER_BYTES = 1_000_000
YOUNG_S = 5.0
"""A server that has just been started may need so long for its first word."""
LATE = ("", None)
"""The answer when a server is at work on it and the deadline comes first: what it finds is kept for the next event."""
_CAPTURES = ("stop", "precompact", "sessionend", "subagentstop")


def event_name(raw: bytes, event: str | None) -> str:
    """The event as the command line names it, else as the agent does; "" for what is no event."""
    try:
        return str(event or json.loads(raw).get("hook_event_name") or "")
    except (ValueError, RecursionError, AttributeError):
        return ""


def is_capture(raw: bytes, event: str | None) -> bool:
    """True for an event that only notes that a session is to be read: that needs no bank, and must not depend on the
    environment of somebody else's process.
    """
    return event_name(raw, event).lower() in _CAPTURES


def ask_server(
    folder: str, raw: bytes, context: Mapping[str, object], *, within_s: float, loading_s: float = 0.0
) -> tuple[str, str | None] | None:
    """The text to print and the log of where it was delivered, or None when nobody can say.

    `context` is what a server must know besides the event. One that says that it is loading is given `loading_s`.
    """
    if sys.platform == "win32":
        return None
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(SOCKET_ENDING))
    except OSError:
        return None
    request = json.dumps({**context, "size": len(raw)}).encode("ascii") + b"\n" + raw
    # A few servers at most: each that hangs costs time of the deadline.
    for name in names[:4]:
        answer = _ask(os.path.join(folder, name), request, within_s, loading_s)
        if answer is not None:
            if answer.get("loading"):
                return LATE
            text, log = answer.get("said"), answer.get("log")
            return (text, log if isinstance(log, str) else None) if isinstance(text, str) else None
    return None


def confirm(log: str, turn: str) -> None:
    """Note that a hook's answer was printed, as `agents.session_log` reads it."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, b"\n" + json.dumps({"delivered": turn}).encode("ascii") + b"\n")
    finally:
        os.close(descriptor)


def _ask(path: str, request: bytes, within_s: float, loading_s: float) -> dict[str, object] | None:
    """The last answer of one server; None when there is none there."""
    import _socket  # the standard one without what it loads besides

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        until = time.monotonic() + loading_s
        # What a server has just been started for, it will see to.
        is_young = abs(time.time() - os.stat(path).st_mtime) < YOUNG_S
        connection.settimeout(min(YOUNG_S, max(within_s, loading_s)) if is_young else within_s)
        try:
            connection.connect(_short(path))
        except ConnectionRefusedError:
            # Its server was killed: nobody will listen here again.
            os.unlink(path)
            return None
        rest = memoryview(request)
        while rest:
            rest = rest[connection.send(rest) :]
        connection.shutdown(_socket.SHUT_WR)
        return _read_answer(connection, until, {"loading": True} if is_young and loading_s <= YOUNG_S else None)
    except (OSError, ValueError):
        return None
    finally:
        connection.close()


def _read_answer(connection: socket, until: float, reply: dict[str, object] | None) -> dict[str, object] | None:
    """The answer of a server, which may say first that it is loading, a line each; `reply` if it says nothing."""
    answer = b""
    while len(answer) < LONGEST_ANSWER_BYTES:
        try:
            more = connection.recv(65_536)
        except TimeoutError:
            return reply
        answer += more
        while b"\n" in answer:
            line, _, answer = answer.partition(b"\n")
            reply = json.loads(line)
            if not isinstance(reply, dict) or not reply.get("loading"):
                return reply if isinstance(reply, dict) else None
            connection.settimeout(max(0.001, until - time.monotonic()))
        if not more:
            break
    return None


def _short(path: str) -> str:
    """A path that fits into a socket's address: from its own folder, which a hook may well go to."""
    if len(os.fsencode(path)) < 100:
        return path
    os.chdir(os.path.dirname(path))
    return os.path.basename(path)
