"""Errors and lists for damage to an index."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from reasoningbank.core.errors import BankDamaged
from reasoningbank.index.content import Snapshot
from reasoningbank.index.examine import Examined
from reasoningbank.ports import Damage

_OF_NUMBERS_THAT_CANNOT_BE = (ValueError, IndexError, OverflowError, MemoryError, struct.error)
"""Exceptions of NumPy and Python for an offset beyond the end, a count below zero, an id that is no text."""
_PARTS = (
    ("rows", "its row in the index does not match its checksum"),
    ("words", "its words in the index do not match their checksum"),
    ("vectors", "its vector in the index does not match its checksum"),
)


class damage_is_named:  # noqa: N801 - reads as a phrase after `with`
    """Context manager that turns faults of reading a damaged index into a typed error."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _OF_NUMBERS_THAT_CANNOT_BE):
            raise BankDamaged(
                f"The index {self._directory} cannot be read ({error}); build the index again."
            ) from error


def describe(snapshot: Snapshot, examination: Examined, small: list[str]) -> list[Damage]:
    """Everything that an examination found, each slot once."""
    damages = [Damage(kind="index", id="", problem=problem) for problem in small]
    damages += [
        Damage(kind="index", id="", problem=f"{name} does not match its checksum") for name in examination.segments
    ]
    is_reported = np.zeros(len(examination.rows), np.bool_)
    for part, problem in _PARTS:
        sick = getattr(examination, part) & ~is_reported
        damages += [
            Damage(kind="index", id=_id_at(snapshot, slot), problem=problem) for slot in np.flatnonzero(sick).tolist()
        ]
        is_reported |= sick
    return damages


def _id_at(snapshot: Snapshot, slot: int) -> str:
    try:
        return snapshot.rows.ids(np.array([slot]))[0]
    except _OF_NUMBERS_THAT_CANNOT_BE:
        return f"slot {slot}"
