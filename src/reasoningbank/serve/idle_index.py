"""Brings the index up to date while a server has nothing else to do, so that no search has to.

That is worth while when something is owed, whoever writes has paused, and nobody is being served. It works a fraction
of a second at a time and lets go of the index in between, so a search, in this process or another one, waits for one
batch at most. A bank that cannot be written is left alone for a while, never reported to those who are served. Once an
hour it looks for damage as well.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import BankError
from reasoningbank.serve.workers import MakeWay

LOOK_S = 1.0
"""How often it is looked whether something is owed, where nobody tells."""
SETTLE_S = 0.1
"""After it was told of a commit: whoever writes has paused when nothing more came for so long."""
LONGEST_WRITING_S = 5.0
"""Somebody who writes all the time is not waited for longer than this."""
SLICE_S = 0.2
BREATH_S = 0.05
"""Between two slices; longer than another process takes to see that the index is free."""
WORTH_OPENING_FOR = 32
"""Changes that must be owed before an index, and a model, is loaded for it alone: a search makes up for less in no
time.
"""
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
EXAMINE_EVERY_S = 3600.0
"""How often an open index is held against its checksums and the records."""
END_WITHIN_S = 5.0
_log = logging.getLogger("reasoningbank.index")


class IdleIndexer:
    """Indexes while the server is idle: `start` it, `stop` it from anywhere, `close` it before the bank is closed."""

    def __init__(self, bank: Bank, *, make_way: MakeWay, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._bank = bank
        self._make_way = make_way
        self._monotonic = monotonic
        self._stopping = threading.Event()
        self._woken = threading.Event()
        """Set when somebody has committed, or it is to stop."""
        self._thread: threading.Thread | None = None
        self._head = -1
        """The last change when it was last looked."""
        self._moving_since: float | None = None
        self._is_told = False
        """True if this store tells of commits."""
        self._done_at = -1
        """The last change when nothing was owed, or too little."""
        self._passed_over = False
        """True if something is owed that was not worth opening an index for."""
        self._pause_s = 0.0
        self._examined_at = monotonic()

    def start(self) -> None:
        if not self._bank.context.store.info.read_only:
            self._thread = threading.Thread(target=self._run, name="reasoningbank-index", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after the batch in hand."""
        self._stopping.set()
        self._woken.set()

    def close(self) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join(END_WITHIN_S)

    def _run(self) -> None:
        with self._bank.context.store.listen(self._woken.set):
            while not self._stopping.is_set():
                self._wait()
                try:
                    if self._stopping.is_set():
                        return
                    if self.is_due():
                        self._catch_up()
                    else:
                        self.examine_if_time()
                    self._pause_s = 0.0
                except Exception as error:  # noqa: BLE001 - the outermost door of this thread: told in the log, tried again
                    self._rest(error)

    def _wait(self) -> None:
        """Wait until somebody has committed and a little longer, or it is time to look."""
        if self._pause_s:
            self._stopping.wait(self._pause_s)
        elif self._is_told and self._moving_since is not None:
            self._stopping.wait(SETTLE_S)
        elif self._woken.wait(LOOK_S):
            self._is_told = True
        self._woken.clear()

    def is_due(self) -> bool:
        """True if enough is owed and whoever wrote last has paused."""
        head = self._bank.context.store.head()
        now = self._monotonic()
        if head != self._head:
            self._head = head
            if self._moving_since is None:
                self._moving_since = now
            if now - self._moving_since < LONGEST_WRITING_S:
                return False
        self._moving_since = None
        is_open = self._bank.has_open_index
        if head == self._done_at and not (is_open and self._passed_over):
            return False
        owed = self._bank.index_lag()
        if not owed or (owed < WORTH_OPENING_FOR and not is_open):
            self._done_at, self._passed_over = head, bool(owed)
            return False
        return True

    def examine_if_time(self) -> None:
        """Find damage that no search has come across, and build again what it hit. Searches go on meanwhile."""
        if not self._bank.has_open_index or self._monotonic() - self._examined_at < EXAMINE_EVERY_S:
            return
        self._make_way(self._stopping)
        if self._bank.mend_index():
            _log.warning("parts of the index were damaged and are built again")
        self._examined_at = self._monotonic()

    def _catch_up(self) -> None:
        head = self._head
        while not self._stopping.is_set():
            self._make_way(self._stopping)
            if self._bank.catch_up(budget_s=SLICE_S, give_way=self._stopping.is_set):
                self._done_at, self._passed_over = head, False
                return
            self._stopping.wait(BREATH_S)

    def _rest(self, error: Exception) -> None:
        self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
        if not self._stopping.is_set():
            reason = error if isinstance(error, (BankError, OSError)) else f"{type(error).__name__}: {error}"
            _log.warning("the index is not brought up to date for %g s: %s", self._pause_s, reason)
