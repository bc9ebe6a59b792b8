"""Inverted index: sealed segments of postings, and the tail that no segment covers yet.

Here are postings (slot within the segment in 24 bits, weight in 8), and when segments are merged. Independent of
scores. Segments are immutable and built from the forward file alone, so one that is lost or half-written is built
again.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import BankDamaged
from reasoningbank.index.durable import write_durably
from reasoningbank.index.mapping import map_file
from reasoningbank.index.policy import SEGMENTS, SegmentPolicy
from reasoningbank.lexical.entries import ENTRY

_HEAD = struct.Struct("<8sQQQ")
_MAGIC = b"RBKWSEG1"
_LOW_BITS = 16
_LOW = np.uint32((1 << _LOW_BITS) - 1)
_SCANS_WORTH_SORTING = 10
"""Sorting a tail takes about as long as looking through all of it this many times."""
Keys = NDArray[np.uint32]
Ranges = tuple[tuple[int, int], ...]


def segment_name(first: int, last: int) -> str:
    return f"words-{first}-{last}"


class Segment:
    """Postings of the slots `first` to `last`, sorted by term."""

    def __init__(self, path: Path, first: int, last: int, check: int) -> None:
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                raw = map_file(file.fileno(), size) if size else np.empty(0, np.uint8)
        except FileNotFoundError as error:
            raise BankDamaged(f"The index file {path} is missing; build the index again.") from error
        if len(raw) < _HEAD.size:
            raise BankDamaged(f"The index file {path} is cut short; build the index again.")
        magic, rows, terms, postings = _HEAD.unpack(raw[: _HEAD.size].tobytes())
        sizes = (rows, terms, terms + 1, postings)
        if magic != _MAGIC or rows != last - first or len(raw) != _HEAD.size + 4 * sum(sizes):
            raise BankDamaged(f"The index file {path} is not what the header says; build the index again.")
        words = raw[_HEAD.size :].view("<u4")
        ends = np.cumsum(sizes)
        self.first, self.last = first, last
        self._raw, self._check = raw, check
        self.lengths = words[: ends[0]].view("<f4")
        self._terms = words[ends[0] : ends[1]]
        self._starts = words[ends[1] : ends[2]]
        self._postings = words[ends[2] :]

    def find(self, terms: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ranges of each term's postings, as (start, stop); equal if the segment has none."""
        if not len(self._terms):
            nothing = np.zeros(len(terms), np.int64)
            return nothing, nothing
        at = np.minimum(np.searchsorted(self._terms, terms), len(self._terms) - 1)
        start = self._starts[at].astype(np.int64)
        stop = np.where(self._terms[at] == terms, self._starts[at + 1], start)
        return start, stop.astype(np.int64)

    def is_sound(self) -> bool:
        """True if the file holds what was sealed. Reads all of it."""
        return zlib.crc32(self._raw.data) == self._check

    def postings(self, start: int, stop: int) -> Keys:
        return self._postings[start:stop]


def seal(path: Path, entries: NDArray[Any], counts: NDArray[np.int64], lengths: NDArray[np.uint32]) -> int:
    """Write the segment of consecutive slots from their entries; returns its checksum."""
    key = entries["term"].astype(np.uint64)
    key <<= np.uint64(24)
    key |= np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
    key <<= np.uint64(8)
    key |= entries["weight"]
    key.sort()
    postings = key.astype(np.uint32)
    key >>= np.uint64(32)
    terms = key.astype(np.uint32)
    del key
    fresh = np.flatnonzero(np.concatenate(([True], terms[1:] != terms[:-1]))) if len(terms) else np.empty(0, np.int64)
    starts = np.append(fresh, len(terms)).astype(np.uint32)
    head = _HEAD.pack(_MAGIC, len(counts), len(fresh), len(postings))
    parts = [lengths.astype("<f4"), terms[fresh], starts, postings]
    content: list[Any] = [head, *(part.data for part in parts)]
    write_durably(path, content)
    check = 0
    for piece in content:
        check = zlib.crc32(piece, check)
    return check


