"""Asks a running server to answer a hook, over a socket in the folder that hooks have of a bank.

Knows sockets and JSON, and loads nothing else. A socket that nobody listens on any more is removed; a server that does
not answer in time, or is still loading, is left alone.
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
MOST_TRIED = 4
YOUNG_S = 5.0
"""A server that has just been started may need so long for its first word."""
LATE = ("", None)
"""What is said when a server is at work on it and the deadline comes first: it is kept for the next event."""
_CAPTURES = ("stop", "precompact", "sessionend", "subagentstop")


def event_name(raw: bytes, named: str | None) -> str:
    """The event as the command line names it, else as the agent does; "" for what is no event."""
    try:
        return str(named or json.loads(raw).get("hook_event_name") or "")
    except (ValueError, RecursionError, AttributeError):
        return ""


def is_capture(raw: bytes, named: str | None) -> bool:
    """Whether an event only notes that a session is to be read: that needs no bank, and must not depend on the
    environment of somebody else's process.
    """
    return event_name(raw, named).lower() in _CAPTURES


def ask_server(
    folder: str, raw: bytes, asked: Mapping[str, object], *, within_s: float, loading_s: float = 0.0
) -> tuple[str, str | None] | None:
    """What to print and the log of where it was delivered, or None when nobody can say.

    `asked` is what a server must know besides the event. One that says that it is loading is given `loading_s`.
    """
    if sys.platform == "win32":
        return None
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(SOCKET_ENDING))
    except OSError:
        return None
    request = json.dumps({**asked, "size": len(raw)}).encode("ascii") + b"\n" + raw
    for name in names[:MOST_TRIED]:
        answer = _ask(os.path.join(folder, name), request, within_s, loading_s)
        if answer is not None:
            if answer.get("loading"):
                return LATE
            said, log = answer.get("said"), answer.get("log")
            return (said, log if isinstance(log, str) else None) if isinstance(said, str) else None
    return None


def confirm(log: str, turn: str) -> None:
    """Note that what a hook was to say was printed, as `agents.session_log` reads it."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, b"\n" + json.dumps({"delivered": turn}).encode("ascii") + b"\n")
    finally:
        os.close(descriptor)


def _ask(path: str, request: bytes, within_s: float, loading_s: float) -> dict[str, object] | None:
    """The last that one server said; None when there is none there."""
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
        left = memoryview(request)
        while left:
            left = left[connection.send(left) :]
        connection.shutdown(_socket.SHUT_WR)
        return _heard(connection, until, {"loading": True} if is_young and loading_s <= YOUNG_S else None)
    except (OSError, ValueError):
        return None
    finally:
        connection.close()


def _heard(connection: socket, until: float, told: dict[str, object] | None) -> dict[str, object] | None:
    """What a server says, a line each: that it is loading, perhaps, and then the answer; `told` if it says nothing."""
    answer = b""
    while len(answer) < LONGEST_ANSWER_BYTES:
        try:
            more = connection.recv(65_536)
        except TimeoutError:
            return told
        answer += more
        while b"\n" in answer:
            line, _, answer = answer.partition(b"\n")
            told = json.loads(line)
            if not isinstance(told, dict) or not told.get("loading"):
                return told if isinstance(told, dict) else None
            connection.settimeout(max(0.001, until - time.monotonic()))
        if not more:
            break
    return None


def _short(path: str) -> str:
    """Within what a socket's address has room for: from its own folder, which a hook may well go to."""
    if len(os.fsencode(path)) < 100:
        return path
    os.chdir(os.path.dirname(path))
    return os.path.basename(path)
