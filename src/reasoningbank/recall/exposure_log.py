"""Logs exposures and questions asked in vain, apart from the read path.

A search hands its lines over and returns; a thread of this process writes them down within a second, and closing
writes the rest. Losing some to a kill loses no record. Where several machines serve one bank, what a session was shown
is written before the search returns: the session may end at another server in the next moment, and be credited there.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from reasoningbank.core.errors import StoreError
from reasoningbank.core.types import Exposure
from reasoningbank.forking import renew_in_child
from reasoningbank.ports import Filter, Store
from reasoningbank.recall.gaps import beginning_of, gap_of, is_a_gap
from reasoningbank.recall.query import Query

FLUSH_EVERY_S = 0.5
MOST_WAITING = 10_000
MOST_GAPS_WAITING = 500


class ShownLog:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_shared = store.info.location.is_remote
        self._waiting: list[Exposure] = []
        self._vain: list[tuple[str, Filter, float]] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        """Held while lines are written: whoever flushes next returns when they are there to be read."""
        self._wake = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """Drops the parent's lines, which are its own to write, and its thread."""
        self._waiting, self._vain = [], []
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._wake, self._thread = threading.Event(), None

    def note(self, exposures: Sequence[Exposure]) -> None:
        if not exposures:
            return
        with self._lock:
            self._waiting.extend(exposures)
            # Bounded: a store that cannot be written for long costs the oldest lines, not the memory of the process.
            del self._waiting[:-MOST_WAITING]
            self._start()
        if self._is_shared and any(exposure.trajectory_id is not None for exposure in exposures):
            self.flush()

    def note_gap(self, query: Query, where: Filter, now: float, *, vain: bool) -> None:
        """Notes the question of a search that was `vain`; of any other, nothing."""
        if not (vain and is_a_gap(query)):
            return
        with self._lock:
            self._vain.append((beginning_of(query.text), where, now))
            del self._vain[:-MOST_GAPS_WAITING]
            self._start()

    def _start(self) -> None:
        if self._thread is None and not self._closing:
            self._thread = threading.Thread(target=self._run, name="reasoningbank-shown-log", daemon=True)
            self._thread.start()

    def flush(self) -> None:
        with self._writing:
            self._write()

    def _write(self) -> None:
        with self._lock:
            lines, self._waiting = self._waiting, []
            vain, self._vain = self._vain, []
        try:
            self._store.log_shown(lines)
            lines = []
            gaps = [gap_of(text, where, at) for text, where, at in vain]
            self._store.log_gaps([gap for gap in gaps if gap.question])
        except (StoreError, OSError):
            # An `OSError` is that of a module which is loaded for it.
            with self._lock:
                self._waiting[:0] = lines
                self._vain[:0] = vain

    def _run(self) -> None:
        while not self._wake.wait(FLUSH_EVERY_S):
            self.flush()
            with self._lock:
                if not (self._waiting or self._vain):
                    # It keeps the store: a bank that is dropped without being closed goes once nothing waits.
                    self._thread = None
                    return

    def close(self) -> None:
        self._closing = True
        self._wake.set()
        thread = self._thread
        if thread is not None:
            thread.join(timeout=5.0)
        self.flush()
