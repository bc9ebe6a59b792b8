"""Which slots have vectors near a query.

Knows three passes, each over fewer rows with a finer measure: Hamming distance of sign bits on everything, sign bits
against a query of several bits, then the stored half-precision vectors themselves. Refuses to know where a mask comes
from or what a facet means. A row of zeros, bits and all, is a vector that does not exist.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simsimd
from numpy.typing import NDArray

from reasoningbank.index.policy import VECTORS, VectorPolicy
from reasoningbank.index.rotation import Rotation

# Sapphire Rapids kernels sum half-precision products in half precision, which costs three digits.
simsimd.disable_capability("sapphire")

Floats = NDArray[np.float32]
Codes = NDArray[np.uint8]
Slots = NDArray[np.int64]
_STEP_BYTES = 1 << 20
_SAMPLED_ROWS = 8192
_SAMPLE_MARGIN = 1.1
_SCAN_WORTH = 4
"""Scanning a row in order costs this many times less than fetching it by number."""
_GUESSED_PER_WANTED = 4
"""Rows that are scored in full for each that is asked for, at least."""
_ASKED_PER_SHOWN, _SURE_AT_LEAST = 10, 10
"""Of the rows asked for, one in ten will be shown. Those must not be missed, and ten must not in any case."""
_FETCH_WORTH = 2
"""Fetching a row by number and comparing it costs this many times comparing it in order."""
_ROWS_PER_PRODUCT = 2048
"""Rows of four planes up to which OpenBLAS weighs them in this thread: waking others takes longer than the work."""
_PLANE_STEP = 3.0
"""The outermost level of a query of several bits, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Facet:
    codes: Codes
    """(rows, bits / 8)"""
    full: NDArray[np.float16]
    """(rows, dimension)"""


def gather_room() -> Codes:
    """A buffer for `nearest` and `cosines`: rows are gathered into it in pieces that stay in the cache while scored."""
    return np.empty(_STEP_BYTES, np.uint8)


def _gathered(source: NDArray[Any], slots: Slots, room: Codes) -> Iterator[tuple[slice, NDArray[Any]]]:
    """The rows of `source` at `slots`, some at a time; each piece is good until the next."""
    width = source.shape[1] * source.itemsize
    step = max(1, len(room) // width)
    for start in range(0, len(slots), step):
        part = slots[start : start + step]
        if step * width <= len(room):
            rows = room[: len(part) * width].view(source.dtype).reshape(len(part), source.shape[1])
            # Clipping skips a second bounds check and the copy that goes with it; every slot is in range.
            np.take(source, part, axis=0, out=rows, mode="clip")
        else:
            rows = source[part]
        yield slice(start, start + len(part)), rows


def _in_order(source: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    for start in range(0, len(source), _ROWS_PER_PRODUCT):
        piece = slice(start, start + _ROWS_PER_PRODUCT)
        yield piece, source[piece]


def encode(vectors: Floats, rotation: Rotation) -> tuple[Codes, NDArray[np.float16]]:
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float32))[:, None]
    usable = (length > 0) & np.isfinite(length)
    there = usable[:, 0]
    unit = np.divide(vectors, length, out=np.zeros_like(vectors, np.float32), where=usable)
    codes = np.packbits(rotation.turn(unit) > 0, axis=1)
    codes[~there] = 0
    silent = there & ~codes.any(axis=1)
    codes[silent, 0] = 1
    return codes, unit.astype(np.float16)


def widened(halves: NDArray[np.float16]) -> Floats:
    """The same in single precision, for finite numbers. NumPy does it a number at a time, in four times as long."""
    raw = halves.view(np.uint16).astype(np.uint32)
    sign = raw & np.uint32(0x8000)
    raw &= np.uint32(0x7FFF)
    raw <<= np.uint32(13)
    sign <<= np.uint32(16)
    raw |= sign
    # The exponents of the two formats count from 15 and from 127.
    wide = raw.view(np.float32)
    wide *= np.float32(2.0**112)
    return wide


