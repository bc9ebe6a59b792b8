"""Checksums of what an index holds, slot by slot, so that damage costs the slots it hit and no others.

CRC-32 over raw bytes: every flipped bit shows, and a memory's worth takes about a microsecond. Independent of where the
sums are kept and what is done about one that is wrong.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sums = NDArray[np.uint32]


def row_checks(rows: NDArray[np.uint8], slots: NDArray[np.int64]) -> Sums:
    """Checksums of whole rows as bytes. A row in another slot's place does not match either."""
    crc, raw, width = zlib.crc32, rows.reshape(-1).data, rows.shape[1]
    return np.array(
        [crc(raw[at * width : (at + 1) * width], slot) for at, slot in enumerate(slots.tolist())], np.uint32
    )


def word_checks(entries: NDArray[Any], counts: NDArray[np.int64]) -> Sums:
    """Checksums of the entries of consecutive memories."""
    bounds = np.concatenate(([0], np.cumsum(counts)))
    return bounded_checks(entries, bounds[:-1], bounds[1:])


def bounded_checks(entries: NDArray[Any], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Sums:
    crc, size = zlib.crc32, entries.dtype.itemsize
    raw = np.ascontiguousarray(entries).view(np.uint8).data
    bounds = zip((starts * size).tolist(), (stops * size).tolist(), strict=True)
    return np.array([crc(raw[start:stop]) for start, stop in bounds], np.uint32)


def vector_checks(vectors: Sequence[NDArray[Any]], count: int) -> Sums:
    """Checksums of every form in which the vectors of `count` memories are kept."""
    parts = [np.ascontiguousarray(part).reshape(-1).view(np.uint8).data for part in vectors]
    widths = [len(part) // count if count else 0 for part in parts]
    crc, sums = zlib.crc32, np.empty(count, np.uint32)
    for row in range(count):
        total = 0
        for part, width in zip(parts, widths, strict=True):
            total = crc(part[row * width : (row + 1) * width], total)
        sums[row] = total
    return sums
