"""The log of what was shown, written apart from the read path.

A search hands its lines over and returns; a thread of this process writes them down within a second, and closing
writes the rest. Losing some to a kill loses no record.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from reasoningbank.core.errors import StoreError
from reasoningbank.core.types import Exposure
from reasoningbank.ports import Store

FLUSH_EVERY_S = 0.5
MOST_WAITING = 10_000


class ShownLog:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[Exposure] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None

    def note(self, exposures: Sequence[Exposure]) -> None:
        if not exposures:
            return
        with self._lock:
            self._waiting.extend(exposures)
            # Bounded: a store that cannot be written for long costs the oldest lines, not the memory of the process.
            del self._waiting[:-MOST_WAITING]
            if self._thread is None and not self._closing:
                self._thread = threading.Thread(target=self._run, name="reasoningbank-shown-log", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        with self._lock:
            lines, self._waiting = self._waiting, []
        try:
            self._store.log_shown(lines)
        except StoreError:
            with self._lock:
                self._waiting[:0] = lines

    def _run(self) -> None:
        while not self._wake.wait(FLUSH_EVERY_S):
            self.flush()

    def close(self) -> None:
        self._closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=5.0)
        self.flush()
