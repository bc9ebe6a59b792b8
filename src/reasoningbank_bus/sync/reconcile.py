"""Range reconciliation: what one side answers to the ranges of the other, and what each of the two lacks.

Every message stands for itself: nothing is remembered between two of them, so loss, repetition and reordering cost time
and never truth. A range carries either its fingerprint or, when it holds few, its places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from reasoningbank_bus.sync.place_set import AUTHOR_PREFIX_BYTES, END, PlaceSet
from reasoningbank_bus.wire.frame import PlaceRange

LEAF = 32
"""A range that holds so many places or fewer tells them."""
PARTS = 16
"""Into so many ranges one is cut that differs."""


Bounds = tuple[bytes, bytes]
"""From the first to before the second; b"" as the second: to the end."""


class Difference(NamedTuple):
    """What follows from the ranges of a peer: ranges to answer, places that we lack, places that the peer lacks."""

    answer: list[PlaceRange]
    lacking: list[bytes]
    lacked: list[bytes]


def whole_range(held: PlaceSet, without: frozenset[bytes] = frozenset(), bounds: Bounds | None = None) -> PlaceRange:
    """The fingerprint of everything, or of all within bounds."""
    low, high = bounds or (b"", END)
    return PlaceRange(low, high, *held.summary(low, high, without))


def compare(
    held: PlaceSet,
    ranges: Iterable[PlaceRange],
    without: frozenset[bytes] = frozenset(),
    *,
    most: int = 10_000,
    bounds: Bounds | None = None,
) -> Difference:
    """Compare a peer's ranges with ours; at most `most` places are said to be lacked, and nothing beyond the bounds."""
    found = Difference([], [], [])
    for theirs in ranges:
        within = _overlap(theirs, bounds)
        if not theirs.fingerprint:
            found.lacking.extend(
                place for place in theirs.places if place not in held and place[:AUTHOR_PREFIX_BYTES] not in without
            )
        if within is None:
            continue
        if not theirs.fingerprint:
            told = set(theirs.places)
            room = most - len(found.lacked)
            ours = held.places(*within, without, room + len(told))
            found.lacked.extend([place for place in ours if place not in told][:room])
            continue
        count, fingerprint = held.summary(*within, without)
        if within != (theirs.low, theirs.high):
            found.answer.append(PlaceRange(*within, count, fingerprint))
        elif (count, fingerprint) == (theirs.count, theirs.fingerprint):
            continue
        elif theirs.count == 0:
            found.lacked.extend(held.places(*within, without, most - len(found.lacked)))
        elif count <= LEAF:
            places = tuple(held.places(*within, without))
            found.answer.append(PlaceRange(*within, len(places), b"", places))
        else:
            found.answer.extend(split(held, *within, without))
    return found


def _overlap(theirs: PlaceRange, bounds: Bounds | None) -> Bounds | None:
    """The part of a range that lies within bounds."""
    if bounds is None:
        return theirs.low, theirs.high
    low = max(theirs.low, bounds[0])
    high = min((end for end in (theirs.high, bounds[1]) if end != END), default=END)
    return None if high != END and low >= high else (low, high)


def split(held: PlaceSet, low: bytes, high: bytes, without: frozenset[bytes]) -> list[PlaceRange]:
    """Cut a range into smaller ones."""
    cuts = held.cuts(low, high, PARTS)
    parts = []
    for start, end in pairwise(cuts):
        count, fingerprint = held.summary(start, end, without)
        parts.append(PlaceRange(start, end, count, fingerprint))
    return parts


def is_ordered(ranges: Sequence[PlaceRange]) -> bool:
    """Whether ranges follow each other without overlap, with their places in them and in order."""
    reached: bytes | None = b""
    for part in ranges:
        if reached is None or part.low < reached or (part.high != END and part.high <= part.low):
            return False
        reached = None if part.high == END else part.high
        if any(one >= other for one, other in pairwise(part.places)):
            return False
        if part.places and (part.places[0] < part.low or (part.high != END and part.places[-1] >= part.high)):
            return False
    return True
