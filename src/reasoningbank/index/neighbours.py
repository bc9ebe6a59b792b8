"""Turns of one conversation that were kept one after the other: each helps to find its neighbour.

Slots are given in the order of storing, so the turn before lies in the slot before. Independent of what a neighbour's
word is worth: here are only slots, and conversations by their keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reasoningbank.index.masks import Mask
from reasoningbank.index.rows import Rows, Slots
from reasoningbank.lexical.hashing import ABSENT

_STEPS = np.array([-1, 1], np.int64)


def with_neighbours(slots: Slots, rows: Rows, mask: Mask) -> tuple[Slots, NDArray[np.int64]]:
    """Slots together with those of the turns beside them, and for each the rows of its neighbours, or −1."""
    talks = rows.take("conversation", slots)
    if not (talks != ABSENT).any():
        return slots, np.full((len(slots), 2), -1, np.int64)
    near = _turns_beside(slots, rows, mask)
    place = {slot: row for row, slot in enumerate(dict.fromkeys((*slots.tolist(), *near[near >= 0].tolist())))}
    every = np.fromiter(place, np.int64)
    beside = [[place.get(slot, -1) for slot in pair] for pair in _turns_beside(every, rows, mask).tolist()]
    return every, np.array(beside, np.int64)


def _turns_beside(slots: Slots, rows: Rows, mask: Mask) -> NDArray[np.int64]:
    """Slots before and after, as (n, 2), with a turn of the same conversation that passes the filter; else −1."""
    near = slots[:, None] + _STEPS
    there = (near >= 0) & (near < rows.count)
    near = np.where(there, near, 0)
    talks = rows.take("conversation", slots)[:, None]
    there &= mask[near] & (talks != ABSENT) & (rows.take("conversation", near) == talks)
    beside: NDArray[np.int64] = np.where(there, near, -1)
    return beside
