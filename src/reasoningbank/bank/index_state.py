"""The line of `verify` about an index in which nothing is damaged."""

from __future__ import annotations

from reasoningbank.bank.bank import Bank
from reasoningbank.core.wording import counted


def state_of_sound_index(bank: Bank) -> str:
    """State of an index in which nothing is damaged: that it is there, and how far it is."""
    index, owed = bank.status().index, bank.index_lag()
    if index is None or not index.applied:
        return "no index is there: the next search builds it"
    if owed:
        behind = counted(owed, "change")
        return f"the index is {behind} behind, which the next search brings in; what it holds matches the rows"
    return "the index matches the rows"
