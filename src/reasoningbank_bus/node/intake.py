"""Intake of entries: each checked before it is taken, and durable before others are told of it."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from reasoningbank_bus.authority.intent import Intent, decode_intent, decode_revocation
from reasoningbank_bus.authority.metering import fitting
from reasoningbank_bus.node.peer import Peer
from reasoningbank_bus.node.shelf import set_name, set_of
from reasoningbank_bus.node.state import NodeState
from reasoningbank_bus.ports import LogChanged
from reasoningbank_bus.refusal_tally import refusal_of
from reasoningbank_bus.wire.entry import OF_AUTHORITY, Entry, decode_entry, id_of_encoded, place_of, verify_entry
from reasoningbank_bus.wire.refusals import BusRefusal

MOST_REFUSED_PLACES = 10_000
REFUSED_SECONDS = {"unknown_intent": 5.0, "not_yet_valid": 60.0, "from_the_future": 60.0, "cap_spent": 60.0}
"""How long what was refused so is not looked at again, unless rights change before; anything else for ten minutes."""
WRITING = ("record", "link", "signal")
MOST_TRIES = 5
"""How often a batch is judged anew because somebody decided something meanwhile."""


class Arrival(NamedTuple):
    """An entry that may be taken."""

    set_name: str
    entry: Entry
    id: bytes
    place: bytes
    encoded: bytes
    chain: tuple[Intent, ...]


class Intake:
    def __init__(self, state: NodeState) -> None:
        self._state = state
        self._refused: OrderedDict[bytes, tuple[str, float]] = OrderedDict()
        """Places that were refused: why, and until when they are not looked at again."""

    def take(self, peer: Peer, batch: Sequence[bytes], now: float) -> tuple[list[Arrival], list[bytes]]:
        """Keep what may be kept of a batch: the arrivals that are new, and the places of those that were known."""
        arrivals: list[Arrival] = []
        duplicates: list[bytes] = []
        places: set[bytes] = set()
        for raw in batch:
            try:
                arrival = self._examine(raw, now, duplicates, places)
            except BusRefusal as refusal:
                self._refuse(peer, refusal, now)
                if peer.key not in self._state.peers:
                    return [], []
                continue
            if arrival is not None:
                arrivals.append(arrival)
        arrivals = self._without_erased(peer, arrivals, now)
        for _ in range(MOST_TRIES):
            try:
                return self._keep(peer, arrivals, now), duplicates
            except LogChanged:
                self._state.heed(now)
                if peer.key not in self._state.peers:
                    break
                arrivals = self._still_allowed(peer, arrivals, now)
        # It comes again.
        return [], duplicates

    def _still_allowed(self, peer: Peer, arrivals: Sequence[Arrival], now: float) -> list[Arrival]:
        """Arrivals that may be taken also by what was decided while they were looked at."""
        remaining = []
        for arrival in arrivals:
            try:
                chain = self._state.rights.check(arrival.entry, self._state.now_ms(now))
            except BusRefusal as refusal:
                self._refuse(peer, _EntryRefusal(refusal.code, arrival.entry, arrival.place), now)
            else:
                remaining.append(arrival._replace(chain=chain))
        return remaining

    def _examine(self, raw: bytes, now: float, duplicates: list[bytes], places: set[bytes]) -> Arrival | None:
        entry = decode_entry(raw)
        id_ = id_of_encoded(raw)
        place = place_of(entry, id_)
        name = set_of(entry)
        if place in places or self._state.shelf.has(name, place):
            duplicates.append(place)
            return None
        code, until = self._refused.get(place, ("", 0.0))
        if until > now:
            raise _EntryRefusal(code, entry, place)
        # First of all: nobody may bring what is refused upon others by writing under their names.
        verify_entry(entry, raw)
        try:
            chain = self._state.rights.check(entry, self._state.now_ms(now))
            self._check_namespace(entry)
        except BusRefusal as refusal:
            raise _EntryRefusal(refusal.code, entry, place) from None
        self._learn(entry, now)
        places.add(place)
        return Arrival(name, entry, id_, place, raw, chain)

    def _check_namespace(self, entry: Entry) -> None:
        """A right over the records of others in one namespace is none over those in another. An erasure reaches none
        there, whatever comes first, so it need not be looked for.
        """
        if entry.kind == "erased":
            return
        if entry.author != entry.record.author and entry.author not in self._state.rights.roots:
            stands_in = self._state.log.namespaces_of(entry.record)
            if stands_in and stands_in != {entry.namespace}:
                raise BusRefusal("wrong_namespace")

    def _learn(self, entry: Entry, now: float) -> None:
        """Grants and revocations count from here on, also for what follows in the same batch."""
        if entry.kind == "grant":
            self._state.rights.add(decode_intent(entry.body))
        elif entry.kind == "revoked":
            self._state.rights.revoke(decode_revocation(entry.body))
        else:
            return
        self.judge_anew(now)

    def learn_grants(self, grants: Sequence[bytes], now: float) -> str:
        """Take over the grants that a peer shows of itself; the code of what is wrong with one of them."""
        try:
            for grant in grants:
                self._state.rights.add(decode_intent(grant))
        except BusRefusal as refusal:
            return refusal.code
        finally:
            self.judge_anew(now)
        return ""

    def judge_anew(self, now: float) -> None:
        """Rights have changed: what was refused for want of them may be taken now."""
        self._refused = OrderedDict(item for item in self._refused.items() if item[1][0] == "erased")
        self._state.change_rights(now)

    def is_refused(self, place: bytes, now: float) -> bool:
        return self._refused.get(place, ("", 0.0))[1] > now

    def _without_erased(self, peer: Peer, arrivals: list[Arrival], now: float) -> list[Arrival]:
        entries = [arrival.entry for arrival in arrivals if arrival.entry.kind != "erased"]
        tombstones = (
            self._state.log.erased({(entry.record, entry.namespace) for entry in entries}) if entries else set()
        )
        if not tombstones:
            return arrivals
        remaining = []
        for arrival in arrivals:
            entry = arrival.entry
            if entry.kind != "erased" and (entry.record, entry.namespace) in tombstones:
                self._refuse(peer, _EntryRefusal("erased", entry, arrival.place), now)
            else:
                remaining.append(arrival)
        return remaining

    def _keep(self, peer: Peer, arrivals: list[Arrival], now: float) -> list[Arrival]:
        if not arrivals:
            return []
        rights = self._state.rights
        spends = [rights.spends(arrival.entry, arrival.id, len(arrival.encoded), arrival.chain) for arrival in arrivals]
        if any(part.cap is not None for group in spends for spend in group for part in spend.cap_uses):
            fits = fitting(spends, self._state.log.spent)
            for arrival, fit in zip(arrivals, fits, strict=True):
                if not fit:
                    self._refuse(peer, _EntryRefusal("cap_spent", arrival.entry, arrival.place), now)
            arrivals = [arrival for arrival, fit in zip(arrivals, fits, strict=True) if fit]
            spends = [group for group, fit in zip(spends, fits, strict=True) if fit]
        erasures = [arrival.entry for arrival in arrivals if arrival.entry.kind == "erased"]
        standings = self._state.log.reached(erasures) if erasures else []
        try:
            self._state.log.add(
                [arrival.entry for arrival in arrivals],
                encoded=[arrival.encoded for arrival in arrivals],
                spent=[spend for group in spends for spend in group],
                if_still=self._state.heeded,
            )
        except BusRefusal as refusal:
            # Another process has spent the rest meanwhile: all of it comes again, and is counted again.
            self._refuse(peer, _EntryRefusal(refusal.code, arrivals[0].entry, arrivals[0].place), now)
            return []
        for scope, namespace, place, _ in standings:
            self._state.shelf.discard(set_name(scope, namespace), place)
            self._remember(place, "erased", math.inf)
        for name in {arrival.set_name for arrival in arrivals}:
            self._state.shelf.add(name, [(a.place, a.id) for a in arrivals if a.set_name == name])
        return arrivals

    def _remember(self, place: bytes, code: str, until: float) -> None:
        self._refused[place] = (code, until)
        if len(self._refused) > MOST_REFUSED_PLACES:
            self._refused.popitem(last=False)

    def _refuse(self, peer: Peer, refusal: BusRefusal, now: float) -> None:
        what, once = None, b""
        if isinstance(refusal, _EntryRefusal):
            seconds = REFUSED_SECONDS.get(refusal.code, 600.0)
            self._remember(refusal.place, refusal.code, math.inf if refusal.code == "erased" else now + seconds)
            if self._is_of_author(refusal, now):
                refusal.about = refusal.entry.author
                self._state.shelf.leave_out(set_of(refusal.entry), refusal.entry.author, now + seconds)
            what, once = refusal_of(refusal.entry), refusal.place
            if not peer.refused_allowed.take(1, now):
                refusal, what, once = BusRefusal("over_limit"), None, b""
            elif refusal.code == "unknown_author" and refusal.entry.kind in OF_AUTHORITY:
                # What strangers allow each other comes along with the rest, and is nothing that a user must mend.
                return
        self._state.refuse(peer, refusal, now, what=what, once=once)

    def _is_of_author(self, refusal: _EntryRefusal, now: float) -> bool:
        """True if nothing of this author would be taken: then its set is reconciled without it.

        One refused entry alone is no reason: whoever brings an old one again must not keep the new ones away.
        """
        if refusal.code in ("erased", "from_the_future"):
            return False
        entry, rights, now_ms = refusal.entry, self._state.rights, self._state.now_ms(now)
        return refusal.code == "cap_spent" or not any(
            rights.may(entry.author, action, entry.namespace, entry.scope, now_ms) for action in WRITING
        )


class _EntryRefusal(BusRefusal):
    """A refusal of an entry that its author really wrote; about its place, or about all of its author."""

    def __init__(self, code: str, entry: Entry, place: bytes) -> None:
        super().__init__(code, about=place)
        self.entry = entry
        self.place = place
