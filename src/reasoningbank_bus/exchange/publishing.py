"""Publishes what this bank shares: follows its feed, and makes scrubbed, signed and metered entries of what changed.

Entries, what they spend and how far the feed was followed are kept in one transaction of the log, so a kill at any
moment publishes nothing twice and leaves nothing out. A bank that was put back from a backup has another feed: then it
is followed from the beginning, and what is known is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from reasoningbank.bank.bank import Bank
from reasoningbank.core.digest import blake2b
from reasoningbank.core.types import Change
from reasoningbank_bus.authority.intent import intent_id
from reasoningbank_bus.authority.metering import Spend, fitting, spends_of
from reasoningbank_bus.authority.rights import ACTION_OF_KIND, Rights
from reasoningbank_bus.exchange.bodies import encode_body
from reasoningbank_bus.exchange.naming import KnownRecord, bind_tenant, changed_at, rows_of, version_of
from reasoningbank_bus.exchange.outgoing import body_of
from reasoningbank_bus.exchange.owed import (
    OwedErasure,
    owed_changes,
    owed_erasures,
    owed_erasures_state,
    owed_records_state,
)
from reasoningbank_bus.exchange.policy import read_policy
from reasoningbank_bus.exchange.shared_changes import SharedChanges, SharedRecord
from reasoningbank_bus.exchange.wrong_clock import SIGNED_UNTIL, is_put_back, sign_again
from reasoningbank_bus.ports import EntryLog
from reasoningbank_bus.refusal_tally import LatestRefusal, RefusalTally
from reasoningbank_bus.wire.entry import Entry, encode_entry, id_of_encoded, sign_entry
from reasoningbank_bus.wire.refusals import BusRefusal
from reasoningbank_bus.wire.signing import SigningKey

CURSOR = "published"
CHANGES_AT_ONCE = 500
"""Few enough that those before are on their way while these are signed: peers are kept busy evenly."""
TURN = "bus-publishing"
TURN_WAIT_S = 10.0
OWED_AGAIN_S = 60.0


class FeedPlace(Struct, array_like=True, frozen=True):
    """How far the feed was followed, and by which rules."""

    seq: int = 0
    id: str = ""
    at: float = 0.0
    rules: bytes = b""
    """A hash of the policy and of the grants that this node holds: by others, all is looked at again."""


Made = tuple[Entry, SharedRecord | OwedErasure]


class Publisher:
    def __init__(
        self, bank: Bank, log: EntryLog, key: SigningKey, rights: Rights, *, refused: RefusalTally | None = None
    ) -> None:
        """`refused` counts what cannot be published, also beyond the life of this publisher."""
        bind_tenant(log, bank.tenant)
        self._context = bank.context
        self._log, self._key, self._rights = log, key, rights
        self.refused = RefusalTally() if refused is None else refused
        self._owed_from = 0.0
        """When what did not fit into a cap is tried again."""

    def publish(self, tell: Callable[[list[Entry]], None] | None = None) -> list[Entry]:
        """Make entries of all that changed since the last time, durably; gives those that are new.

        `tell` gets them as they are made, so that the first are on their way before the last is signed.
        """
        store = self._context.store
        published: list[Entry] = []
        if not self._has_work():
            return []
        with store.turn(TURN, TURN_WAIT_S) as is_mine:
            if not is_mine:
                return []
            if is_put_back(self._log, self._now()):
                published += self._sign_again(tell)
            place = self._place()
            # What did not fit into a cap before may fit now.
            again, erasures = self._owed()
            while (changes := store.changes(place.seq, CHANGES_AT_ONCE)) or again or erasures:
                if changes:
                    place = FeedPlace(changes[-1].seq, changes[-1].id, changes[-1].at, place.rules)
                fresh = self._publish(changes, _Tried(again, erasures), place)
                if fresh and tell is not None:
                    tell(fresh)
                published += fresh
                again, erasures = [], []
        return published

    def _has_work(self) -> bool:
        """Asked several times a second: nobody's turn is waited for to find that there is nothing to do."""
        if self._context.store.changes(self._place().seq, 1):
            return True
        return any(self._owed()) or is_put_back(self._log, self._now())

    def _sign_again(self, tell: Callable[[list[Entry]], None] | None) -> list[Entry]:
        fresh = sign_again(self._log, self._key, self._rights, self._now())
        if fresh and tell is not None:
            tell(fresh)
        return fresh

    def _owed(self) -> tuple[list[Change], list[OwedErasure]]:
        # A clock that was put back waits no longer than one that was not.
        if 0.0 < self._owed_from - self._context.clock() <= OWED_AGAIN_S:
            return [], []
        return owed_changes(self._log, self._context.tenant), owed_erasures(self._log)

    def _place(self) -> FeedPlace:
        held = sorted(intent_id(intent) for intent in self._rights.held_by(self._key.public))
        rules = blake2b(msgspec.json.encode(read_policy(self._log)) + b"".join(held), digest_size=16).digest()
        kept = self._log.state(CURSOR)
        place = FeedPlace() if kept is None else msgspec.msgpack.decode(kept, type=FeedPlace)
        if place.seq and place.rules == rules:
            there = self._context.store.changes(place.seq - 1, 1)
            if there and (there[0].seq, there[0].id, there[0].at) == (place.seq, place.id, place.at):
                return place
        return FeedPlace(rules=rules)

    def _publish(self, feed: Sequence[Change], tried: _Tried, place: FeedPlace) -> list[Entry]:
        changes = [*tried.records, *feed]
        context, now = self._context, self._now()
        with context.read_for_output() as reader:
            shared = SharedChanges(context, self._log, self._key.public, read_policy(self._log), reader)
            found = [one for one in shared.find(changes) if not self._is_there(one, now)]
            gone = shared.find_erased(changes)
        grants = _Grants(self._rights, now)
        made: list[Made] = []
        for one in found:
            self._make(made, one, partial(self._entry, one, shared, grants))
        nouns, erasures = {change.id: change.kind for change in changes}, list(tried.erasures)
        gone_here_alone = []
        for record_id, known in gone.items():
            if known.name.author == self._key.public or grants.intent_for("erase", known.namespace, known.scope):
                erasures.append(
                    OwedErasure(known.name, nouns[record_id], known.namespace, known.scope, known.version[0])
                )
            else:
                gone_here_alone.append(known.name)
        if gone_here_alone:
            self._log.erase((), gone_here_alone)
        for owed in erasures:
            self._make(made, owed, partial(self._erasure, owed, grants))
        return self._keep(made, tried, place, grants)

    def _make(self, made: list[Made], what: SharedRecord | OwedErasure, make: Callable[[], Entry]) -> None:
        try:
            made.append((make(), what))
        except BusRefusal as refusal:
            self._note_refused(refusal.code, what)

    def _note_refused(self, code: str, what: SharedRecord | OwedErasure) -> None:
        if isinstance(what, OwedErasure):
            name = f"erased {what.noun} {what.name.id}"
        else:
            name = f"{what.noun} {what.record.id} {getattr(what.record, 'revision', 1)}"
        self.refused.note(code, LatestRefusal(self._key.public, what.namespace), once=name.encode())

    def _is_there(self, one: SharedRecord, now: int) -> bool:
        """Whether the bus has this very version, under a grant that is still good; or a later one, which comes back to
        a bank that was put back from a backup.
        """
        known, record = one.known, one.record
        if known is None:
            return False
        here, there = (getattr(record, "revision", 1), changed_at(record)), (known.revision, known.updated_at)
        if here != there:
            return here < there
        named = self._rights.intent_to_name(ACTION_OF_KIND[one.noun], one.namespace, one.scope, now)
        return not named or known.intent == named or self._is_good(known.intent, now)

    def _is_good(self, intent: bytes, now: int) -> bool:
        try:
            line = self._rights.line_of(intent)
        except BusRefusal:
            return False
        return bool(line) and all(part.expires > now for part in line) and not self._rights.is_revoked(line)

    def _entry(self, one: SharedRecord, shared: SharedChanges, grants: _Grants) -> Entry:
        record: Any = one.record
        intent = grants.intent_for(ACTION_OF_KIND[one.noun], one.namespace, one.scope)
        return sign_entry(
            self._key,
            at=grants.moment(intent, changed_at(record)),
            kind=one.noun,
            namespace=one.namespace,
            scope=one.scope,
            record=shared.name_of(record.id),
            revision=getattr(record, "revision", 1),
            intent=intent,
            body=encode_body(body_of(record, shared.name_of, shared.end_of)),
        )

    def _erasure(self, owed: OwedErasure, grants: _Grants) -> Entry:
        is_own = owed.name.author == self._key.public
        actions = (ACTION_OF_KIND.get(owed.noun, "record"), "erase") if is_own else ("erase",)
        intents = [grants.intent_for(action, owed.namespace, owed.scope) for action in actions]
        return sign_entry(
            self._key,
            at=grants.now,
            kind="erased",
            namespace=owed.namespace,
            scope=owed.scope,
            record=owed.name,
            revision=owed.revision + 1,
            intent=next(filter(None, intents), b""),
            body=b"",
        )

    def _keep(self, made: Sequence[Made], tried: _Tried, place: FeedPlace, grants: _Grants) -> list[Entry]:
        encoded = [encode_entry(entry) for entry, _ in made]
        spends: list[tuple[Spend, ...]] = []
        for (entry, _), raw in zip(made, encoded, strict=True):
            line = grants.line(entry.intent)
            spends.append(spends_of(entry, id_of_encoded(raw), len(raw), line) if line else ())
        fits = fitting(spends, self._log.spent) if any(spends) else [True] * len(made)
        kept = list(compress(made, fits))
        rows = {
            one.record.id: _known_record(one, entry)
            for entry, one in kept
            if isinstance(one, SharedRecord) and one.noun != "signal"
        }
        left = [what for (_, what), fit in zip(made, fits, strict=True) if not fit]
        if left:
            for what in left:
                self._note_refused("cap_spent", what)
            self._owed_from = self._context.clock() + OWED_AGAIN_S
        state = {CURSOR: msgspec.msgpack.encode(place), **rows_of(rows), **tried.state(self._log, left)}
        if kept:
            state[SIGNED_UNTIL] = b"%d" % grants.now
        spent = [spend for group in compress(spends, fits) for spend in group]
        raw_kept = list(compress(encoded, fits))
        return self._log.add([entry for entry, _ in kept], encoded=raw_kept, spent=spent, state=state)

    def _now(self) -> int:
        return int(self._context.clock() * 1000)


