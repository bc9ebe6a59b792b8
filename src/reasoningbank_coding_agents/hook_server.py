"""Answers hooks from a running server, so that they need not open a bank, an index and a model each time.

`serve`, `serve --mcp` and the helper (`agents.hook_helper`) listen on a socket in the folder beside the bank, which
only this user may enter. While one loads, hooks are told so and wait for it within their deadline. When the server
goes, its socket goes with it, or is removed by the next hook that finds nobody there.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasoningbank.config.environment import agent_around
from reasoningbank_coding_agents.state_dir import make_room, place_of

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank
    from reasoningbank.location import Location
    from reasoningbank_coding_agents.house import House
    from reasoningbank_coding_agents.payload import Event
    from reasoningbank_coding_agents.session_log import Delivery

LISTENERS = 4
"""Hooks that are answered side by side; more wait, or answer by themselves."""
BACKLOG = 256
TALK_S = 2.0
"""For all that a hook has to say: one that says it letter by letter keeps no other waiting."""
PIECE_BYTES = 65_536
LONGEST_HEAD_BYTES = 100_000
LONGEST_EVENT_BYTES = 8_000_000
LONGEST_ADDRESS_BYTES = 100
LONGEST_LOADING_S = 20.0
"""That an event waits for the bank; a hook that waits no longer finds its answer kept for the next event."""
LOADING = {"loading": True}
NEED_THE_INDEX = frozenset({"UserPromptSubmit", "PostToolUseFailure"})


class HookServer:
    def __init__(
        self,
        location: Location,
        *,
        bank: Bank | None = None,
        open_bank: Callable[[], Bank] | None = None,
        listening: tuple[socket.socket, Path] | None = None,
    ) -> None:
        """A bank, or how to open it. `listening` is a socket that somebody has bound already, and where."""
        self._open_bank = open_bank
        self._location = location
        path = place_of(location).warm_socket(os.getpid())
        self._listener, self._path = listening or (bind(path), path)
        self._bank = bank
        self._failure = ""
        self._loading = threading.Lock()
        self._loaded = False
        self._tried = threading.Event()
        self.heard_at = time.monotonic()
        """When a hook last asked for something."""
        for number in range(LISTENERS):
            threading.Thread(target=self._listen, name=f"reasoningbank-hooks-{number}", daemon=True).start()

    def close(self) -> None:
        self._path.unlink(missing_ok=True)
        # Those who wait for a hook are woken by this, and not by closing alone.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            # A hook that goes away, or talks nonsense, costs itself.
            with connection, suppress(OSError, ValueError, KeyError, TypeError):
                process = _process_of(connection)
                if process is not None:
                    if not self._loaded:
                        # At once, before anything is imported for it: whoever hears nothing does not wait.
                        _send(connection, LOADING)
                    self._talk(connection, process)

    def _talk(self, connection: socket.socket, process: int) -> None:
        """Answer one event. A hook that has given up meanwhile leaves what was to be said to the session's next."""
        from reasoningbank_coding_agents.hosts import host_named
        from reasoningbank_coding_agents.payload import event_from
        from reasoningbank_coding_agents.session_log import Delivery

        request, raw = _read_request(connection)
        self.heard_at = time.monotonic()
        data = json.loads(raw.decode("utf-8", "replace"))
        event = event_from(str(request["agent"]), data, event_name=request.get("event"), cwd=str(request["cwd"]))
        if event is None:
            _send(connection, {})
            return
        # While the hook is there to be looked at: it may give up before it is answered.
        by_agent = agent_around(process, _variables(request), host_named(event.agent).own_marks)
        if self._bank is None or (event.kind in NEED_THE_INDEX and not self._loaded):
            self.load()
            self._tried.wait(LONGEST_LOADING_S)
        delivery = Delivery(str(request.get("turn") or ""))
        if not _send(connection, self._answer(event, request, delivery, by_agent)):
            delivery.drop()

    def _answer(
        self, event: Event, request: Mapping[str, Any], delivery: Delivery, by_agent: str | None
    ) -> dict[str, Any]:
        """`log` is where the hook notes that it has printed what was said: only it can know."""
        from reasoningbank.core.errors import BankError
        from reasoningbank_coding_agents.answer import answer_event
        from reasoningbank_coding_agents.events import SESSION_START
        from reasoningbank_coding_agents.house import House
        from reasoningbank_coding_agents.policy import policy_from

        if self._bank is None:
            return {"failed": self._failure}
        house = House(
            location=self._location,
            bank=lambda **_: self._bank,
            by_agent=by_agent,
            variables=_variables(request),
            policy=policy_from(str(request.get("hooks") or "")),
            namespace=request.get("namespace") or None,
            now=time.time(),
            starts_reader=False,
            delivery=delivery if delivery.turn else None,
        )
        try:
            text = answer_event(event, house)
            return {"said": text, "log": None if delivery.log is None else str(delivery.log)}
        except (BankError, OSError) as error:
            # The hook meets the same, and knows how to tell.
            return {"failed": str(error)}
        finally:
            # Somebody works here now: the first prompt is not far.
            self.load()
            if event.kind == SESSION_START:
                self._note_namespace(event.cwd, house)

    def load(self) -> None:
        """Begin to open the bank and its index, unless that is done or under way."""
        if not self._loaded and self._loading.acquire(blocking=False):
            self._tried.clear()
            threading.Thread(target=self._search_once, name="reasoningbank-hooks-loading", daemon=True).start()

    def _search_once(self) -> None:
        from reasoningbank.core.errors import BankError

        try:
            bank = self._bank if self._open_bank is None else self._open_bank()
            if bank is not None:
                bank.search("what is known here", noted=False)
                self._bank, self._loaded = bank, True
        except (BankError, OSError) as error:
            self._failure = str(error)
        finally:
            self._tried.set()
            self._loading.release()

    def _note_namespace(self, cwd: str, house: House) -> None:
        """Bring the known failures of a repository up to date while its first prompt is being written."""
        from reasoningbank.core.errors import BankError
        from reasoningbank_coding_agents.known_failures import refresh
        from reasoningbank_coding_agents.namespaces import spaces_of

        def follow() -> None:
            with suppress(BankError, OSError):
                for namespace in spaces_of(cwd, house.policy, house.namespace).read:
                    if self._bank is not None:
                        refresh(self._bank.context, place_of(self._location), namespace)

        threading.Thread(target=follow, name="reasoningbank-hooks-troubles", daemon=True).start()


