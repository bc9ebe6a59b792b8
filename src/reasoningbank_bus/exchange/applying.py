"""Applies what came over the bus: entries of the log become records of the bank, in batches, each in one transaction.

How far it has come is kept in the bank, with the name of the log: a bank that was put back from a backup goes on from
where it was then, and a log that was lost and filled again is read from its beginning. To apply an entry twice does
nothing, so a kill at any moment costs a repetition. What refers to something that is not here waits for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from reasoningbank.bank.bank import Bank
from reasoningbank.core.frozen import replace
from reasoningbank.core.origins import USER, PeerTrust
from reasoningbank.core.types import Ruling
from reasoningbank.guard.rulings import Decision
from reasoningbank.guard.trust import peer_trust, revoked_origins
from reasoningbank.ports import Writer
from reasoningbank_bus.exchange.applied import Applied, UnitOutcome
from reasoningbank_bus.exchange.apply_unit import ApplyUnit, UnitSetting
from reasoningbank_bus.exchange.incoming import Arrivals, IncomingRecord
from reasoningbank_bus.exchange.judging import PeerJudge
from reasoningbank_bus.exchange.naming import SHARED_NOUNS, bind_tenant, known_records, origin_of_author, rows_of
from reasoningbank_bus.exchange.owed import owed_erasures_state
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.refusal_tally import RefusalTally, refusal_of
from reasoningbank_bus.wire.entry import Entry
from reasoningbank_bus.wire.refusals import BusRefusal

ENTRIES_AT_ONCE = 2_000
TURN = "bus-applying"
TURN_WAIT_S = 10.0
_LOG_ID = "log id"
_HELD = "held"
_HELD_SINCE = "held since"
_ANY_WAITING = "any waiting"
_NUMBERS = msgspec.msgpack.Decoder(list[int])

NumberedEntry = tuple[int, Entry]


class Applier:
    def __init__(self, bank: Bank, log: EntryLog, own: bytes, *, default: PeerTrust = PeerTrust.UNTRUSTED) -> None:
        """`own` is the public key of this node; `default` the trust of an author of whom the user has not spoken."""
        bind_tenant(log, bank.tenant)
        self._context, self._log, self._own, self._default = bank.context, log, own, default
        self._arrivals = Arrivals(own, bank.tenant)
        self._cursor = f"bus applied {bank.tenant}"

    def apply_new(self) -> Applied:
        """Apply all that has come since the last time."""
        tally = Applied()
        if not self._log.after(self.applied_up_to(), 1) and not self._is_held_anew():
            return tally
        with self._context.store.turn(TURN, TURN_WAIT_S) as is_mine:
            if not is_mine:
                return tally
            number = self.applied_up_to()
            # What rulings stood against is looked at again when there are others.
            if self._is_held_anew():
                rulings = self._rulings()
                self._apply(self._entries(self._numbers(_HELD)), tally)
                self._log.keep_state({_HELD_SINCE: rulings})
            while batch := self._log.after(number, ENTRIES_AT_ONCE):
                self._apply(batch, tally)
                number = batch[-1][0]
                self._context.store.set_setting(self._cursor, f"{self._log_id()} {number}")
        return tally

    def applied_up_to(self) -> int:
        """The number of the last entry of the log that was applied."""
        log_id, _, number = (self._context.store.setting(self._cursor) or "").partition(" ")
        return int(number) if log_id == self._log_id() else 0

    def _log_id(self) -> str:
        log_id = self._log.state(_LOG_ID)
        if log_id is None:
            log_id = os.urandom(16)
            self._log.keep_state({_LOG_ID: log_id})
        return log_id.hex()

    def _apply(self, batch: Sequence[NumberedEntry], tally: Applied) -> None:
        due = self._apply_once(batch, tally)
        while due:
            # What has waited for something that is here now, and then what has waited for that.
            due = self._apply_once(due, tally)

    def _apply_once(self, batch: Sequence[NumberedEntry], tally: Applied) -> list[NumberedEntry]:
        records, erasures, refusals = self._read(batch)
        if records or erasures:
            # All of it was scrubbed on the way in.
            change = partial(self._change, self._judge(records), records, erasures)
            outcome = self._context.bare_store.write(self._context.tenant, change)
        else:
            outcome = UnitOutcome()
        outcome.tally.refused.include(refusals)
        tally.include(outcome.tally)
        return self._write_down(outcome)

    def _read(self, batch: Iterable[NumberedEntry]) -> tuple[list[IncomingRecord], list[Entry], RefusalTally]:
        """Decoded, checked and scrubbed before the transaction: nobody who writes meanwhile waits for that."""
        records, erasures, refusals = [], [], RefusalTally()
        for number, entry in batch:
            if entry.kind == "erased":
                erasures.append(entry)
            elif entry.kind in SHARED_NOUNS:
                try:
                    incoming = self._arrivals.read(number, entry)
                except BusRefusal as refusal:
                    refusals.note(refusal.code, refusal_of(entry))
                    continue
                clean, _ = self._context.clean(incoming.record)
                records.append(incoming if clean is incoming.record else replace(incoming, record=clean))
        return records, erasures, refusals

    def _judge(self, records: Sequence[IncomingRecord]) -> PeerJudge:
        with self._context.store.read(self._context.tenant) as reader:
            peers, blocklist = peer_trust(reader), revoked_origins(reader)
        authors = {incoming.entry.author for incoming in records if incoming.entry.author != self._own}
        judge = PeerJudge(
            {**{origin_of_author(author): self._default for author in authors}, **peers},
            blocklist,
            self._context.scrub_for_output,
        )
        for incoming in records:
            if incoming.entry.kind == "memory" and incoming.entry.author != self._own:
                judge.judge(incoming)
        return judge

    def _change(
        self, judge: PeerJudge, records: Sequence[IncomingRecord], erasures: Sequence[Entry], writer: Writer
    ) -> UnitOutcome:
        about = UnitSetting(
            own=self._own,
            default=self._default,
            lookup=partial(known_records, self._log),
            judge=judge,
            decide=self._decision,
        )
        return ApplyUnit(writer, about).run(records, erasures)

    def _decision(self) -> Decision:
        return Decision(
            id=self._context.ids.new("rul"),
            tenant=self._context.tenant,
            source=USER,
            comment="given when its first entry came",
            at=self._context.clock(),
        )

    # ------------------------------------------------------------ what waits

    def _write_down(self, outcome: UnitOutcome) -> list[NumberedEntry]:
        """Keep what the bus knows now; gives what has waited for what has arrived."""
        state: dict[str, bytes | None] = dict(rows_of(outcome.known))
        for record_id, numbers in outcome.waiting.items():
            state[_waiting(record_id)] = msgspec.msgpack.encode(sorted({*self._numbers(_waiting(record_id)), *numbers}))
            state[_ANY_WAITING] = b"1"
        if outcome.held:
            state[_HELD] = msgspec.msgpack.encode(sorted({*self._numbers(_HELD), *outcome.held}))
        if outcome.owed:
            state |= owed_erasures_state(self._log, (), outcome.owed)
        if outcome.unwanted:
            self._log.erase((), outcome.unwanted)
        due: set[int] = set()
        if outcome.arrived and self._log.state(_ANY_WAITING) is not None:
            for raw in self._log.states(map(_waiting, outcome.arrived)).values():
                due.update(_NUMBERS.decode(raw))
        if state:
            self._log.keep_state(state)
        return self._entries(due)

    def _numbers(self, name: str) -> list[int]:
        raw = self._log.state(name)
        return [] if raw is None else _NUMBERS.decode(raw)

    def _entries(self, numbers: Iterable[int]) -> list[NumberedEntry]:
        """The entries with these numbers that are still here."""
        batches = [self._log.after(number - 1, 1) for number in sorted(numbers)]
        return [
            pair for batch, number in zip(batches, sorted(numbers), strict=True) for pair in batch if pair[0] == number
        ]

    def _is_held_anew(self) -> bool:
        return self._log.state(_HELD) is not None and self._log.state(_HELD_SINCE) != self._rulings()

    def _rulings(self) -> bytes:
        with self._context.store.read(self._context.tenant) as reader:
            return msgspec.msgpack.encode(reader.count(Ruling, {}))


def _waiting(record_id: str) -> str:
    return f"waiting {record_id}"
