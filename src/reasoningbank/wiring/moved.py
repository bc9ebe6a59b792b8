"""Where a bank went that `migrate` has moved, and the bank there, for whoever still names the old place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.config import locate
from reasoningbank.core.errors import BankMoved
from reasoningbank.store.closed import why_closed
from reasoningbank.wiring.opening import ReasoningBank

if TYPE_CHECKING:
    from reasoningbank.bank.bank import Bank
    from reasoningbank.location import Location


def find_move(bank: Bank) -> BankMoved | None:
    """The refusal that a writer would get; None for a bank that was not moved. Asked anew each time: it may be moved
    in use.
    """
    closed = why_closed(bank.context.store)
    return closed if isinstance(closed, BankMoved) else None


def open_where_it_is(location: Location) -> ReasoningBank:
    """The bank that is named, or the one that it was moved to, as far as that opens without a password."""
    bank = ReasoningBank.open(location)
    moved = find_move(bank)
    if moved is None:
        return bank
    bank.close()
    return ReasoningBank.open(locate(moved.place), create=False)