def cosines(facet: Facet, slots: Slots, query: NDArray[np.float16], room: Codes) -> Floats:
    """Exact up to half precision; NaN where there is no vector."""
    found = np.empty(len(slots), np.float32)
    for piece, rows in _gathered(facet.full, slots, room):
        found[piece] = _flat(simsimd.cdist(rows, query[None], metric="dot"))
    # Only an absent vector, or one at a right angle, gives zero exactly.
    zero = np.flatnonzero(found == 0)
    if len(zero):
        found[zero[~_present(facet.codes, slots[zero])]] = np.nan
    return found


def nearest(
    facet: Facet,
    mask: NDArray[np.bool_],
    query: Floats,
    rotation: Rotation,
    depth: int,
    distances: NDArray[np.uint16],
    room: Codes,
    policy: VectorPolicy = VECTORS,
) -> tuple[Slots, Floats]:
    """About `depth` slots of those that the mask lets through, best first, and their cosines."""
    rows = int(np.count_nonzero(mask))
    half = query.astype(np.float16)
    if rows <= max(policy.exact_rows, depth):
        slots = np.flatnonzero(mask)
        found = cosines(facet, slots, half, room)
    else:
        turned = rotation.turn(query[None])[0]
        second = max(policy.second_pass + int(policy.second_pass_share * rows), _GUESSED_PER_WANTED * depth)
        if rows <= _FETCH_WORTH * second:
            slots, apart = np.flatnonzero(mask), None
        else:
            slots, apart = _first_pass(facet.codes, mask, rows, turned, second, distances, room)
        guesses = _second_pass(facet.codes, slots, apart, turned, policy.query_planes, room)
        slots, found = _third_pass(facet, slots, guesses, half, depth, room, policy)
    there = ~np.isnan(found)
    slots, found = slots[there], found[there]
    if len(found) > depth:
        near = found >= _nth_largest(found, depth)
        slots, found = slots[near], found[near]
    best = np.lexsort((slots, -found))[:depth]
    return slots[best], found[best]


def _first_pass(
    codes: Codes,
    mask: NDArray[np.bool_],
    rows: int,
    turned: Floats,
    want: int,
    distances: NDArray[np.uint16],
    room: Codes,
) -> tuple[Slots, NDArray[np.uint16]]:
    """About `want` slots, and in how many bits each differs from the signs of the query."""
    bits = np.packbits(turned > 0)[None]
    if rows * _SCAN_WORTH < len(codes):
        slots = np.flatnonzero(mask)
        distance = distances[:rows]
        for piece, part in _gathered(codes, slots, room):
            _hamming(part, bits, distance[piece])
        near = _closest(distance, want, turned.size)
        return slots[near], distance[near]
    distance = distances[: len(codes)]
    _hamming(codes, bits, distance)
    if rows < len(codes):
        # Rows that are out get a distance that no row can have.
        np.maximum(distance, np.multiply(~mask, np.uint16(turned.size + 1), dtype=np.uint16), out=distance)
    slots = _closest(distance, want, turned.size)
    return slots, distance[slots]


