"""Which key a bank is known by on the bus, kept in the bank itself: one, wherever it lies and whoever serves it.

Two keys for one bank would be two authors of every record: peers would have it twice, and evidence would count twice.
So a bank that was moved, or is served from two machines, keeps the key that it had, until its user says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import Conflict

_WAIT_S = 1.0
_ANEW = "with two keys it would say everything twice. If that key is lost: reasoningbank bus init --anew"


def kept_fingerprint(bank: Bank) -> str:
    """Fingerprint of the key that this bank is known by; "" for one that is not on the bus."""
    return bank.context.store.setting(_name(bank)) or ""


def missing_key(bank: Bank, folder: Path) -> Conflict:
    """Why nothing can be done without a key here, and what to do."""
    identity = kept_fingerprint(bank)
    if not identity:
        return Conflict("This bank is not on the bus yet: `reasoningbank bus init` makes its key.")
    return Conflict(
        f"This bank is on the bus as {identity}, and that key is not here. Copy key and bus.db from where they lie to "
        f"{folder}; {_ANEW}"
    )


def check_key(bank: Bank, fingerprint: str) -> None:
    """Raise if this bank is known by another key."""
    identity = kept_fingerprint(bank)
    if identity and identity != fingerprint:
        raise Conflict(
            f"This bank is on the bus as {identity}, and the key here is {fingerprint}: put the other here; {_ANEW}"
        )


def bind_key(bank: Bank, fingerprint: str, *, anew: bool = False) -> None:
    """Make a key the one that this bank is known by, or raise if that is another; `anew` puts it in place of any."""
    if not anew:
        check_key(bank, fingerprint)
    if kept_fingerprint(bank) != fingerprint:
        bank.context.store.set_setting(_name(bank), fingerprint)


class NodeElsewhere(Conflict):
    """Another machine runs the node of this bank."""


@contextmanager
def only_node(bank: Bank) -> Iterator[None]:
    """Be the one node of a bank, also among machines that share it."""
    with bank.context.store.turn(_turn(bank), _WAIT_S) as is_mine:
        if not is_mine:
            raise NodeElsewhere("The bus of this bank is up already on another machine: a bank has one node at a time.")
        yield


def stay_only_node(bank: Bank) -> None:
    """Make sure of it while the node is up: with a broken connection the turn is gone, and is taken again. Raises if
    another machine was there before.
    """
    if not bank.context.store.renew_turn(_turn(bank)):
        raise NodeElsewhere(
            "The connection to the bank broke, and another machine runs its bus since: this node stops, since a bank "
            "has one node at a time."
        )


def _turn(bank: Bank) -> str:
    return f"bus-up-{bank.tenant}"


def _name(bank: Bank) -> str:
    return f"bus key {bank.tenant}"
