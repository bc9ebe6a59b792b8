"""Gives, accepts, lists and ends grants: the rights of a node as its user sees and changes them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from reasoningbank.core.drafts import clean_namespace
from reasoningbank.core.errors import Conflict, InvalidInput, NotFound, Refused
from reasoningbank_bus.authority.intent import (
    Intent,
    encode_intent,
    encode_revocation,
    intent_id,
    intent_line,
    parse_intent_line,
    sign_intent,
    sign_revocation,
)
from reasoningbank_bus.authority.keys import fingerprint
from reasoningbank_bus.authority.metering import period_of
from reasoningbank_bus.authority.rights import Rights
from reasoningbank_bus.home import BusHome
from reasoningbank_bus.kept_rights import keep_pasted, pasted_grants
from reasoningbank_bus.views import ACTIONS, CAPS, SHARED_SCOPES, GrantTerms, GrantView
from reasoningbank_bus.wire.entry import Entry, RecordName, sign_entry
from reasoningbank_bus.wire.refusals import BusRefusal

_SHORTEST_ID = 4
_INSTEAD = {
    "records": "leave the action `record` out",
    "bytes": "leave the actions out that write",
    "searches": "leave the action `search` out",
    "tokens": "leave the cap out, since no model is asked for a peer whose grant has none",
}
"""Advice on what to say in the place of a cap of nothing."""
_HEX = frozenset("0123456789abcdef")


class GrantDesk:
    def __init__(self, bus: BusHome) -> None:
        self._key, self._log, self._peers = bus.key, bus.log, bus.book
        self._clock, self.rights = bus.bank.context.clock, bus.rights

    # ------------------------------------------------------------ giving and taking

    def give(self, holder: bytes, terms: GrantTerms) -> GrantView:
        """Sign a grant and keep it as an entry, so that it spreads."""
        if holder == self._key.public:
            raise InvalidInput("This is your own key: you need no grant in your own bank.")
        _check_terms(terms)
        rights, now = self.rights(), self._now_ms()
        above = intent_id(self._find(terms.under, rights)) if terms.under else b""
        line = rights.line_of(above) if above else ()
        if line and line[0].holder != self._key.public:
            raise Refused("Only who holds a grant can hand on a part of it; that one is another's.")
        intent = sign_intent(
            self._key,
            holder,
            actions=terms.actions,
            namespaces=[_clean_pattern(pattern) for pattern in terms.namespaces],
            scopes=terms.scopes,
            caps=terms.caps,
            period=terms.period_s,
            # What is derived from another begins and ends within it.
            not_before=max([now, *(part.not_before for part in line)]),
            expires=min([now + int(terms.lifetime_s * 1000), *(part.expires for part in line)]),
            delegable=terms.delegable,
            parent=above,
        )
        rights.add(intent)
        self._log.add([self._entry("grant", intent_id(intent), encode_intent(intent), above)])
        return self._view(intent, rights)

    def accept(self, line: str) -> GrantView:
        """Keep a grant that was handed over as text."""
        chain = parse_intent_line(line)
        own, now = self._key.public, self._now_ms()
        if chain[0].issuer == own:
            raise InvalidInput("This grant is one that you have given: send it to its holder.")
        if chain[0].holder != own:
            raise Refused(
                f"This grant is for {fingerprint(chain[0].holder)}; this bank is {fingerprint(own)}. Ask for one for "
                "your own key: `reasoningbank bus id` prints it."
            )
        expiry = min(part.expires for part in chain)
        if expiry <= now:
            raise BusRefusal("expired", f"it ended on {_day(expiry)}")
        rights = self.rights()
        for part in reversed(chain):
            rights.add(part)
        if rights.is_revoked(chain):
            raise BusRefusal("revoked")
        keep_pasted(self._log, [*pasted_grants(self._log), *chain])
        return self._view(chain[0], rights)

    # ------------------------------------------------------------ looking

    def all(self) -> list[GrantView]:
        """All grants: those that were given and are held first, then those between others; the newest first."""
        rights = self.rights()
        order = {"given": 0, "held": 1, "seen": 2}
        newest_first = sorted(rights.intents(), key=lambda intent: (-intent.not_before, intent.nonce))
        return sorted((self._view(grant, rights) for grant in newest_first), key=lambda view: order[view.direction])

    def _view(self, intent: Intent, rights: Rights) -> GrantView:
        own, now, id_ = self._key.public, self._now_ms(), intent_id(intent)
        direction = "given" if intent.issuer == own else "held" if intent.holder == own else "seen"
        return GrantView(
            id=id_.hex(),
            line=_line_of(id_, rights),
            direction=direction,
            issuer=fingerprint(intent.issuer),
            holder=fingerprint(intent.holder),
            issuer_name=self._peers.get(intent.issuer).name,
            holder_name=self._peers.get(intent.holder).name,
            actions=tuple(action for action in ACTIONS if action in intent.actions),
            namespaces=intent.namespaces,
            scopes=tuple(scope for scope in SHARED_SCOPES if scope in intent.scopes),
            caps={what: intent.caps[what] for what in CAPS if what in intent.caps},
            spent=dict(self._log.spent(id_, period_of(intent, now))),
            period_s=intent.period,
            starts_at=intent.not_before / 1000,
            expires_at=intent.expires / 1000,
            delegable=intent.delegable,
            under=intent.parent.hex(),
            state=_state(intent, rights, now, is_ours=direction == "held"),
        )

    def issuer_of(self, id_prefix: str) -> bytes:
        return self._find(id_prefix, self.rights()).issuer

    def is_grant(self, id_prefix: str) -> bool:
        return len(self._matching(id_prefix, self.rights())) > 0

    def _find(self, id_prefix: str, rights: Rights) -> Intent:
        matches = self._matching(id_prefix, rights)
        if len(matches) > 1:
            raise Conflict(f"{id_prefix!r} is the beginning of {len(matches)} grants' ids: say more of it.")
        if not matches:
            raise NotFound(f"There is no grant {id_prefix[:80]!r} here: `reasoningbank bus grants --all` lists them.")
        return matches[0]

    def _matching(self, id_prefix: str, rights: Rights) -> list[Intent]:
        word = id_prefix.strip().lower()
        if len(word) < _SHORTEST_ID or not set(word) <= _HEX:
            return []
        return [intent for intent in rights.intents() if intent_id(intent).hex().startswith(word)]

    # ------------------------------------------------------------ ending

    def revoke_grant(self, id_prefix: str) -> GrantView:
        rights = self.rights()
        intent = self._find(id_prefix, rights)
        own = self._key.public
        if own not in {part.issuer for part in rights.line_of(intent_id(intent))}:
            if intent.holder == own:
                raise Refused("You hold this grant; only who gave it can revoke it.")
            if own not in rights.roots:
                raise Refused("Only who gave a grant, or stands above it, can revoke it.")
        self._withdraw(intent=intent_id(intent))
        return self._view(intent, self.rights())

    def revoke_holder(self, holder: bytes) -> list[GrantView]:
        """End every grant that we have given to somebody, and let go of those that it has given us."""
        rights = self.rights()
        now = self._now_ms()
        in_force = ("valid", "not_yet_valid")
        intents = [
            intent for intent in rights.held_by(holder) if _state(intent, rights, now, is_ours=False) in in_force
        ]
        self._withdraw(holder=holder)
        keep_pasted(self._log, [grant for grant in pasted_grants(self._log) if grant.issuer != holder])
        after = self.rights()
        return [self._view(intent, after) for intent in intents]

    def _withdraw(self, *, intent: bytes = b"", holder: bytes = b"") -> None:
        revocation = sign_revocation(self._key, at=self._now_ms(), intent=intent, holder=holder)
        self._log.add([self._entry("revoked", intent or holder, encode_revocation(revocation), b"")])

    def _entry(self, kind: str, name: bytes, body: bytes, intent: bytes) -> Entry:
        return sign_entry(
            self._key,
            at=self._now_ms(),
            kind=kind,
            namespace="",
            scope="",
            record=RecordName(self._key.public, f"{kind}:{name.hex()}"),
            revision=1,
            intent=intent,
            body=body,
        )

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


def _line_of(id_: bytes, rights: Rights) -> str:
    try:
        return intent_line(rights.line_of(id_))
    except BusRefusal:
        # One above it is not known here.
        return ""


def _state(intent: Intent, rights: Rights, now: int, *, is_ours: bool) -> str:
    id_ = intent_id(intent)
    try:
        # Whether one that we hold reaches a root is for others to judge.
        line = rights.line_of(id_) if is_ours else rights.chain_of(id_)
    except BusRefusal:
        return "no_root"
    if rights.is_revoked(line):
        return "revoked"
    if any(now >= part.expires for part in line):
        return "expired"
    return "not_yet_valid" if any(now < part.not_before for part in line) else "valid"


def _check_terms(terms: GrantTerms) -> None:
    _check_words("action", terms.actions, ACTIONS)
    _check_words("scope", terms.scopes, SHARED_SCOPES)
    _check_words("cap", tuple(terms.caps or ()), CAPS)
    if not terms.actions:
        raise InvalidInput(f"A grant without actions gives nothing: name some of {', '.join(ACTIONS)}.")
    if not terms.namespaces:
        raise InvalidInput("A grant without namespaces gives nothing: name some, or *.")
    if not terms.lifetime_s > 0:
        raise InvalidInput("A grant that ends before it begins gives nothing.")
    if terms.period_s < 0 or any(cap < 0 for cap in (terms.caps or {}).values()):
        raise InvalidInput("Caps and their period cannot be less than nothing.")
    for what, cap in (terms.caps or {}).items():
        if not cap:
            raise InvalidInput(f"A cap of nothing ({what}=0) gives nothing: {_INSTEAD[what]}.")


def _check_words(what: str, words: Sequence[str], choices: Sequence[str]) -> None:
    for word in words:
        if word not in choices:
            more = " What is scoped to a project is never shared." if word == "project" else ""
            raise InvalidInput(f"{what} {word!r} is unknown: use one of {', '.join(choices)}.{more}")


def _clean_pattern(pattern: str) -> str:
    if pattern == "*":
        return pattern
    if pattern.endswith("/*"):
        return f"{clean_namespace(pattern.removesuffix('/*'))}/*"
    return clean_namespace(pattern)


def _day(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at_ms / 1000))