def _closest(distance: NDArray[np.uint16], want: int, bits: int) -> Slots:
    """Where the `want` smallest distances are, with everything as close as the last of them."""
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
    codes: Codes, slots: Slots, by_sign: NDArray[np.uint16] | None, turned: Floats, planes: int, room: Codes
) -> Floats:
    """The cosines that the bits suggest. The first plane of the query is its signs, which `by_sign` has seen."""
    bits, step = _planes(turned, planes)
    weights = np.float32(2) ** np.arange(planes - 1, -1, -1, dtype=np.float32)
    whole = turned.size * weights.sum()
    if by_sign is not None:
        bits, weights = bits[1:], weights[1:]
    in_order = len(slots) * _FETCH_WORTH > len(codes)
    apart = np.empty(len(codes) if in_order else len(slots), np.float32)
    piece_room = room[: _ROWS_PER_PRODUCT * codes.shape[1]]
    for piece, part in _in_order(codes) if in_order else _gathered(codes, slots, piece_room):
        by_plane = np.asarray(simsimd.cdist(part, bits, metric="hamming", dtype="bin8", out_dtype="float32"))
        np.dot(by_plane, weights, out=apart[piece])
    if in_order and len(slots) < len(codes):
        apart = apart[slots]
    if by_sign is not None:
        apart += by_sign * np.float32(2 ** (planes - 1))
    # The query is nearly `step` times the weighed signs of its planes, and a component of a row that was turned has a
    # mean size of √(2 / π · bits).
    apart *= -2
    apart += whole
    apart *= step * math.sqrt(math.pi / 2 / turned.size)
    return apart


def _third_pass(
    facet: Facet,
    slots: Slots,
    guesses: Floats,
    query: NDArray[np.float16],
    depth: int,
    room: Codes,
    policy: VectorPolicy,
) -> tuple[Slots, Floats]:
    """Slots with their true cosines: those of the best guesses, and of every guess that may be wrong by enough.

    A guess has a standard error of √((π / 2 − 1) · (1 − cosine²) / bits), whatever the vectors. So a query with a few
    near rows needs hardly any, one with a thousand rows at nearly the same distance needs most of them, and nothing
    depends on how many rows there are.
    """
    first = max(policy.rescored, _GUESSED_PER_WANTED * depth)
    if len(slots) <= first:
        return slots, cosines(facet, slots, query, room)
    cut = _nth_largest(guesses, first)
    near = np.flatnonzero(guesses >= cut)
    found = cosines(facet, slots[near], query, room)
    known = found[~np.isnan(found)]
    sure = min(depth, max(_SURE_AT_LEAST, depth // _ASKED_PER_SHOWN))
    bar = float(_nth_largest(known, sure)) if len(known) >= sure else -1.0
    error = math.sqrt((math.pi / 2 - 1) * max(0.0, 1 - bar * bar) / (8 * facet.codes.shape[1]))
    more = np.flatnonzero((guesses >= bar - policy.sure_within * error) & (guesses < cut))
    most = max(first, len(slots) // policy.rescored_part)
    if len(more) > most:
        more = more[guesses[more] >= _nth_largest(guesses[more], most)]
    found = np.concatenate((found, cosines(facet, slots[more], query, room)))
    return np.concatenate((slots[near], slots[more])), found


def _nth_largest(values: Floats, n: int) -> np.float32:
    return np.float32(np.partition(values, len(values) - n)[len(values) - n])


def _planes(turned: Floats, planes: int) -> tuple[Codes, float]:
    """The query as `planes` codes and a step: nearly the step times the sum of their signs, each twice the next."""
    top = 2**planes - 1
    step = np.sqrt(np.mean(turned**2)) * _PLANE_STEP / top
    level = np.clip(np.floor(turned / (2 * step)) + 2 ** (planes - 1), 0, top).astype(np.uint8)
    codes = np.stack([np.packbits(level >> np.uint8(plane) & np.uint8(1)) for plane in range(planes - 1, -1, -1)])
    return codes, float(step)


def _hamming(codes: Codes, query: Codes, out: NDArray[np.uint16]) -> None:
    if len(codes):
        whole_numbers: Any = "uint16"  # accepted, though missing from simsimd's stubs
        simsimd.cdist(codes, query, metric="hamming", dtype="bin8", out=out[:, None], out_dtype=whole_numbers)


def _present(codes: Codes, slots: Slots) -> NDArray[np.bool_]:
    return np.asarray(codes[slots].view(np.uint64).any(axis=1))


def _flat(tensor: object) -> NDArray[np.float64]:
    return np.asarray(tensor).reshape(-1)
