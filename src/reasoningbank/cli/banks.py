"""Opens the bank that a command works on, and says what to do when it is not there yet.

A named bank that is missing is an error for whoever wants to read it. A missing default bank is an empty one:
nobody asked for a file, so none is made.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from reasoningbank.cli.plain import one_line
from reasoningbank.config import default_location, locate
from reasoningbank.core.errors import BankFull, BankUnavailable
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Memory, State
from reasoningbank.location import MEMORY, Location
from reasoningbank.wiring import ReasoningBank
from reasoningbank.wiring.backends import backend_of
from reasoningbank.wiring.notices import tell

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class OpenedBank:
    bank: ReasoningBank
    location: Location
    missing: bool
    """True when there is no bank there and `bank` is an empty stand-in."""


@contextmanager
def open_bank(args: Namespace, *, create: bool = False, only_reads: bool = False) -> Iterator[OpenedBank]:
    """Open the bank of a command. With `create` it is made if it is missing, for commands that write something new;
    the others find a bank or an empty stand-in. Commands that `only_reads` need no room on the disk.
    """
    location = location_of(args)
    # Of those commands only that may choose one; the bank remembers it.
    policy = getattr(args, "policy", None)
    if not create and location.state is not None and not is_there(location):
        if location != default_location():
            raise BankUnavailable(_no_bank_at(location))
        with ReasoningBank.open(MEMORY, namespace=args.namespace, config=args.config) as bank:
            yield OpenedBank(bank=bank, location=location, missing=True)
        return
    opening = partial(
        ReasoningBank.open, location, namespace=args.namespace, create=create, policy=policy, config=args.config
    )
    try:
        bank = opening(index=args.index)
    except BankFull:
        if not only_reads:
            raise
        bank = opening(read_only=True)
        tell(f"The disk that holds {location} is full: it is read only, and what is new is indexed for each search.")
    with bank:
        yield OpenedBank(bank=bank, location=location, missing=False)


@contextmanager
def existing(args: Namespace) -> Iterator[ReasoningBank]:
    """The bank, which must exist: for commands that make no sense without one."""
    with open_bank(args) as handle:
        if handle.missing:
            raise BankUnavailable(_no_bank_at(handle.location))
        yield handle.bank


def elsewhere(bank: ReasoningBank) -> str:
    """Where the memories are, for somebody who looks in a namespace that has none; else nothing."""
    # Not by `status`, which wants to know who distils: whoever lists need not have settled that.
    with bank.context.store.read(bank.tenant) as reader:
        counts = reader.tally(Memory, "namespace", {"state": State.ACTIVE.value})
    if not counts or bank.namespace in counts:
        return ""
    names = sorted(counts, key=lambda name: (-counts[name], name))
    listing = ", ".join(f"{one_line(name)} ({counts[name]:,})" for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return f" There are some in {listing}{more}: add --namespace NAME, or --all-namespaces."


def location_of(args: Namespace) -> Location:
    return locate(args.bank)


def without_traces(args: Namespace) -> Namespace:
    """The arguments of a command that makes a bank; for a dry run where there is no bank, those of one in memory."""
    if not args.dry_run or is_there(location_of(args)):
        return args
    return Namespace(bank=MEMORY, namespace=args.namespace, config=args.config, index=None)


def is_there(location: Location) -> bool:
    """True if there is a bank already; makes none."""
    return backend_of(location).exists(location)


def _no_bank_at(location: Location) -> str:
    return f"There is no bank at {location}. `reasoningbank store KEY VALUE` creates one."
