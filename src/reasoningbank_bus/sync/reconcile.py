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
    """Result of a comparison with the ranges of a peer: ranges to answer, places that we lack, places that the peer
    lacks.
    """

    answer: list[PlaceRange]
    lacking: list[bytes]
    lacked: list[bytes]


def whole_range(
    place_set: PlaceSet, without: frozenset[bytes] = frozenset(), bounds: Bounds | None = None
) -> PlaceRange:
    """The fingerprint of everything, or of all within bounds."""
    low, high = bounds or (b"", END)
    return PlaceRange(low, high, *place_set.summary(low, high, without))


def compare(
    place_set: PlaceSet,
    ranges: Iterable[PlaceRange],
    without: frozenset[bytes] = frozenset(),
    *,
    most: int = 10_000,
    bounds: Bounds | None = None,
) -> Difference:
    """Compare a peer's ranges with ours; at most `most` places are said to be lacked, and nothing beyond the bounds."""
    difference = Difference([], [], [])
    for theirs in ranges:
        within = _overlap(theirs, bounds)
        if not theirs.fingerprint:
            difference.lacking.extend(
                place
                for place in theirs.places
                if place not in place_set and place[:AUTHOR_PREFIX_BYTES] not in without
            )
        if within is None:
            continue
        if not theirs.fingerprint:
            their_places = set(theirs.places)
            room = most - len(difference.lacked)
            ours = place_set.places(*within, without, room + len(their_places))
            difference.lacked.extend([place for place in ours if place not in their_places][:room])
            continue
        count, fingerprint = place_set.summary(*within, without)
        if within != (theirs.low, theirs.high):
            difference.answer.append(PlaceRange(*within, count, fingerprint))
        elif (count, fingerprint) == (theirs.count, theirs.fingerprint):
            continue
        elif theirs.count == 0:
            difference.lacked.extend(place_set.places(*within, without, most - len(difference.lacked)))
        elif count <= LEAF:
            places = tuple(place_set.places(*within, without))
            difference.answer.append(PlaceRange(*within, len(places), b"", places))
        else:
            difference.answer.extend(split(place_set, *within, without))
    return difference


def _overlap(theirs: PlaceRange, bounds: Bounds | None) -> Bounds | None:
    """The part of a range that lies within bounds."""
    if bounds is None:
        return theirs.low, theirs.high
    low = max(theirs.low, bounds[0])
    high = min((end for end in (theirs.high, bounds[1]) if end != END), default=END)
    return None if high != END and low >= high else (low, high)


def split(place_set: PlaceSet, low: bytes, high: bytes, without: frozenset[bytes]) -> list[PlaceRange]:
    """Cut a range into smaller ones."""
    cuts = place_set.cuts(low, high, PARTS)
    parts = []
    for start, end in pairwise(cuts):
        count, fingerprint = place_set.summary(start, end, without)
        parts.append(PlaceRange(start, end, count, fingerprint))
    return parts


def is_ordered(ranges: Sequence[PlaceRange]) -> bool:
    """True if ranges follow each other without overlap, with their places in them and in order."""
    end: bytes | None = b""
    for part in ranges:
        if end is None or part.low < end or (part.high != END and part.high <= part.low):
            return False
        end = None if part.high == END else part.high
        if any(place >= other for place, other in pairwise(part.places)):
            return False
        if part.places and (part.places[0] < part.low or (part.high != END and part.places[-1] >= part.high)):
            return False
    return True
