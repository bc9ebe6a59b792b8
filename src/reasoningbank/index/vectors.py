"""Finds the slots whose vectors are nearest to a query.

There are four passes, each over fewer rows with a finer measure: Hamming distance of sign bits on everything, sign bits
against a query of several bits, two bits a dimension against the same, then the stored half-precision vectors
themselves. Independent of where a mask comes from, what a vector means and what bits are worth (`index.codes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import simsimd
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.lazy import lazy
from reasoningbank.index.codes import AskedBits, Codes, Floats, Halves, asked_bits, sign_error, two_bit_error
from reasoningbank.index.policy import VECTORS, VectorPolicy
from reasoningbank.index.rotation import Rotation

# Sapphire Rapids kernels sum half-precision products in half precision, which costs three digits.
simsimd.disable_capability("sapphire")

Slots = NDArray[np.int64]
_STEP_BYTES = 1 << 20
_SAMPLED_ROWS = 8192
_SAMPLED_GUESSES = 1024
_SAMPLE_MARGIN = 1.1
_SCAN_WORTH = 4
"""Scanning a row in order costs this many times less than fetching it by number."""
_GUESSED_PER_WANTED = 4
"""Rows of the second pass for each that is asked for, at least."""
_SCORED_PER_WANTED = 2
"""Rows that are scored in full for each that is asked for, at least."""
_ASKED_PER_SHOWN, _SURE_AT_LEAST = 10, 10
"""One in ten of the rows asked for will be shown. Those must not be missed, and ten must not in any case."""
_TRIED_PER_SURE = 6
"""Rows that are scored to find out how near the nearest are, for each that must not be missed."""
_FETCH_WORTH = 2
"""Fetching a row by number and comparing it costs this many times comparing it in order."""
_ROWS_PER_PRODUCT = 2048
"""Rows of four planes up to which OpenBLAS weighs them in this thread: waking others takes longer than the work."""


class QueryForms:
    """A query in the forms that the passes need, each made when first needed and once."""

    def __init__(self, query: Floats, rotation: Rotation) -> None:
        """`query` has the length one."""
        self._query, self._rotation = query, rotation

    @lazy
    def half(self) -> Halves:
        return self._query.astype(np.float16)

    @lazy
    def turned(self) -> Floats:
        components: Floats = self._rotation.turn(self._query[None])[0]
        return components

    @lazy
    def bits(self) -> AskedBits:
        return asked_bits(self.turned, VECTORS.query_planes)


@dataclass(frozen=True, slots=True)
class KeptVectors:
    signs: Codes
    """(rows, bits / 8)"""
    finer: Codes
    """(rows, bits / 8): the second bits."""
    full: Halves
    """(rows, dimension)"""


def gather_room() -> Codes:
    """Buffer for `nearest` and `cosines`: rows are gathered into it in pieces that stay in the cache while scored."""
    return np.empty(_STEP_BYTES, np.uint8)


def _gather(source: NDArray[Any], slots: Slots, room: Codes) -> Iterator[tuple[slice, NDArray[Any]]]:
    """The rows of `source` at `slots`, some at a time; each piece is good until the next."""
    width = source.shape[1] * source.itemsize
    step = max(1, len(room) // width)
    for start in range(0, len(slots), step):
        part = slots[start : start + step]
        if step * width <= len(room):
            rows = room[: len(part) * width].view(source.dtype).reshape(len(part), source.shape[1])
            # Clipping skips a second bounds check and the copy that goes with it; every slot is in range.
            source.take(part, axis=0, out=rows, mode="clip")
        else:
            rows = source[part]
        yield slice(start, start + len(part)), rows


def _in_order(source: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    for start in range(0, len(source), _ROWS_PER_PRODUCT):
        piece = slice(start, start + _ROWS_PER_PRODUCT)
        yield piece, source[piece]


def cosines(vectors: KeptVectors, slots: Slots, query: Halves, room: Codes) -> Floats:
    """Cosines of slots with a query, exact up to half precision; NaN where there is no vector."""
    similarities = np.empty(len(slots), np.float32)
    for piece, rows in _gather(vectors.full, slots, room):
        similarities[piece] = np.asarray(simsimd.cdist(rows, query[None], metric="dot")).reshape(-1)
    # Only an absent vector, or one at a right angle, gives zero exactly.
    zero = (similarities == 0).nonzero()[0]
    if len(zero):
        similarities[zero[~present(vectors.signs, slots[zero])]] = np.nan
    return similarities


def nearest(
    vectors: KeptVectors,
    mask: NDArray[np.bool_],
    query: QueryForms,
    depth: int,
    distances: NDArray[np.uint16],
    room: Codes,
    policy: VectorPolicy = VECTORS,
) -> tuple[Slots, Floats]:
    """About `depth` slots of those that the mask lets through, best first, and their cosines."""
    rows = int(np.count_nonzero(mask))
    if rows <= max(policy.exact_rows, depth):
        slots = mask.nonzero()[0]
        similarities = cosines(vectors, slots, query.half, room)
    else:
        second = max(int(policy.second_pass + policy.second_pass_share * rows), _GUESSED_PER_WANTED * depth)
        if rows <= _FETCH_WORTH * second:
            slots, apart = mask.nonzero()[0], None
        else:
            slots, apart = _first_pass(vectors.signs, mask, rows, query.turned, second, distances, room)
        guesses = _second_pass(vectors.signs, slots, apart, query.bits, room)
        slots, similarities = _score(vectors, slots, guesses, query, depth, room, policy)
    there = ~np.isnan(similarities)
    slots, similarities = slots[there], similarities[there]
    if len(similarities) > depth:
        near = similarities >= _nth_largest(similarities, depth)
        slots, similarities = slots[near], similarities[near]
    best = np.lexsort((slots, -similarities))[:depth]
    return slots[best], similarities[best]


def _first_pass(
    codes: Codes,
    mask: NDArray[np.bool_],
    rows: int,
    components: Floats,
    want: int,
    distances: NDArray[np.uint16],
    room: Codes,
) -> tuple[Slots, NDArray[np.uint16]]:
    """About `want` slots, and the number of bits in which each differs from the signs of the query."""
    bits = np.packbits(components > 0)[None]
    if rows * _SCAN_WORTH < len(codes):
        slots = mask.nonzero()[0]
        distance = distances[:rows]
        for piece, part in _gather(codes, slots, room):
            _hamming(part, bits, distance[piece])
        near = _closest(distance, want, components.size)
        return slots[near], distance[near]
    distance = distances[: len(codes)]
    _hamming(codes, bits, distance)
    if rows < len(codes):
        # Rows that are out get a distance that no row can have.
        np.maximum(distance, np.multiply(~mask, np.uint16(components.size + 1), dtype=np.uint16), out=distance)
    slots = _closest(distance, want, components.size)
    return slots, distance[slots]


def _closest(distance: NDArray[np.uint16], want: int, bits: int) -> Slots:
    """Places of the `want` smallest distances, with everything as close as the last of them."""
    stride = len(distance) // _SAMPLED_ROWS
    if stride > 1:
        # A sample finds the cut well enough, in a fraction of the time that counting every row takes.
        sample = distance[::stride]
        place = len(sample) * want * _SAMPLE_MARGIN // len(distance) + 4
        if place < len(sample):
            cut = np.partition(sample, int(place))[int(place)]
            near = np.flatnonzero(distance <= min(cut, np.uint16(bits)))
            if len(near) >= want:
                return near
    counts = np.cumsum(np.bincount(distance, minlength=bits + 1)[: bits + 1])
    return np.flatnonzero(distance <= np.uint16(min(bits, int(np.searchsorted(counts, want)))))


def _second_pass(
    codes: Codes, slots: Slots, by_sign: NDArray[np.uint16] | None, query: AskedBits, room: Codes
) -> Floats:
    """The cosines that signs suggest. The first plane of the query is its signs, which `by_sign` has seen."""
    in_order = len(slots) * _FETCH_WORTH > len(codes)
    first_plane = 0 if by_sign is None else 1
    guesses = _agreement(codes, None if in_order else slots, query, room, first_plane)
    if in_order and len(slots) < len(codes):
        guesses = guesses[slots]
    if by_sign is not None:
        guesses -= by_sign * (2 * query.weights[0])
        guesses += query.weights[0] * query.bits
    guesses *= query.by_signs
    return guesses


def _agreement(codes: Codes, slots: Slots | None, query: AskedBits, room: Codes, first_plane: int = 0) -> Floats:
    """Weighted agreement of rows with the query's planes: bits that agree less bits that differ, plane by plane."""
    planes, weights = query.planes[first_plane:], query.weights[first_plane:]
    more = np.empty(len(codes) if slots is None else len(slots), np.float32)
    piece_room = room[: _ROWS_PER_PRODUCT * codes.shape[1]]
    for piece, part in _in_order(codes) if slots is None else _gather(codes, slots, piece_room):
        by_plane = np.asarray(simsimd.cdist(part, planes, metric="hamming", dtype="bin8", out_dtype="float32"))
        np.dot(by_plane, weights, out=more[piece])
    more *= -2
    more += query.bits * weights.sum()
    return more