def merge_ranges(ranges: Ranges, rows: int, policy: SegmentPolicy = SEGMENTS) -> Ranges:
    """Ranges that segments should cover once `rows` rows exist: geometric in size, none too large to rebuild."""
    stack = list(ranges)
    end = stack[-1][1] if stack else 0
    if rows - end <= policy.tail_rows:
        return ranges
    most = policy.most_rows_per_segment
    stack += [(first, min(rows, first + most)) for first in range(end, rows, most)]
    while len(stack) > 1:
        (first, middle), (_, last) = stack[-2:]
        whole = last - first > most
        if whole or middle - first >= policy.merge_ratio * (last - middle):
            break
        stack[-2:] = [(first, last)]
    return tuple(stack)


class Tail:
    """The entries of the slots that no segment covers, in memory.

    Scanned at first, since a process may ask but a few times; sorted once scanning has cost as much as that. What is
    added later is scanned again, until that has.
    """

    def __init__(self, first: int) -> None:
        self.first = self.last = first
        self.lengths = np.empty(0, np.float32)
        self.terms = np.empty(0, np.uint32)
        self.slots = np.empty(0, np.uint32)
        self.weights = np.empty(0, np.uint8)
        self._scanned = 0
        # The terms of the first so many entries in order, and whose they are. In one piece: threads share a tail.
        self._sorted: tuple[Keys, NDArray[np.int64]] = (np.empty(0, np.uint32), np.empty(0, np.int64))

    def extended(self, entries: NDArray[Any], counts: NDArray[np.int64], lengths: NDArray[np.uint32]) -> Tail:
        assert entries.dtype == ENTRY
        tail = Tail(self.first)
        tail.last = self.last + len(counts)
        slots = np.repeat(np.arange(self.last, tail.last, dtype=np.uint32), counts)
        tail.lengths = np.concatenate((self.lengths, lengths.astype(np.float32)))
        tail.terms = np.concatenate((self.terms, entries["term"]))
        tail.slots = np.concatenate((self.slots, slots))
        tail.weights = np.concatenate((self.weights, entries["weight"]))
        tail._scanned, tail._sorted = self._scanned, self._sorted
        return tail

    def find(self, terms: Keys) -> list[NDArray[np.int64]]:
        """Positions of the entries of each term, in order."""
        in_order, positions = self._in_order()
        runs = _runs(in_order, positions, terms)
        start = len(in_order)
        if start == len(self.terms):
            return runs
        low_bits = np.zeros(1 << _LOW_BITS, np.bool_)
        low_bits[terms & _LOW] = True
        near = start + np.flatnonzero(low_bits[self.terms[start:] & _LOW])
        later = _runs(*_order_by_term(self.terms[near], near), terms)
        return [np.concatenate(both) if len(both[1]) else both[0] for both in zip(runs, later, strict=True)]

    def _in_order(self) -> tuple[Keys, NDArray[np.int64]]:
        if self._scanned > _SCANS_WORTH_SORTING * len(self.terms):
            self._sorted = _order_by_term(self.terms, np.arange(len(self.terms)))
            self._scanned = 0
        self._scanned += len(self.terms) - len(self._sorted[0])
        return self._sorted


def _order_by_term(terms: Keys, positions: NDArray[np.int64]) -> tuple[Keys, NDArray[np.int64]]:
    """Terms and positions sorted by term; among equals the positions keep their order.

    By the low half, then by the high one: NumPy counts halves instead of comparing them, in half of the time.
    """
    order = np.argsort(terms.astype(np.uint16), kind="stable")
    order = order[np.argsort((terms >> np.uint32(_LOW_BITS)).astype(np.uint16)[order], kind="stable")]
    return terms[order], positions[order]


def _runs(in_order: Keys, positions: NDArray[np.int64], terms: Keys) -> list[NDArray[np.int64]]:
    starts, stops = np.searchsorted(in_order, terms), np.searchsorted(in_order, terms, "right")
    return [positions[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
