"""What is known about each slot besides its text and vectors, as columns.

Knows the columns, their layout and the ids that are too long for theirs. Refuses to know what a filter or a rank is.

All columns share one file, so that a commit makes one file durable instead of fifteen: the file is a sequence of blocks
of `BLOCK_ROWS` slots, and within a block each column lies in one piece. A column is therefore a strided two-dimensional
view, which NumPy scans as fast as a flat one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.types import Standing
from reasoningbank.index.files import GrowingFile
from reasoningbank.index.forms import PACKED

BLOCK_ROWS = 8192
_BLOCK_BITS = 13
_ID_BYTES = 40
"""Fits `mem_` and 26 characters, and a prefixed UUID. Longer ids live in the heap and cost a read more."""
_LONG = struct.Struct("<BQI")
_LONG_MARK = 0xFF  # never occurs in UTF-8

_STANDING_TIMES_AND_MASSES = (
    "initial", "created_at", "positive", "negative", "value", "last_used_at", "last_succeeded_at", "last_failed_at",
)  # fmt: skip
# One record, not ten columns: nothing scans a standing, and a candidate's then costs one cache line and one page.
STANDING = np.dtype(
    [(name, "<f8") for name in _STANDING_TIMES_AND_MASSES] + [(name, "<i8") for name in ("used", "succeeded")]
)
COLUMNS: Mapping[str, np.dtype[Any]] = {
    "id": np.dtype(f"S{_ID_BYTES}"),
    "tenant": np.dtype("<u8"),
    "namespace": np.dtype("<u8"),
    "agent": np.dtype("<u8"),
    "task_type": np.dtype("<u8"),
    "conversation": np.dtype("<u8"),
    "text": np.dtype("<u8"),
    "standing": STANDING,
    "form": PACKED,
    "entry": np.dtype("<u8"),
    "length": np.dtype("<u4"),
    "scope": np.dtype("u1"),
    "outcome": np.dtype("u1"),
    "state": np.dtype("u1"),
    "alive": np.dtype("u1"),
}
_STARTS: dict[str, int] = {}
_at = 0
for _name, _dtype in COLUMNS.items():
    _STARTS[_name] = _at
    _at += _dtype.itemsize * BLOCK_ROWS
BLOCK_BYTES = _at
Slots = NDArray[np.int64]


def blocks_for(rows: int) -> int:
    return -(-rows // BLOCK_ROWS)


class Rows:
    """The columns of one generation as far as they are mapped. A writer and its readers share the pages."""

    def __init__(self, file: GrowingFile, heap: GrowingFile, rows: int, heap_bytes: int) -> None:
        self._file = file
        blocks = blocks_for(rows)
        raw = file.view(blocks * BLOCK_BYTES)
        self._columns = {name: _column(raw, name, blocks) for name in COLUMNS}
        self._heap = heap.view(heap_bytes)
        self.count = rows

    def blocks(self, name: str) -> NDArray[Any]:
        """A column as (blocks, BLOCK_ROWS); the last block runs past the last row."""
        return self._columns[name]

    def take(self, name: str, slots: Slots) -> NDArray[Any]:
        found: NDArray[Any] = self._columns[name][slots >> _BLOCK_BITS, slots & (BLOCK_ROWS - 1)]
        return found

    def put(self, name: str, slots: Slots, values: Any) -> None:
        self._columns[name][slots >> _BLOCK_BITS, slots & (BLOCK_ROWS - 1)] = values
        self._file.touched()

    def span(self, name: str, first: int, last: int) -> NDArray[Any]:
        """A column's rows first to last as one flat copy."""
        if last <= first:
            return np.empty(0, COLUMNS[name])
        block = first >> _BLOCK_BITS
        flat = self._columns[name][block : blocks_for(last)].reshape(-1)
        return flat[first - (block << _BLOCK_BITS) : last - (block << _BLOCK_BITS)]

    def ids(self, slots: Slots) -> list[str]:
        found: list[bytes] = self.take("id", slots).tolist()
        try:
            return [raw.decode() for raw in found]
        except UnicodeDecodeError:
            return [self._id(raw) for raw in found]

    def _id(self, raw: bytes) -> str:
        if raw and raw[0] == _LONG_MARK:
            _, at, size = _LONG.unpack(raw.ljust(_LONG.size, b"\0"))
            raw = self._heap[at : at + size].tobytes()
        return raw.decode("utf-8", "surrogatepass")

    def standings(self, slots: Slots) -> Standings:
        return Standings(self.take("standing", slots))