def _score(
    vectors: KeptVectors,
    slots: Slots,
    guesses: Floats,
    query: QueryForms,
    depth: int,
    room: Codes,
    policy: VectorPolicy,
) -> tuple[Slots, Floats]:
    """Slots with their true cosines: of the best guesses, and of every guess that may be wrong by enough.

    The error of a guess is known, whatever the vectors (`index.codes`). So a query with a few near rows needs hardly
    any, one with a thousand rows at nearly the same distance needs most of them, and nothing depends on how many rows
    there are.
    """
    fewest = max(policy.rescored, _SCORED_PER_WANTED * depth)
    sure = min(depth, max(_SURE_AT_LEAST, depth // _ASKED_PER_SHOWN))
    sample = cosines(vectors, slots[_about_best(guesses, _TRIED_PER_SURE * sure)], query.half, room)
    sample = sample[~np.isnan(sample)]
    bar = float(_nth_largest(sample, sure)) if len(sample) >= sure else -1.0
    # The best by signs hold most of the best in truth, so the bar is nearly where it will end; the rest is looked at
    # in two bits, unless signs alone rule it out.
    most = max(fewest, len(slots) // policy.refined_part)
    likely = (guesses >= bar - policy.sure_within * sign_error(bar, query.bits.bits)).nonzero()[0]
    if not fewest <= len(likely) <= most:
        likely = _best(guesses, min(max(len(likely), fewest), most))
    slots, guesses = slots[likely], guesses[likely]
    of_signs, of_second = query.bits.by_two_bits
    guesses *= of_signs
    guesses += _agreement(vectors.finer, slots, query.bits, room) * of_second
    keep = min(fewest, len(guesses))
    floor = min(bar - policy.sure_within * two_bit_error(bar, query.bits.bits), float(_nth_largest(guesses, keep)))
    slots = slots[guesses >= floor]
    return slots, cosines(vectors, slots, query.half, room)


def _about_best(guesses: Floats, count: int) -> Slots:
    """About `count` slots with the best guesses, judged by a sample."""
    stride = max(1, min(len(guesses) // _SAMPLED_GUESSES, count // 4))
    return (guesses >= _nth_largest(guesses[::stride], min(len(guesses), count) // stride)).nonzero()[0]


def _best(guesses: Floats, count: int) -> Slots:
    return (guesses >= _nth_largest(guesses, min(count, len(guesses)))).nonzero()[0]


def _nth_largest(values: Floats, n: int) -> np.float32:
    return np.float32(np.partition(values, len(values) - n)[len(values) - n])


def _hamming(codes: Codes, query: Codes, out: NDArray[np.uint16]) -> None:
    if len(codes):
        whole_numbers: Any = "uint16"  # accepted, though missing from simsimd's stubs
        simsimd.cdist(codes, query, metric="hamming", dtype="bin8", out=out[:, None], out_dtype=whole_numbers)


def present(codes: Codes, slots: Slots) -> NDArray[np.bool_]:
    """True for each slot that has a vector, by its signs: those of one that exists are never all 0."""
    return np.asarray(codes[slots].view(np.uint64).any(axis=1))
