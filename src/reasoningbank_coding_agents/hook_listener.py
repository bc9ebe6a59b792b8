"""Starts and stops the hook listener inside `serve` (`agents.hook_server`)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank
    from reasoningbank.location import Location
    from reasoningbank_coding_agents.hook_server import HookServer

LONGEST_START_S = 5.0


@contextmanager
def serve_hooks(bank: Bank, location: Location, *, after_s: float = 0.0) -> Iterator[None]:
    """Answer hooks of this bank while the block runs. Where that cannot be, nothing is different for anybody."""
    if sys.platform == "win32" or location.state is None:
        yield
        return
    over = threading.Event()
    servers: list[HookServer] = []

    def start() -> None:
        if over.wait(after_s):
            return
        from reasoningbank_coding_agents.hook_server import HookServer

        with suppress(OSError):
            servers.append(HookServer(location, bank=bank))

    starter = threading.Thread(target=start, name="reasoningbank-hooks-start", daemon=True)
    starter.start()
    try:
        yield
    finally:
        over.set()
        starter.join(LONGEST_START_S)
        for server in servers:
            server.close()
