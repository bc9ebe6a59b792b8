"""The process that brings an index forward while another one imports (`wiring.index_helper`)."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time

from reasoningbank.config.environment import from_environment, locate
from reasoningbank.wiring.backends import backend_of
from reasoningbank.wiring.engine import IndexEngine

_PAUSE_S = 0.02
_NICER_BY = 5


def _await_end(over: threading.Event) -> None:
    while sys.stdin.buffer.read(1):
        pass
    over.set()


def main() -> None:
    """Follow the feed of a bank until standard input ends, with the policy and the settings that stand there."""
    policy, settings = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own process, through a pipe of its own
    over = threading.Event()
    threading.Thread(target=_await_end, args=(over,), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICER_BY)
    location = locate(sys.argv[1] or None)
    durability = settings.storage.durability
    store = backend_of(location).open(location, durability=durability, create=False, read_only=False, clock=time.time)
    try:
        engine = IndexEngine(store, location, from_environment(), policy, time.time, settings=settings)
        try:
            while not over.wait(_PAUSE_S):
                engine.using(lambda searcher: searcher.follower.catch_up(budget_s=1.0, give_way=over.is_set))
        finally:
            engine.close()
    finally:
        store.close()


if __name__ == "__main__":
    main()