def _variables(request: Mapping[str, Any]) -> dict[str, str]:
    variables = request.get("variables")
    return {str(name): str(value) for name, value in variables.items()} if isinstance(variables, dict) else {}


def _send(connection: socket.socket, message: Mapping[str, Any]) -> bool:
    """Send one line; True if the hook was still there to hear it."""
    connection.settimeout(TALK_S)
    try:
        connection.sendall(json.dumps(message).encode("ascii") + b"\n")
    except OSError:
        return False
    return True


def _read_request(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    """The request, and the event that it is about."""
    until = time.monotonic() + TALK_S
    buffer = bytearray()

    def hear_more() -> bool:
        connection.settimeout(max(0.001, until - time.monotonic()))
        piece = connection.recv(PIECE_BYTES)
        buffer.extend(piece)
        return bool(piece) and time.monotonic() < until

    while b"\n" not in buffer and len(buffer) < LONGEST_HEAD_BYTES and hear_more():
        pass
    head, _, rest = bytes(buffer).partition(b"\n")
    request = json.loads(head)
    size = min(int(request["size"]), LONGEST_EVENT_BYTES)
    buffer[:] = rest
    while len(buffer) < size and hear_more():
        pass
    return request, bytes(buffer[:size])


def bind(path: Path) -> socket.socket:
    """A socket that listens there. Those of servers that are gone are cleared away."""
    make_room(path)
    for other in path.parent.glob("warm-*.sock"):
        if not is_alive(other):
            other.unlink(missing_ok=True)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(path) as address:
            listener.bind(address)
        path.chmod(0o600)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """The path, or a shorter way to the same place where it is too long for a socket's address (Linux only)."""
    if len(os.fsencode(path)) < LONGEST_ADDRESS_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def is_alive(path: Path) -> bool:
    try:
        os.kill(int(path.stem.partition("-")[2]), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True


def _process_of(connection: socket.socket) -> int | None:
    """The process at the other end, 0 where the kernel does not tell; None if another user's. The folder lets nobody
    else in anyway.
    """
    kind = getattr(socket, "SO_PEERCRED", None)
    if kind is None:
        return 0
    process, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, kind, struct.calcsize("3i")))
    return int(process) if user == os.getuid() else None
