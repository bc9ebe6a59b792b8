"""Closing a bank to writers: while it is being filled from another, and once it was moved to another.

Every engine looks for the setting before it commits, in the transaction itself; only one that has taken the bank over
(`RowTransaction.take_over`) gets past. So there is no moment in which a write is acknowledged and not taken along.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from reasoningbank.core.errors import BankBusy, BankMoved, StoreError
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.tables import SETTINGS, IfTaken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reasoningbank.ports import Store
    from reasoningbank.store.engine import Row, RowTransaction

CLOSED = "closed"
"""The setting of a bank that takes no writes; with nothing in it, the bank is open."""
WHY_CLOSED = Selection(SETTINGS, ("value",), (*equal(name=CLOSED), ("value", "not", "")))
_FILLING, _MOVED = "filling", "moved"


def close_while_filling(rows: RowTransaction, source: str) -> None:
    rows.put(SETTINGS, [(CLOSED, json.dumps([_FILLING, source]))], IfTaken.REPLACE)


def close_as_moved(rows: RowTransaction, target: str) -> None:
    rows.put(SETTINGS, [(CLOSED, json.dumps([_MOVED, target]))], IfTaken.REPLACE)


def open_again(rows: RowTransaction) -> None:
    rows.delete(SETTINGS, equal(name=CLOSED))


def moved_to(rows: RowTransaction) -> str | None:
    """Present place of a bank that was moved; None if it is here."""
    for (value,) in rows.scan(WHY_CLOSED):
        why, place = json.loads(value)
        return str(place) if why == _MOVED else None
    return None


def check_whole(rows: RowTransaction, location: object) -> None:
    """Raise for half a bank, which is being filled or was left so by a kill."""
    for (value,) in rows.scan(WHY_CLOSED):
        if json.loads(value)[0] == _FILLING:
            raise refusal(str(value), location)


def check_open(rows: Iterable[Row], location: object) -> None:
    """Raise if `WHY_CLOSED` found a reason."""
    for (value,) in rows:
        raise refusal(str(value), location)


def why_closed(store: Store) -> StoreError | None:
    """The error that a writer would get; None for a bank that is open."""
    value = store.setting(CLOSED)
    return refusal(value, store.info.location) if value else None


def refusal(value: str, location: object) -> StoreError:
    why, place = json.loads(value)
    here, there = shlex.quote(str(location)), shlex.quote(str(place))
    if why == _FILLING:
        return BankBusy(
            f"{location} is being filled from {place} and takes no writes before it is whole. Nothing was written: try "
            f"again when `reasoningbank migrate {there} {here}` is done."
        )
    return BankMoved(
        f"{location} was moved to {place} and takes no more writes: name that bank (--bank, REASONINGBANK_BANK). To go "
        f"back to this one: `reasoningbank migrate --undo {here} {there}`.",
        place=str(place),
    )
