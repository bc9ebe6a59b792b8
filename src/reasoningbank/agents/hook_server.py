"""Answers hooks from a running server, so that they need not open a bank, an index and a model each time.

No process of our own: `serve` and `serve --mcp` listen on a socket in the folder beside the bank, which only this user
may enter. Nothing is loaded before the first hook asks; while it loads, hooks are told so and answer by themselves.
When the server goes, its socket goes with it, or is removed by the next hook that finds nobody there.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reasoningbank.agents.state_dir import make_room, place_of

if TYPE_CHECKING:
    from reasoningbank.agents.answer import House
    from reasoningbank.bank.bank import Bank
    from reasoningbank.location import Location

LISTENERS = 4
"""Hooks that are answered side by side; more wait, or answer by themselves."""
BACKLOG = 256
TALK_S = 2.0
"""For all that a hook has to say: one that says it letter by letter keeps no other waiting."""
PIECE_BYTES = 65_536
LONGEST_HEAD_BYTES = 100_000
LONGEST_EVENT_BYTES = 8_000_000
LONGEST_ADDRESS_BYTES = 100
NEED_THE_INDEX = frozenset({"UserPromptSubmit", "PostToolUseFailure"})


class HookServer:
    def __init__(self, bank: Bank, location: Location) -> None:
        self._bank = bank
        self._location = location
        self._path = place_of(location).folder / f"warm-{os.getpid()}.sock"
        self._listener = _bind(self._path)
        self._loading = threading.Lock()
        self._loaded = False
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
                if _is_this_user(connection):
                    self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        asked, raw = _read_request(connection)
        answer = self._answer(asked, raw)
        connection.settimeout(TALK_S)
        connection.sendall(json.dumps(answer).encode("ascii"))

    def _answer(self, asked: dict[str, Any], raw: bytes) -> dict[str, Any]:
        """`log` is where the hook notes that it has printed what was said: only it can know."""
        from reasoningbank.agents.answer import House, answer_event
        from reasoningbank.agents.events import SESSION_START
        from reasoningbank.agents.payload import event_from
        from reasoningbank.agents.policy import policy_from
        from reasoningbank.agents.session_log import Delivery
        from reasoningbank.core.errors import BankError

        delivery = Delivery(str(asked.get("turn") or ""))
        data = json.loads(raw.decode("utf-8", "replace"))
        event = event_from(str(asked["agent"]), data, named=asked.get("event"), cwd=str(asked["cwd"]))
        if event is None:
            return {}
        if event.kind in NEED_THE_INDEX and not self._loaded:
            self._load()
            return {"busy": True}
        house = House(
            location=self._location,
            bank=lambda: self._bank,
            policy=policy_from(str(asked.get("hooks") or "")),
            namespace=asked.get("namespace") or None,
            now=time.time(),
            starts_reader=False,
            delivery=delivery if delivery.turn else None,
        )
        try:
            said = answer_event(event, house)
            return {"said": said, "log": None if delivery.log is None else str(delivery.log)}
        except (BankError, OSError) as error:
            # The hook meets the same, and knows how to tell.
            return {"failed": str(error)}
        finally:
            # Somebody works here now: the first prompt is not far.
            self._load()
            if event.kind == SESSION_START:
                self._note_namespace(event.cwd, house)

    def _load(self) -> None:
        if not self._loaded and self._loading.acquire(blocking=False):
            threading.Thread(target=self._search_once, name="reasoningbank-hooks-loading", daemon=True).start()

    def _search_once(self) -> None:
        from reasoningbank.core.errors import BankError

        try:
            with suppress(BankError, OSError):
                self._bank.search("what is known here", noted=False)
                self._loaded = True
        finally:
            self._loading.release()

    def _note_namespace(self, cwd: str, house: House) -> None:
        """Bring the known failures of a repository up to date while its first prompt is being written."""
        from reasoningbank.agents.known_failures import refresh
        from reasoningbank.agents.namespaces import spaces_of
        from reasoningbank.core.errors import BankError

        def follow() -> None:
            with suppress(BankError, OSError):
                own = spaces_of(cwd, house.policy, house.namespace).own
                refresh(self._bank.context, place_of(self._location), own)

        threading.Thread(target=follow, name="reasoningbank-hooks-troubles", daemon=True).start()


def _read_request(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    """What is asked, and the event that it is about."""
    until = time.monotonic() + TALK_S
    said = bytearray()

    def hear_more() -> bool:
        connection.settimeout(max(0.001, until - time.monotonic()))
        piece = connection.recv(PIECE_BYTES)
        said.extend(piece)
        return bool(piece) and time.monotonic() < until

    while b"\n" not in said and len(said) < LONGEST_HEAD_BYTES and hear_more():
        pass
    head, _, rest = bytes(said).partition(b"\n")
    asked = json.loads(head)
    size = min(int(asked["size"]), LONGEST_EVENT_BYTES)
    said[:] = rest
    while len(said) < size and hear_more():
        pass
    return asked, bytes(said[:size])


def _bind(path: Path) -> socket.socket:
    make_room(path)
    for other in path.parent.glob("warm-*.sock"):
        if not _is_alive(other):
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


def _is_alive(path: Path) -> bool:
    try:
        os.kill(int(path.stem.partition("-")[2]), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True


def _is_this_user(connection: socket.socket) -> bool:
    """By the kernel's word, where it gives one; the folder lets nobody else in anyway."""
    kind = getattr(socket, "SO_PEERCRED", None)
    if kind is None:
        return True
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, kind, struct.calcsize("3i")))
    return bool(user == os.getuid())
