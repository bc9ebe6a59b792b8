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
"""Changes owed from which on a bar is shown: fewer are made up for before anybody has read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """State of the index after it was brought up to date as far as it went."""

    owed: int
    """Changes and vectors that it still lacks."""
    why: str = ""
    """The reason why the rest is missing, when nobody wished so."""
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
        backlog = index_rest(bank, bar)
    if backlog.interrupted:
        tell_owed(backlog, terminal)
        raise KeyboardInterrupt


def tell_owed(backlog: Indexed, terminal: Terminal) -> None:
    """Say what is not searchable yet, and who will see to it."""
    if not backlog.owed:
        return
    note = "Stopped. What was kept stays kept. " if backlog.interrupted else ""
    why = f" ({backlog.why.rstrip('.')})" if backlog.why else ""
    terminal.tell(
        f"{note}Not indexed yet: {figures.counted(backlog.owed, 'change')}{why}. The next `query` does it, a running "
        f"server in its idle time, or `{PROGRAM} reindex --missing` now."
    )


def exit_code(backlog: Indexed) -> int:
    return INTERRUPTED if backlog.interrupted else 0
