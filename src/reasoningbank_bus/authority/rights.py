"""Rights: which grants reach a root, who may do what by them, and whether an entry may be taken. Pure, no I/O.

Everything is judged from the receiver's side: its roots are its own key and those that its user named. Signatures that
were verified once are remembered with the grant. What a grant still allows by its caps is the business of
`authority.metering` and of the log.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping

from reasoningbank_bus.authority.intent import (
    MAX_CHAIN,
    Intent,
    Revocation,
    covers,
    decode_intent,
    decode_revocation,
    intent_id,
    narrow,
    verify_intent,
    verify_revocation,
)
from reasoningbank_bus.authority.keys import fingerprint
from reasoningbank_bus.authority.metering import Spend, spends_of, without_caps
from reasoningbank_bus.wire.entry import OF_AUTHORITY, Entry
from reasoningbank_bus.wire.refusals import BusRefusal

SKEW_MS = 10 * 60 * 1000
"""Clock skew: how much later than ours a clock may be."""
LATE_MS = 30 * 24 * 3600 * 1000
"""Grace after a grant has expired: what was written during its life is still taken."""
MAX_KEPT = 20_000
"""Grants kept at most; the oldest that no root stands behind go first."""
ACTION_OF_KIND = {"memory": "record", "node": "record", "edge": "link", "signal": "signal"}

Chain = tuple[Intent, ...]


class Rights:
    """Grants and revocations as one receiver knows them."""

    def __init__(self, own: bytes, roots: Iterable[bytes] = ()) -> None:
        self.own = own
        self.roots: frozenset[bytes] = frozenset((own, *roots))
        self._intents: dict[bytes, Intent] = {}
        self._held: dict[bytes, list[bytes]] = {}
        """Ids of grants by their holder, the latest first: that is what its issuer means now, and earlier ones may
        be spent.
        """
        self._revoked: dict[bytes, dict[bytes, Revocation]] = {}
        """Revocations by what they end (a grant's id, or a holder's key) and by issuer; of each issuer the latest."""
        self._barred: Mapping[str, int] = {}
        self._chains: dict[bytes, Chain] = {}

    def bar(self, since: Mapping[str, int]) -> None:
        """Count no grant to those with these fingerprints, but what this node itself gave after the moment (in ms) when
        its user took them out: that holds also where the log with the revocation is lost.
        """
        self._barred = since

    def set_roots(self, roots: Iterable[bytes]) -> None:
        self.roots = frozenset((self.own, *roots))
        self._chains.clear()

    # ------------------------------------------------------------ what is known

    def add(self, intent: Intent) -> bytes:
        """Keep a grant that its issuer really signed, whether or not it reaches a root here; its id."""
        id_ = intent_id(intent)
        if id_ in self._intents:
            return id_
        verify_intent(intent)
        if intent.parent in self._intents:
            narrow(self._intents[intent.parent], intent)
        if len(self._intents) >= MAX_KEPT:
            self._forget_one()
        self._intents[id_] = intent
        insort(self._held.setdefault(intent.holder, []), id_, key=self._age)
        return id_

    def _age(self, id_: bytes) -> tuple[int, bytes]:
        return -self._intents[id_].not_before, id_

    def _forget_one(self) -> None:
        for id_, intent in self._intents.items():
            if intent.holder != self.own and not self._reaches_root(id_):
                break
        else:
            raise BusRefusal("over_limit", f"{MAX_KEPT:,} grants are known here already")
        del self._intents[id_]
        self._held[intent.holder].remove(id_)

    def _reaches_root(self, id_: bytes) -> bool:
        try:
            self.chain_of(id_)
        except BusRefusal:
            return False
        return True

    def revoke(self, revocation: Revocation) -> None:
        """Keep a revocation that its issuer really signed. It counts against what its issuer stands above."""
        by_issuer = self._revoked.setdefault(revocation.target, {})
        before = by_issuer.get(revocation.issuer)
        if before is None or before.at < revocation.at:
            verify_revocation(revocation)
            by_issuer[revocation.issuer] = revocation

    def held_by(self, holder: bytes) -> list[Intent]:
        return [self._intents[id_] for id_ in self._held.get(holder, ())]

    def intents(self) -> list[Intent]:
        return list(self._intents.values())

    def revocations(self) -> list[Revocation]:
        return [revocation for by_issuer in self._revoked.values() for revocation in by_issuer.values()]

    # ------------------------------------------------------------ chains

    def line_of(self, id_: bytes) -> Chain:
        """A grant and those that it was derived from, up to one that was derived from none, whoever gave that."""
        line: list[Intent] = []
        while id_:
            intent = self._intents.get(id_)
            if intent is None:
                raise BusRefusal("unknown_intent", about=id_)
            if line:
                narrow(intent, line[-1])
            if len(line) == MAX_CHAIN:
                raise BusRefusal("widened", f"passed on more than {MAX_CHAIN} times", about=id_)
            line.append(intent)
            id_ = intent.parent
        return tuple(line)

    def chain_of(self, id_: bytes) -> Chain:
        """A grant and those that it was derived from, up to one of a root. Raises when it reaches none."""
        chain = self._chains.get(id_)
        if chain is None:
            chain = self.line_of(id_)
            if not chain or chain[-1].issuer not in self.roots:
                raise BusRefusal("no_right", "nobody who is trusted here stands behind its grant", about=id_)
            self._chains[id_] = chain
        return chain

    def is_revoked(self, chain: Chain) -> bool:
        """True if one of these grants was ended by its issuer, by one above that, or by a root."""
        above: set[bytes] = set(self.roots)
        for intent in reversed(chain):
            above.add(intent.issuer)
            barred_at = self._barred.get(fingerprint(intent.holder)) if self._barred else None
            if barred_at is not None and (intent.issuer != self.own or intent.not_before <= barred_at):
                return True
            for revocation in self._revoked.get(intent_id(intent), {}).values():
                if revocation.issuer in above and revocation.what == "intent":
                    return True
            for revocation in self._revoked.get(intent.holder, {}).values():
                # Only whoever has ended all grants of a holder may give it a new one, that begins later.
                is_new = intent.issuer == revocation.issuer and intent.not_before > revocation.at
                if revocation.issuer in above and revocation.what == "holder" and not is_new:
                    return True
        return False

    # ------------------------------------------------------------ questions

    def right_for(self, holder: bytes, action: str, namespace: str, scope: str, now: int) -> Chain | None:
        """The chain by which somebody may do something now (in ms); empty for a root, None if it may not."""
        if holder in self.roots:
            return ()
        for id_ in self._held.get(holder, ()):
            intent = self._intents[id_]
            if action in intent.actions and _reaches(intent, namespace, scope) and self._reaches_root(id_):
                chain = self._chains[id_]
                if all(part.not_before <= now < part.expires for part in chain) and not self.is_revoked(chain):
                    return chain
        return None

    def may(self, holder: bytes, action: str, namespace: str, scope: str, now: int) -> bool:
        return self.right_for(holder, action, namespace, scope, now) is not None

    def intent_to_name(self, action: str, namespace: str, scope: str, now: int) -> bytes:
        """The id of the grant under which this node itself should write; empty when it has none but its own right."""
        for id_ in self._held.get(self.own, ()):
            intent = self._intents[id_]
            if action not in intent.actions or not _reaches(intent, namespace, scope):
                continue
            try:
                line = self.line_of(id_)
            except BusRefusal:
                continue
            if all(part.not_before <= now < part.expires for part in line) and not self.is_revoked(line):
                return id_
        return b""

    def check(self, entry: Entry, now: int) -> Chain:
        """The chain under which an entry may be taken; empty for one of a root. Raises when it may not be.

        `now` is the receiver's time in milliseconds. The signature is the business of `open_entries`.
        """
        if entry.at > now + SKEW_MS:
            raise BusRefusal("from_the_future")
        chain = self._chain_for(entry, now)
        if entry.kind == "grant":
            self._check_grant(entry)
        elif entry.kind == "revoked":
            self._check_revocation(entry, now)
        return chain

    def spends(self, entry: Entry, id_: bytes, size: int, chain: Chain) -> tuple[Spend, ...]:
        """Spends of an entry that came, by the chain that `check` gave. One of this node's own, which comes back
        after an older log was put in place, counts again under the grant that it names, and is not refused for
        that.
        """
        if entry.author != self.own or not entry.intent:
            return spends_of(entry, id_, size, chain)
        try:
            line = self.line_of(entry.intent)
        except BusRefusal:
            return ()
        return tuple(without_caps(spend) for spend in spends_of(entry, id_, size, line))

    def _chain_for(self, entry: Entry, now: int) -> Chain:
        if entry.author in self.roots:
            return ()
        if entry.kind in OF_AUTHORITY and not entry.intent:
            return self._chain_of_authority(entry.author)
        refusal: BusRefusal | None = None
        if entry.intent:
            try:
                return self._chain_named(entry, entry.intent, now)
            except BusRefusal as why:
                refusal = why
        # Who exchanges with several banks holds a grant of each, and an entry can name only one; what was written
        # before there was any names none. Another that allows it will do.
        for id_ in self._held.get(entry.author, ()):
            try:
                return self._chain_named(entry, id_, now)
            except BusRefusal as why:
                refusal = refusal or why
        raise refusal or BusRefusal("unknown_author", about=entry.author)

    def _chain_named(self, entry: Entry, id_: bytes, now: int) -> Chain:
        """The chain of one grant, if it allows this entry. What was written before the grant began, or is dated too
        early by a clock that is behind, is taken too, and counts into its first period.
        """
        chain = self.chain_of(id_)
        intent = chain[0]
        if intent.holder != entry.author:
            raise BusRefusal("no_right", "the grant belongs to another", about=id_)
        for part in chain:
            if now < part.not_before:
                raise BusRefusal("not_yet_valid", about=id_)
            if entry.at >= part.expires or now >= part.expires + LATE_MS:
                raise BusRefusal("expired", about=id_)
        if self.is_revoked(chain):
            raise BusRefusal("revoked", about=id_)
        _check_allowed(entry, intent)
        return chain

    def _chain_of_authority(self, author: bytes) -> Chain:
        """Why a grant or a revocation is kept that its author made in its own right: it has a right here, or gave one
        to this node. What it is worth is judged from the roots, as ever.
        """
        for id_ in self._held.get(author, ()):
            if self._reaches_root(id_) and not self.is_revoked(self._chains[id_]):
                return self._chains[id_]
        for id_ in self._held.get(self.own, ()):
            try:
                if any(part.issuer == author for part in self.line_of(id_)):
                    return ()
            except BusRefusal:
                continue
        raise BusRefusal("unknown_author", about=author)

    def _check_grant(self, entry: Entry) -> None:
        """Only its issuer passes a grant on, under the one that it was derived from."""
        intent = decode_intent(entry.body)
        if intent.issuer != entry.author or (intent.parent != entry.intent and entry.author not in self.roots):
            raise BusRefusal("no_right", "a grant is passed on by its issuer, under the one that it was derived from")
        verify_intent(intent)
        if intent.parent:
            narrow(self.line_of(intent.parent)[0], intent)

    def _check_revocation(self, entry: Entry, now: int) -> None:
        revocation = decode_revocation(entry.body)
        if revocation.issuer != entry.author:
            raise BusRefusal("no_right", "a revocation is passed on by its issuer")
        if revocation.at > now + SKEW_MS:
            raise BusRefusal("from_the_future")
        verify_revocation(revocation)


def _reaches(intent: Intent, namespace: str, scope: str) -> bool:
    in_scope = not scope or scope in intent.scopes
    return in_scope and any(covers(pattern, namespace) for pattern in intent.namespaces)


def _check_allowed(entry: Entry, intent: Intent) -> None:
    """Refuse an entry to which the grant gives no right. That those above it give it too follows from narrowing."""
    if entry.kind == "revoked":
        return
    if entry.kind == "grant":
        if not intent.delegable:
            raise BusRefusal("no_right", "the grant may not be passed on", about=entry.intent)
        return
    is_own = entry.record.author == entry.author
    if entry.kind == "erased":
        actions = {"record", "erase", "link", "signal"} if is_own else {"erase"}
        is_allowed = bool(actions.intersection(intent.actions))
    else:
        is_allowed = ACTION_OF_KIND[entry.kind] in intent.actions and (is_own or "bus:admin" in intent.actions)
    if not is_allowed:
        raise BusRefusal("no_right", about=entry.intent)
    if not any(covers(pattern, entry.namespace) for pattern in intent.namespaces):
        raise BusRefusal("wrong_namespace", about=entry.intent)
    if entry.scope and entry.scope not in intent.scopes:
        raise BusRefusal("wrong_scope", about=entry.intent)
