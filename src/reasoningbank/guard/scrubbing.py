"""A tenant's rulings about scrubbing: values that are no secrets, and kinds of personal data to take out too.

Kept in the store's settings, one for each tenant. Of an allowed value only a fingerprint is kept.
"""

from __future__ import annotations

import json

from reasoningbank.core.errors import BankDamaged, InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.guard.secrets import Scrubber, fingerprint
from reasoningbank.ports import Store

PERSONAL = ("email", "card", "iban", "phone")
SHORTEST_ALLOWED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbing:
    allow: tuple[str, ...] = ()
    """Fingerprints."""
    personal: tuple[str, ...] = ()


def scrubbing_of(store: Store, tenant: str) -> Scrubbing:
    text = store.setting(_name(tenant))
    if text is None:
        return Scrubbing()
    try:
        values = json.loads(text)
        return Scrubbing(allow=tuple(map(str, values["allow"])), personal=tuple(map(str, values["personal"])))
    except (ValueError, KeyError, TypeError) as error:
        raise BankDamaged(f"The scrubbing settings of tenant {tenant!r} cannot be read ({error}).") from error


def keep(store: Store, tenant: str, scrubbing: Scrubbing) -> None:
    store.set_setting(_name(tenant), json.dumps({"allow": scrubbing.allow, "personal": scrubbing.personal}))


def scrubber_for(store: Store, tenant: str) -> Scrubber:
    scrubbing = scrubbing_of(store, tenant)
    return Scrubber(allow=scrubbing.allow, personal=scrubbing.personal)


def allowing(scrubbing: Scrubbing, value: str) -> Scrubbing:
    if len(value) < SHORTEST_ALLOWED:
        raise InvalidInput(f"A value to allow has at least {SHORTEST_ALLOWED} characters.")
    return Scrubbing(allow=tuple(dict.fromkeys((*scrubbing.allow, fingerprint(value)))), personal=scrubbing.personal)


def refusing(scrubbing: Scrubbing, value: str) -> Scrubbing:
    """`value` is the value itself, or the beginning of its fingerprint as it was listed."""
    whole = fingerprint(value)
    matches = [entry for entry in scrubbing.allow if entry == whole or (len(value) >= 8 and entry.startswith(value))]
    if not matches:
        raise InvalidInput("No such value is allowed: `reasoningbank scrub --allowed` lists the fingerprints.")
    return Scrubbing(
        allow=tuple(entry for entry in scrubbing.allow if entry not in matches), personal=scrubbing.personal
    )


def with_personal(scrubbing: Scrubbing, kinds: tuple[str, ...]) -> Scrubbing:
    unknown = sorted(set(kinds).difference(PERSONAL))
    if unknown:
        raise InvalidInput(f"{', '.join(unknown)} is no kind of personal data: use some of {', '.join(PERSONAL)}.")
    return Scrubbing(allow=scrubbing.allow, personal=tuple(sorted(set(kinds))))


def _name(tenant: str) -> str:
    return f"scrub:{tenant}"
