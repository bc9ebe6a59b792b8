"""Opens the bank that a command works on, and says what to do when it is not there yet.

A named bank that is missing is an error for whoever wants to read it. A missing default bank is an empty one:
nobody asked for a file, so none is made.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reasoningbank.cli.plain import one_line
from reasoningbank.config import from_environment, home
from reasoningbank.core.errors import BankUnavailable
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Memory, State
from reasoningbank.wiring import ReasoningBank, sqlite_path

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class OpenedBank:
    bank: ReasoningBank
    location: str
    missing: bool
    """True when there is no file and `bank` is an empty stand-in."""


@contextmanager
def open_bank(args: Namespace, *, create: bool = False) -> Iterator[OpenedBank]:
    """`create` for commands that write something new; the others find a bank or an empty stand-in."""
    location = location_of(args)
    # Of those commands only that may choose one; the bank remembers it.
    policy = getattr(args, "policy", None)
    there = location == ":memory:" or Path(location).exists()
    if not there and not create:
        if location != str(home() / "bank.db"):
            raise BankUnavailable(no_bank_at(location))
        with ReasoningBank.open(":memory:", namespace=args.namespace, config=args.config) as bank:
            yield OpenedBank(bank=bank, location=location, missing=True)
        return
    with ReasoningBank.open(
        location, namespace=args.namespace, create=create, policy=policy, config=args.config
    ) as bank:
        yield OpenedBank(bank=bank, location=location, missing=False)


@contextmanager
def existing(args: Namespace) -> Iterator[ReasoningBank]:
    """For commands that make no sense without a file."""
    with open_bank(args) as found:
        if found.missing:
            raise BankUnavailable(no_bank_at(found.location))
        yield found.bank


def elsewhere(bank: ReasoningBank) -> str:
    """Where the memories are, for somebody who looks in a namespace that has none; else nothing."""
    # Not by `status`, which wants to know who distils: whoever lists need not have settled that.
    with bank.context.store.read(bank.tenant) as reader:
        others = reader.tally(Memory, "namespace", {"state": State.ACTIVE.value})
    if not others or bank.namespace in others:
        return ""
    ranked = sorted(others, key=lambda name: (-others[name], name))
    named = ", ".join(f"{one_line(name)} ({others[name]:,})" for name in ranked[:_MOST_NAMED])
    more = f" and {len(ranked) - _MOST_NAMED:,} more" if len(ranked) > _MOST_NAMED else ""
    return f" There are some in {named}{more}: add --namespace NAME, or --all-namespaces."


def location_of(args: Namespace) -> str:
    return sqlite_path(args.bank if args.bank is not None else from_environment().bank)


def no_bank_at(location: str) -> str:
    return f"There is no bank at {location}. `reasoningbank store KEY VALUE` creates one."