class Standings(Sequence[Standing]):
    """Made one by one when asked for: most candidates are never looked at closely."""

    def __init__(self, packed: NDArray[Any]) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, row: int) -> Standing: ...
    @overload
    def __getitem__(self, row: slice) -> Standings: ...
    def __getitem__(self, row: int | slice) -> Standing | Standings:
        if isinstance(row, slice):
            return Standings(self._packed[row])
        return Standing(**dict(zip(STANDING.names or (), self._packed[row].tolist(), strict=True)))

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The same by field, for whoever reckons with all of them at once."""
        return {name: self._packed[name] for name in STANDING.names or ()}

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as Python itself says that equal ones may change


def packed_standings(standings: Sequence[Standing]) -> NDArray[Any]:
    names = STANDING.names or ()
    return np.array([tuple(getattr(standing, name) for name in names) for standing in standings], STANDING)


def _column(raw: NDArray[np.uint8], name: str, blocks: int) -> NDArray[Any]:
    dtype = COLUMNS[name]
    return np.ndarray(
        (blocks, BLOCK_ROWS), dtype, buffer=raw.data, offset=_STARTS[name] if blocks else 0,
        strides=(BLOCK_BYTES, dtype.itemsize),
    )  # fmt: skip


def append(file: GrowingFile, first: int, columns: Mapping[str, NDArray[Any]]) -> None:
    count = len(columns["id"])
    file.reserve(blocks_for(first + count) * BLOCK_BYTES)
    for name, values in columns.items():
        raw = np.ascontiguousarray(values, COLUMNS[name])
        for at, start, stop in _pieces(name, first, count):
            file.write(at, raw[start:stop].view(np.uint8))


def forget_beyond(file: GrowingFile, rows: int) -> None:
    """Zero the rest of the last block and drop the blocks after it."""
    blocks = blocks_for(rows)
    for name, dtype in COLUMNS.items():
        for at, start, stop in _pieces(name, rows, blocks * BLOCK_ROWS - rows):
            file.write(at, bytes((stop - start) * dtype.itemsize))
    file.forget_beyond(blocks * BLOCK_BYTES)


def _pieces(name: str, first: int, count: int) -> Iterator[tuple[int, int, int]]:
    """(offset in the file, start, stop) for each block that `count` rows from `first` on touch."""
    size, done = COLUMNS[name].itemsize, 0
    while done < count:
        block, local = divmod(first + done, BLOCK_ROWS)
        part = min(count - done, BLOCK_ROWS - local)
        yield block * BLOCK_BYTES + _STARTS[name] + local * size, done, done + part
        done += part


def packed_ids(ids: list[str], heap_at: int) -> tuple[NDArray[Any], bytes]:
    """The id column for `ids`, and what to append to the heap at `heap_at` for those that do not fit."""
    packed, heap = [], bytearray()
    for name in ids:
        raw = name.encode("utf-8", "surrogatepass")
        # A fixed-width column drops trailing NULs, so an id that ends in one is kept as a long one.
        if len(raw) > _ID_BYTES or raw.endswith(b"\0"):
            packed.append(_LONG.pack(_LONG_MARK, heap_at + len(heap), len(raw)))
            heap += raw
        else:
            packed.append(raw)
    return np.array(packed, COLUMNS["id"]), bytes(heap)