class _Tried(NamedTuple):
    """What was owed and is tried again."""

    records: Sequence[Change]
    erasures: Sequence[OwedErasure]

    def state(self, log: EntryLog, left: Sequence[SharedRecord | OwedErasure]) -> Mapping[str, bytes | None]:
        """What is owed now, with what is left of all that was made."""
        records = [(one.noun, one.record.id) for one in left if isinstance(one, SharedRecord)]
        erasures = [one for one in left if isinstance(one, OwedErasure)]
        tried = [(change.kind, change.id) for change in self.records]
        return {**owed_records_state(log, tried, records), **owed_erasures_state(log, self.erasures, erasures)}


class _Grants:
    """Under which grants this node writes at a moment, each looked up once."""

    def __init__(self, rights: Rights, now: int) -> None:
        self._rights, self.now = rights, now
        self._named: dict[tuple[str, str, str], bytes] = {}
        self._lines: dict[bytes, Any] = {b"": ()}

    def intent_for(self, action: str, namespace: str, scope: str) -> bytes:
        asked = (action, namespace, scope)
        if asked not in self._named:
            self._named[asked] = self._rights.intent_to_name(*asked, self.now)
        return self._named[asked]

    def line(self, intent: bytes) -> Any:
        if intent not in self._lines:
            self._lines[intent] = self._rights.line_of(intent)
        return self._lines[intent]

    def moment(self, intent: bytes, made_at: float) -> int:
        """When a version was made, within the life of its grant: the same each time, so that a log that was lost gives
        the same entries again. Where a grant counts by periods it is now, since that is when it is spent.
        """
        line = self.line(intent)
        if any(part.period and part.caps for part in line):
            return self.now
        begun: list[int] = [part.not_before for part in line]
        return min(self.now, max(int(made_at * 1000), 0, *begun))


def _known_record(one: SharedRecord, entry: Entry) -> KnownRecord:
    record: Any = one.record
    version = version_of(entry)
    return KnownRecord(
        entry.record,
        one.namespace,
        one.scope,
        version if one.known is None else max(version, one.known.version),
        getattr(record, "revision", 1),
        changed_at(record),
        record.state.value if one.noun == "memory" else "",
        entry.intent,
    )
