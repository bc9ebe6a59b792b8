"""Outcome of entries that were applied."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from reasoningbank_bus.exchange.naming import KnownRecord
from reasoningbank_bus.exchange.owed import OwedErasure
from reasoningbank_bus.refusal_tally import RefusalTally
from reasoningbank_bus.wire.entry import RecordName


@dataclass(slots=True, kw_only=True)
class Applied:
    """The tally of one run; changes while it is being counted."""

    added: Counter[str] = field(default_factory=Counter)
    """Number of new records, by noun."""
    revised: int = 0
    unchanged: int = 0
    """Known already, or an older version of what is here."""
    erased: int = 0
    waiting: int = 0
    """Entries that refer to what has not arrived."""
    held: Counter[str] = field(default_factory=Counter)
    """Not taken for now, by the reason."""
    refused: RefusalTally = field(default_factory=RefusalTally)

    def include(self, other: Applied) -> None:
        self.added += other.added
        self.revised += other.revised
        self.unchanged += other.unchanged
        self.erased += other.erased
        self.waiting += other.waiting
        self.held += other.held
        self.refused.include(other.refused)


@dataclass(slots=True, kw_only=True)
class UnitOutcome:
    """Outcome of one transaction of the bank, to be written down in the log."""

    tally: Applied = field(default_factory=Applied)
    known: dict[str, KnownRecord] = field(default_factory=dict)
    waiting: dict[str, list[int]] = field(default_factory=dict)
    """Numbers of entries, by the id that they wait for."""
    held: list[int] = field(default_factory=list)
    arrived: set[str] = field(default_factory=set)
    """Memories and nodes that are here since, or say something else."""
    owed: list[OwedErasure] = field(default_factory=list)
    """Erasures of this bank's own records that were erased here and come again."""
    unwanted: list[RecordName] = field(default_factory=list)
    """The same of others: the log shall not keep their text."""
