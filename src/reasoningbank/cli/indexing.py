"""Indexes what a bulk command has stored, with a progress bar, or says how much is still to be indexed."""

from __future__ import annotations

import math
from argparse import ArgumentParser

from reasoningbank.bank.bank import Bank
from reasoningbank.cli import figures
from reasoningbank.cli.command import PROGRAM
from reasoningbank.cli.progress import Bar
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import BankError
from reasoningbank.core.frozen import dataclass

INTERRUPTED = 130
_WORTH_A_BAR = 32
"""What is owed less than this is made up for before anybody has read a bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """How far the index came."""

    owed: int
    """Changes and vectors that it still lacks."""
    why: str = ""
    """What kept it from the rest, when nobody wished so."""
    interrupted: bool = False


def add_index_later(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--index-later", action="store_true", help="only keep it; the next query, or a running server, indexes it"
    )


def index_rest(bank: Bank, bar: Bar, *, later: bool = False) -> Indexed:
    """Bring the index up to date, whatever it takes, on the bar that is there already.

    Never fails: what is kept is kept, and an index that could not follow goes on another time.
    """
    owed = bank.index_lag()
    if not owed or later:
        return Indexed(owed=owed)
    bar.rename("indexing")
    try:
        bank.catch_up(budget_s=math.inf, progress=bar if owed >= _WORTH_A_BAR else None)
    except KeyboardInterrupt:
        return Indexed(owed=bank.index_lag(), interrupted=True)
    except (BankError, OSError) as error:
        return Indexed(owed=bank.index_lag(), why=str(error))
    return Indexed(owed=0)


def index_before(bank: Bank, terminal: Terminal) -> None:
    """Bring the index up to date for somebody who is about to search, showing progress where a person watches.

    Where it cannot be done, the search itself says so, and answers with what is there.
    """
    with Bar(terminal, "indexing") as bar:
        indexed = index_rest(bank, bar)
    if indexed.interrupted:
        tell_owed(indexed, terminal)
        raise KeyboardInterrupt


def tell_owed(indexed: Indexed, terminal: Terminal) -> None:
    """Say what is not searchable yet, and who will see to it."""
    if not indexed.owed:
        return
    kept = "Stopped. What was kept stays kept. " if indexed.interrupted else ""
    why = f" ({indexed.why.rstrip('.')})" if indexed.why else ""
    terminal.tell(
        f"{kept}Not indexed yet: {figures.counted(indexed.owed, 'change')}{why}. The next `query` does it, a running "
        f"server in its idle time, or `{PROGRAM} reindex --missing` now."
    )


def exit_code(indexed: Indexed) -> int:
    return INTERRUPTED if indexed.interrupted else 0
