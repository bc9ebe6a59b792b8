"""Which slots have vectors near a query.

Knows three passes, each over fewer rows with a finer measure: Hamming distance of sign bits on everything, sign bits
against a query of several bits, then the stored half-precision vectors themselves. Refuses to know where a mask comes
from or what a facet means. A row of zeros, bits and all, is a vector that does not exist.
"""

from __future__ import annotations

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
    else:
        growth = (rows / policy.rescored_at) ** policy.rescored_growth
        want = max(policy.rescored_floor, int(policy.rescored * growth), 4 * depth)
        turned = rotation.turn(query[None])[0]
        slots = _first_pass(facet.codes, mask, rows, turned, want * policy.second_pass, distances, room)
        slots = _second_pass(facet.codes, slots, turned, want, policy.query_planes, room)
    found = cosines(facet, slots, half, room)
    there = ~np.isnan(found)
    slots, found = slots[there], found[there]
    best = np.argsort(-found, kind="stable")[:depth]
    return slots[best], found[best]


def _first_pass(
    codes: Codes,
    mask: NDArray[np.bool_],
    rows: int,
    turned: Floats,
    want: int,
    distances: NDArray[np.uint16],
    room: Codes,
) -> Slots:
    if rows <= want:
        return np.flatnonzero(mask)
    bits = np.packbits(turned > 0)[None]
    if rows * _SCAN_WORTH < len(codes):
        slots = np.flatnonzero(mask)
        distance = distances[:rows]
        for piece, part in _gathered(codes, slots, room):
            _hamming(part, bits, distance[piece])
        return slots[_closest(distance, want, turned.size)]
    distance = distances[: len(codes)]
    _hamming(codes, bits, distance)
    if rows < len(codes):
        # Rows that are out get a distance that no row can have.
        np.maximum(distance, np.multiply(~mask, np.uint16(turned.size + 1), dtype=np.uint16), out=distance)
    return _closest(distance, want, turned.size)


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


def _second_pass(codes: Codes, slots: Slots, turned: Floats, want: int, planes: int, room: Codes) -> Slots:
    if len(slots) <= want:
        return slots
    bits = _planes(turned, planes)
    score = np.empty(len(slots), np.float32)
    weights = np.float32(2) ** np.arange(planes - 1, -1, -1, dtype=np.float32)
    for piece, part in _gathered(codes, slots, room):
        apart = np.asarray(simsimd.cdist(part, bits, metric="hamming", dtype="bin8", out_dtype="float32"))
        np.dot(apart, weights, out=score[piece])
    cut = np.partition(score, want - 1)[want - 1]
    return slots[np.flatnonzero(score <= cut)]


def _planes(turned: Floats, planes: int) -> Codes:
    """The query as `planes` codes: it is nearly the sum of their signs, each plane worth twice the next."""
    top = 2**planes - 1
    step = np.sqrt(np.mean(turned**2)) * _PLANE_STEP / top
    level = np.clip(np.floor(turned / (2 * step)) + 2 ** (planes - 1), 0, top).astype(np.uint8)
    return np.stack([np.packbits(level >> np.uint8(plane) & np.uint8(1)) for plane in range(planes - 1, -1, -1)])


def _hamming(codes: Codes, query: Codes, out: NDArray[np.uint16]) -> None:
    if len(codes):
        whole_numbers: Any = "uint16"  # accepted, though missing from simsimd's stubs
        simsimd.cdist(codes, query, metric="hamming", dtype="bin8", out=out[:, None], out_dtype=whole_numbers)


def _present(codes: Codes, slots: Slots) -> NDArray[np.bool_]:
    return np.asarray(codes[slots].view(np.uint64).any(axis=1))


def _flat(tensor: object) -> NDArray[np.float64]:
    return np.asarray(tensor).reshape(-1)
