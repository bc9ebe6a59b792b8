"""The thread of a running node that works on the bank: signs what is new there, applies what came from others.

A bank that is busy, full or away is tried again after a pause; nothing is lost meanwhile, since both directions go on
from a position that is kept with what was done.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from reasoningbank.core.errors import BankError
from reasoningbank_bus.bank_key import NodeElsewhere, stay_only_node
from reasoningbank_bus.exchange.applying import Applier
from reasoningbank_bus.exchange.publishing import Publisher
from reasoningbank_bus.home import BusHome
from reasoningbank_bus.log.durable import DurableLog
from reasoningbank_bus.refusal_tally import RefusalTally
from reasoningbank_bus.wire.entry import Entry

LOOK_S = 0.25
"""How often the bank is looked at where its store tells nobody of commits."""
SETTLE_S = 0.2
"""How long nothing more must have come before what came is applied."""
LONGEST_POURING_S = 5.0
"""How long what keeps coming may wait until it is applied."""
STAY_S = 1.0
"""How often it is made sure that no other machine runs the node of this bank."""
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
END_WITHIN_S = 30.0
_log = logging.getLogger("reasoningbank.bus")


class BankThread:
    def __init__(self, bus: BusHome, log: DurableLog, *, publish: Callable[[Sequence[Entry]], None]) -> None:
        self._bus = bus
        self._log = log
        self._publish = publish
        self.rights = bus.rights(self._log)
        """As this thread and those that search know them: another value when they have changed."""
        self.unsent = RefusalTally()
        """Tally of what of ours was not signed."""
        self._publisher = Publisher(bus.bank, self._log, bus.key, self.rights, tally=self.unsent)
        self._applier = Applier(bus.bank, self._log, bus.key.public)
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._ended: Future[None] | None = None
        self._pause_s = 0.0
        self._stayed_at = time.monotonic()
        self.trouble = ""
        """Why the bank cannot be worked on now; "" when it can."""
        self._are_rights_old = False
        self._took_at = self._pouring_since = -SETTLE_S
        self.unapplied = RefusalTally()
        """Entries of others that were not applied."""

    def start(self) -> None:
        runner = ThreadPoolExecutor(1, thread_name_prefix="bus-bank")
        self._ended = runner.submit(self._run)
        runner.shutdown(wait=False)

    def wake(self, *, rights_changed: bool = False) -> None:
        """There is something to do."""
        self._are_rights_old = self._are_rights_old or rights_changed
        self._woken.set()

    def note_arrival(self, *, rights_changed: bool) -> None:
        """Entries of others have come. While more are coming, taking them goes before applying them."""
        now = time.monotonic()
        if now - self._took_at > SETTLE_S:
            self._pouring_since = now
        self._took_at = now
        self.wake(rights_changed=rights_changed)

    def _is_pouring(self) -> bool:
        now = time.monotonic()
        return now - self._took_at < SETTLE_S and now - self._pouring_since < LONGEST_POURING_S

    def check(self) -> None:
        """Raise what ended the thread, if it has ended."""
        if self._ended is not None and self._ended.done():
            self._ended.result()

    def stop(self) -> None:
        """End after the transaction in hand."""
        self._stopping.set()
        self._woken.set()
        if self._ended is not None:
            self._ended.result(END_WITHIN_S)

    def _run(self) -> None:
        with self._bus.bank.context.store.listen(self._woken.set):
            while not self._stopping.is_set():
                try:
                    # Nothing is signed or applied here once another machine runs the node.
                    if self._pause_s or time.monotonic() - self._stayed_at >= STAY_S:
                        stay_only_node(self._bus.bank)
                        self._stayed_at = time.monotonic()
                    self._work()
                    self._pause_s, self.trouble = 0.0, ""
                except NodeElsewhere:
                    raise
                except BankError as error:
                    self._rest(error)
                self._stopping.wait(self._pause_s)
                self._woken.wait(SETTLE_S if self._is_pouring() else LOOK_S)
                self._woken.clear()

    def _work(self) -> None:
        """Whatever there is to do in each direction."""
        bus = self._bus
        if self._are_rights_old:
            self._are_rights_old = False
            self.rights = bus.rights(self._log)
            self._publisher = Publisher(bus.bank, self._log, bus.key, self.rights, tally=self.unsent)
        self._publisher.publish(self._publish)
        if not self._is_pouring():
            self.unapplied.include(self._applier.apply_new().refused)

    def _rest(self, error: BankError) -> None:
        self._pause_s = min(LONGEST_PAUSE_S, max(FIRST_PAUSE_S, 2 * self._pause_s))
        self.trouble = str(error)
        _log.warning("the bank is tried again in %g s: %s", self._pause_s, error)
