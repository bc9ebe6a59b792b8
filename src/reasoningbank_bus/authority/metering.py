"""Caps: what an entry or a search spends of the grants that it rests on, and whether that still fits. Pure.

A cap counts at every node for itself: the author's before it signs, each receiver's before it takes. Copies that cannot
talk cannot share one count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from reasoningbank_bus.authority.intent import Intent, intent_id
from reasoningbank_bus.wire.entry import Entry

WITHOUT_RECORDS = ("erased", "grant", "revoked")
"""Kinds that take bytes and no record: what is full must still be able to forget."""


class CapUse(Struct, frozen=True, gc=False):
    """The cap that one grant of a chain sets on one thing, in one of its periods."""

    intent: bytes
    period: int
    """Which one, counted from 0."""
    cap: int | None


class Spend(Struct, frozen=True):
    """An amount of something, spent under every grant of a chain."""

    cap_uses: tuple[CapUse, ...]
    what: str
    amount: int
    entry: bytes = b""
    """The id of the entry that it is for: counted only if that is new. Empty: counted in any case."""


def period_of(intent: Intent, at: int) -> int:
    """In which period of a grant a moment (milliseconds) lies."""
    return max(0, at - intent.not_before) // (1000 * intent.period) if intent.period else 0


def make_spend(chain: Sequence[Intent], what: str, amount: int, at: int, *, entry: bytes = b"") -> Spend:
    cap_uses = (CapUse(intent_id(part), period_of(part, at), part.caps.get(what)) for part in chain)
    return Spend(tuple(cap_uses), what, amount, entry)


def spends_of(entry: Entry, id_: bytes, size: int, chain: Sequence[Intent]) -> tuple[Spend, ...]:
    """Spends of an entry of `size` encoded bytes. Its author's clock says in which period, the same everywhere."""
    if not chain:
        return ()
    of_bytes = make_spend(chain, "bytes", size, entry.at, entry=id_)
    if entry.kind in WITHOUT_RECORDS:
        return (of_bytes,)
    return of_bytes, make_spend(chain, "records", 1, entry.at, entry=id_)


def without_caps(spend: Spend) -> Spend:
    """The same, counted and never refused."""
    return replace(spend, cap_uses=tuple(replace(part, cap=None) for part in spend.cap_uses))


def sums_of(spends: Iterable[Spend]) -> Mapping[tuple[bytes, str, int], tuple[int, int | None]]:
    """The amount that all of them spend and the cap, by grant, thing and period."""
    sums: dict[tuple[bytes, str, int], tuple[int, int | None]] = {}
    for spend in spends:
        for part in spend.cap_uses:
            key = (part.intent, spend.what, part.period)
            before, cap = sums.get(key, (0, None))
            sums[key] = (before + spend.amount, part.cap if cap is None else cap)
    return sums


def fitting(groups: Sequence[Sequence[Spend]], usage: Callable[[bytes, int], Mapping[str, int]]) -> list[bool]:
    """For each group of spends, in order, whether it fits behind those before it that did; `usage` is the log's."""
    used: dict[tuple[bytes, str, int], int] = {}
    fits: list[bool] = []
    for group in groups:
        sums = sums_of(group)
        for intent, what, period in sums.keys() - used.keys():
            used[intent, what, period] = usage(intent, period).get(what, 0)
        fit = all(cap is None or used[key] + amount <= cap for key, (amount, cap) in sums.items())
        if fit:
            for key, (amount, _) in sums.items():
                used[key] += amount
        fits.append(fit)
    return fits
