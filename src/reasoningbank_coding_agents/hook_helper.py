"""Keeps a bank warm for hooks: `python -m reasoningbank_coding_agents.hook_helper BANK STAY_S SOCKET LOCK`.

Started when a session starts, so that its first prompt need not open a bank, an index and a model. It is the only one
of its bank and its user, and ends by itself: when nobody has asked for a while, when its life is over, when another
server answers, when its socket, its bank or the settings are no longer what they were. Killing it costs only warmth.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.config import config_files, from_environment, locate
from reasoningbank.location import Location
from reasoningbank_coding_agents.hook_server import HookServer, is_alive
from reasoningbank_coding_agents.state_dir import StateDir, place_of

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank

LONGEST_LIFE_S = 4 * 3600.0
LOOK_EVERY_S = 1.0
WITH_ANOTHER_S = 30.0
"""After so long without a word it leaves the hooks to a server that runs anyway."""


def main(arguments: Sequence[str]) -> int:
    bank_argument, stay_s, listening, _ = arguments
    location = locate(bank_argument or None)
    place = place_of(location)
    path = place.warm_socket(os.getpid())
    listener = socket.socket(fileno=int(listening))
    stopping = threading.Event()
    # Before the socket has its name: whoever sees the name may end this process, and then it goes with it.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stopping.set())
    with suppress(FileNotFoundError):
        path.with_name(Path(listener.getsockname()).name).rename(path)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    stamps = _stamps(location)

    def open_bank() -> Bank:
        from reasoningbank.wiring import ReasoningBank

        return ReasoningBank.open(location, create=False)

    server = HookServer(location, open_bank=open_bank, listening=(listener, path))
    server.load()
    is_over = _end(server, location, place, float(stay_s), stamps)
    while not stopping.wait(LOOK_EVERY_S) and not is_over():
        pass
    server.close()
    # Nothing was written that a close would have to finish.
    os._exit(0)


def _end(
    server: HookServer, location: Location, place: StateDir, stay_s: float, stamps: list[object]
) -> Callable[[], bool]:
    """A function that is true when it is time to go; `stamps` are those of what was there before anything was read."""
    began = time.monotonic()
    own = place.warm_socket(os.getpid())

    def is_over() -> bool:
        idle_s = time.monotonic() - server.heard_at
        siblings = (path for path in place.folder.glob("warm-*.sock") if path != own and is_alive(path))
        return (
            idle_s > stay_s
            or time.monotonic() - began > LONGEST_LIFE_S
            or not own.exists()
            or _stamps(location) != stamps
            or (idle_s > WITH_ANOTHER_S and any(siblings))
        )

    return is_over


def _stamps(location: Location) -> list[object]:
    """Which file the bank is, and when the settings were written."""
    return [location.file_number(), *map(_stamp, config_files(location, from_environment()))]


def _stamp(path: str | Path) -> tuple[int, ...] | None:
    with suppress(OSError):
        info = Path(path).stat()
        return info.st_ino, info.st_mtime_ns
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
