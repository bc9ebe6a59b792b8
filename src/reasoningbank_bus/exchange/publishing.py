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
        self, bank: Bank, log: EntryLog, key: SigningKey, rights: Rights, *, tally: RefusalTally | None = None
    ) -> None:
        """`tally` counts what cannot be published, also beyond the life of this publisher."""
        bind_tenant(log, bank.tenant)
        self._context = bank.context
        self._log, self._key, self._rights = log, key, rights
        self.refused = RefusalTally() if tally is None else tally
        self._owed_from = 0.0
        """When what did not fit into a cap is tried again."""

    def publish(self, tell: Callable[[list[Entry]], None] | None = None) -> list[Entry]:
        """Make entries of all that changed since the last time, durably; gives those that are new.

        `tell` gets them as they are made, so that the first are on their way before the last is signed.
        """
        store = self._context.store
        entries: list[Entry] = []
        # Asked several times a second: nobody's turn is waited for to find that there is nothing to do.
        has_work = store.changes(self._place().seq, 1) or any(self._owed()) or is_put_back(self._log, self._now())
        if not has_work:
            return []
        with store.turn(TURN, TURN_WAIT_S) as is_mine:
            if not is_mine:
                return []
            if is_put_back(self._log, self._now()):
                entries += sign_again(self._log, self._key, self._rights, self._now())
                if entries and tell is not None:
                    tell(list(entries))
            place = self._place()
            # What did not fit into a cap before may fit now.
            again, erasures = self._owed()
            while (changes := store.changes(place.seq, CHANGES_AT_ONCE)) or again or erasures:
                if changes:
                    place = FeedPlace(changes[-1].seq, changes[-1].id, changes[-1].at, place.rules)
                fresh = self._publish(changes, _Tried(again, erasures), place)
                if fresh and tell is not None:
                    tell(fresh)
                entries += fresh
                again, erasures = [], []
        return entries

    def _owed(self) -> tuple[list[Change], list[OwedErasure]]:
        # A clock that was put back waits no longer than one that was not.
        if 0.0 < self._owed_from - self._context.clock() <= OWED_AGAIN_S:
            return [], []
        return owed_changes(self._log, self._context.tenant), owed_erasures(self._log)

    def _place(self) -> FeedPlace:
        intent_ids = sorted(intent_id(intent) for intent in self._rights.held_by(self._key.public))
        rules = blake2b(msgspec.json.encode(read_policy(self._log)) + b"".join(intent_ids), digest_size=16).digest()
        raw = self._log.state(CURSOR)
        place = FeedPlace() if raw is None else msgspec.msgpack.decode(raw, type=FeedPlace)
        if place.seq and place.rules == rules:
            there = self._context.store.changes(place.seq - 1, 1)
            if there and (there[0].seq, there[0].id, there[0].at) == (place.seq, place.id, place.at):
                return place
        return FeedPlace(rules=rules)

    def _publish(self, feed: Sequence[Change], retry: _Tried, place: FeedPlace) -> list[Entry]:
        changes = [*retry.records, *feed]
        context, now = self._context, self._now()
        with context.read_for_output() as reader:
            selection = SharedChanges(context, self._log, self._key.public, read_policy(self._log), reader)
            items = [item for item in selection.find(changes) if not self._is_there(item, now)]
            removals = selection.find_erased(changes)
        grants = _Grants(self._rights, now)
        pairs: list[Made] = []
        for item in items:
            self._make(pairs, item, partial(self._entry, item, selection, grants))
        nouns, erasures = {change.id: change.kind for change in changes}, list(retry.erasures)
        gone_here_alone = []
        for record_id, removal in removals.items():
            if removal.name.author == self._key.public or grants.intent_for("erase", removal.namespace, removal.scope):
                erasures.append(
                    OwedErasure(removal.name, nouns[record_id], removal.namespace, removal.scope, removal.version[0])
                )
            else:
                gone_here_alone.append(removal.name)
        if gone_here_alone:
            self._log.erase((), gone_here_alone)
        for owed in erasures:
            self._make(pairs, owed, partial(self._erasure, owed, grants))
        return self._keep(pairs, retry, place, grants)

    def _make(self, pairs: list[Made], what: SharedRecord | OwedErasure, make: Callable[[], Entry]) -> None:
        try:
            pairs.append((make(), what))
        except BusRefusal as refusal:
            self._note_refused(refusal.code, what)

    def _note_refused(self, code: str, what: SharedRecord | OwedErasure) -> None:
        if isinstance(what, OwedErasure):
            name = f"erased {what.noun} {what.name.id}"
        else:
            name = f"{what.noun} {what.record.id} {getattr(what.record, 'revision', 1)}"
        self.refused.note(code, LatestRefusal(self._key.public, what.namespace), once=name.encode())

    def _is_there(self, item: SharedRecord, now: int) -> bool:
        """True if the bank has this very version, under a grant that is still good; or a later one, which comes back
        to a bank that was put back from a backup.
        """
        prior, record = item.known, item.record
        if prior is None:
            return False
        here, there = (getattr(record, "revision", 1), changed_at(record)), (prior.revision, prior.updated_at)
        if here != there:
            return here < there
        intent = self._rights.intent_to_name(ACTION_OF_KIND[item.noun], item.namespace, item.scope, now)
        return not intent or prior.intent == intent or self._is_good(prior.intent, now)

    def _is_good(self, intent: bytes, now: int) -> bool:
        try:
            line = self._rights.line_of(intent)
        except BusRefusal:
            return False
        return bool(line) and all(part.expires > now for part in line) and not self._rights.is_revoked(line)

    def _entry(self, item: SharedRecord, selection: SharedChanges, grants: _Grants) -> Entry:
        record: Any = item.record
        intent = grants.intent_for(ACTION_OF_KIND[item.noun], item.namespace, item.scope)
        return sign_entry(
            self._key,
            at=grants.moment(intent, changed_at(record)),
            kind=item.noun,
            namespace=item.namespace,
            scope=item.scope,
            record=selection.name_of(record.id),
            revision=getattr(record, "revision", 1),
            intent=intent,
            body=encode_body(body_of(record, selection.name_of, selection.end_of)),
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

    def _keep(self, pairs: Sequence[Made], retry: _Tried, place: FeedPlace, grants: _Grants) -> list[Entry]:
        blobs = [encode_entry(entry) for entry, _ in pairs]
        spends: list[tuple[Spend, ...]] = []
        for (entry, _), raw in zip(pairs, blobs, strict=True):
            line = grants.line(entry.intent)
            spends.append(spends_of(entry, id_of_encoded(raw), len(raw), line) if line else ())
        fits = fitting(spends, self._log.spent) if any(spends) else [True] * len(pairs)
        within_caps = list(compress(pairs, fits))
        rows = {
            item.record.id: _known_record(item, entry)
            for entry, item in within_caps
            if isinstance(item, SharedRecord) and item.noun != "signal"
        }
        remaining = [what for (_, what), fit in zip(pairs, fits, strict=True) if not fit]
        if remaining:
            for what in remaining:
                self._note_refused("cap_spent", what)
            self._owed_from = self._context.clock() + OWED_AGAIN_S
        state = {CURSOR: msgspec.msgpack.encode(place), **rows_of(rows), **retry.state(self._log, remaining)}
        if within_caps:
            state[SIGNED_UNTIL] = b"%d" % grants.now
        charges = [spend for group in compress(spends, fits) for spend in group]
        raw_kept = list(compress(blobs, fits))
        return self._log.add([entry for entry, _ in within_caps], encoded=raw_kept, spent=charges, state=state)

    def _now(self) -> int:
        return int(self._context.clock() * 1000)


class _Tried(NamedTuple):
    """Records and erasures that were owed, and are tried again."""

    records: Sequence[Change]
    erasures: Sequence[OwedErasure]

    def state(self, log: EntryLog, remaining: Sequence[SharedRecord | OwedErasure]) -> Mapping[str, bytes | None]:
        """State of what is owed now, with what is left of all that was made."""
        records = [(item.noun, item.record.id) for item in remaining if isinstance(item, SharedRecord)]
        erasures = [item for item in remaining if isinstance(item, OwedErasure)]
        attempts = [(change.kind, change.id) for change in self.records]
        return {**owed_records_state(log, attempts, records), **owed_erasures_state(log, self.erasures, erasures)}


class _Grants:
    """Under which grants this node writes at a moment, each looked up once."""

    def __init__(self, rights: Rights, now: int) -> None:
        self._rights, self.now = rights, now
        self._named: dict[tuple[str, str, str], bytes] = {}
        self._lines: dict[bytes, Any] = {b"": ()}

    def intent_for(self, action: str, namespace: str, scope: str) -> bytes:
        key = (action, namespace, scope)
        if key not in self._named:
            self._named[key] = self._rights.intent_to_name(*key, self.now)
        return self._named[key]

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
        starts: list[int] = [part.not_before for part in line]
        return min(self.now, max(int(made_at * 1000), 0, *starts))


def _known_record(item: SharedRecord, entry: Entry) -> KnownRecord:
    record: Any = item.record
    version = version_of(entry)
    return KnownRecord(
        entry.record,
        item.namespace,
        item.scope,
        version if item.known is None else max(version, item.known.version),
        getattr(record, "revision", 1),
        changed_at(record),
        record.state.value if item.noun == "memory" else "",
        entry.intent,
    )
