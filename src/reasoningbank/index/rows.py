"""Columns of an index: what is known about each slot besides its text and vectors.

Here are the columns, their layout and the ids that are too long for theirs. Independent of filters and ranking.

All columns share one file, so that a commit makes one file durable instead of fifteen: the file is a sequence of blocks
of `BLOCK_ROWS` slots, and within a block each column lies in one piece. A column is therefore a strided two-dimensional
view, which NumPy scans as fast as a flat one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.types import Standing
from reasoningbank.index.checks import Sums, row_checks
from reasoningbank.index.files import File, GrowingFile
from reasoningbank.lexical.forms import PACKED

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
    "changed": np.dtype("<u8"),
    "words": np.dtype("<u4"),
    "vectors": np.dtype("<u4"),
    "check": np.dtype("<u4"),
}
"""`changed` is the feed number of the batch that last changed the row; `words` and `vectors` are checksums of what the
slot has in other files, `check` is that of the row itself."""
_UNCHECKED = ("changed", "vectors", "check")
"""Written before the row, to say that it is being changed; after it, when its vectors come; or checksums themselves."""
COPIED = tuple(name for name in COLUMNS if name not in ("id", "entry", "length", "words", "vectors", "check"))
"""Columns that a row takes along into another generation; the rest depends on where it comes to lie."""
_CHECKED = tuple(name for name in COLUMNS if name not in _UNCHECKED)
STARTS: dict[str, int] = {}
"""Offset of a column within its block, in bytes."""
_at = 0
for _name, _dtype in COLUMNS.items():
    STARTS[_name] = _at
    _at += _dtype.itemsize * BLOCK_ROWS
BLOCK_BYTES = _at
_PIECES = tuple((STARTS[name], COLUMNS[name].itemsize) for name in _CHECKED)
_FEW = 16
Slots = NDArray[np.int64]


def blocks_for(rows: int) -> int:
    return -(-rows // BLOCK_ROWS)


class Rows:
    """Columns of one generation, as far as they are mapped. A writer and its readers share the pages."""

    def __init__(self, file: File, heap: File, rows: int, heap_bytes: int) -> None:
        self._file = file
        blocks = blocks_for(rows)
        raw = file.view(blocks * BLOCK_BYTES)
        self._raw = raw.data
        self._columns = {name: _column(raw, name, blocks) for name in COLUMNS}
        self._heap = heap.view(heap_bytes)[:heap_bytes]
        self.count = rows

    def blocks(self, name: str) -> NDArray[Any]:
        """A column as (blocks, BLOCK_ROWS); the last block runs past the last row."""
        return self._columns[name]

    def take(self, name: str, slots: Slots) -> NDArray[Any]:
        values: NDArray[Any] = self._columns[name][slots >> _BLOCK_BITS, slots & (BLOCK_ROWS - 1)]
        return values

    def put(self, name: str, slots: Slots, values: Any) -> None:
        self._columns[name][slots >> _BLOCK_BITS, slots & (BLOCK_ROWS - 1)] = values
        self._file.touched()

    def announce(self, slots: Slots, number: int) -> None:
        """Note durably that the batch with this number is changing these rows, so that one which a power loss leaves
        half changed is known for it.
        """
        if len(slots):
            self.put("changed", slots, number)
            self._file.sync()

    def settle(self, slots: Slots, number: int) -> None:
        """Make what the rows hold durable, and only then take back that they were being changed."""
        if len(slots):
            self._file.sync()
            self.put("changed", slots, number)

    def seal(self, slots: Slots) -> None:
        """Make the checksums fit what the rows hold now."""
        self.put("check", slots, self._checks(slots))

    def sound(self, slots: Slots) -> NDArray[np.bool_]:
        """True for each slot that holds what was written to it."""
        sums = self._few_checks(slots) if len(slots) <= _FEW else self._checks(slots)
        sound: NDArray[np.bool_] = sums == self.take("check", slots)
        return sound

    def _few_checks(self, slots: Slots) -> Sums:
        """Checksums of a few rows, a piece at a time: to lay them side by side takes longer than to sum them up."""
        crc, raw, sums = zlib.crc32, self._raw, []
        for slot in slots.tolist():
            block, local = divmod(slot, BLOCK_ROWS)
            total, base = slot, block * BLOCK_BYTES
            for start, size in _PIECES:
                at = base + start + local * size
                total = crc(raw[at : at + size], total)
            sums.append(_with_long_id(total, raw[base + local * _ID_BYTES :], (0, self._heap)))
        return np.array(sums, np.uint32)

    def _checks(self, slots: Slots) -> Sums:
        return _checks_of({name: self.take(name, slots) for name in _CHECKED}, slots, (0, self._heap))

    def span(self, name: str, first: int, last: int) -> NDArray[Any]:
        """A column's rows first to last as one flat copy."""
        if last <= first:
            return np.empty(0, COLUMNS[name])
        block = first >> _BLOCK_BITS
        flat = self._columns[name][block : blocks_for(last)].reshape(-1)
        return flat[first - (block << _BLOCK_BITS) : last - (block << _BLOCK_BITS)]

    def ids(self, slots: Slots) -> list[str]:
        raw_ids: list[bytes] = self.take("id", slots).tolist()
        try:
            return [raw.decode() for raw in raw_ids]
        except UnicodeDecodeError:
            return [self._id(raw) for raw in raw_ids]

    def _id(self, raw: bytes) -> str:
        if raw and raw[0] == _LONG_MARK:
            _, at, size = _LONG.unpack(raw.ljust(_LONG.size, b"\0"))
            raw = self._heap[at : at + size].tobytes()
        return raw.decode("utf-8", "surrogatepass")

    def standings(self, slots: Slots) -> Standings:
        return Standings(self.take("standing", slots))


class Standings(Sequence[Standing]):
    """Standings by slot, made one by one when asked for: most candidates are never looked at closely."""

    def __init__(self, entries: NDArray[Any]) -> None:
        self._packed = entries

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
        """Standings by field, for whoever reckons with all of them at once."""
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
        (blocks, BLOCK_ROWS), dtype, buffer=raw.data, offset=STARTS[name] if blocks else 0,
        strides=(BLOCK_BYTES, dtype.itemsize),
    )  # fmt: skip


def append(file: File, first: int, columns: Mapping[str, NDArray[Any]], heap: tuple[int, bytes]) -> None:
    """Append rows. `heap` has the offset and the bytes of the long ids among them."""
    count = len(columns["id"])
    file.reserve(blocks_for(first + count) * BLOCK_BYTES)
    rows = {name: np.ascontiguousarray(columns[name], COLUMNS[name]) for name in _CHECKED}
    slots = np.arange(first, first + count, dtype=np.int64)
    rows["check"] = _checks_of(rows, slots, (heap[0], np.frombuffer(heap[1], np.uint8)))
    for name, values in rows.items():
        write_column(file, first, name, values)


def write_column(file: File, first: int, name: str, values: NDArray[Any]) -> None:
    raw = np.ascontiguousarray(values, COLUMNS[name])
    for at, start, stop in _pieces(name, first, len(raw)):
        file.write(at, raw[start:stop].view(np.uint8))


def _checks_of(columns: Mapping[str, NDArray[Any]], slots: Slots, heap: tuple[int, NDArray[np.uint8]]) -> Sums:
    """Checksums of whole rows. A long id counts with what the heap holds of it; `heap` is the offset and the bytes
    of a piece of it.
    """
    count = len(slots)
    rows = np.concatenate(
        [np.ascontiguousarray(columns[name]).view(np.uint8).reshape(count, -1) for name in _CHECKED], axis=1
    )
    checks = row_checks(rows, slots)
    for row in np.flatnonzero(rows[:, 0] == _LONG_MARK).tolist():
        checks[row] = _with_long_id(int(checks[row]), rows[row].data, heap)
    return checks


def _with_long_id(check: int, row: memoryview, heap: tuple[int, NDArray[np.uint8]]) -> int:
    if row[0] != _LONG_MARK:
        return check
    _, at, size = _LONG.unpack(row[: _LONG.size])
    first = max(0, at - heap[0])
    # A damaged one may point anywhere.
    id_bytes = heap[1][first : first + size] if first < len(heap[1]) else heap[1][:0]
    return zlib.crc32(id_bytes.data, check)


def forget_beyond(file: GrowingFile, rows: int) -> None:
    """Zero the rest of the last block and drop the blocks after it."""
    blocks = blocks_for(rows)
    for name, dtype in COLUMNS.items():
        for at, start, stop in _pieces(name, rows, blocks * BLOCK_ROWS - rows):
            file.write(at, bytes((stop - start) * dtype.itemsize))
    file.forget_beyond(blocks * BLOCK_BYTES)


def _pieces(name: str, first: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Pieces of `count` rows from `first` on, block by block, as (offset in the file, start, stop)."""
    size, start = COLUMNS[name].itemsize, 0
    while start < count:
        block, local = divmod(first + start, BLOCK_ROWS)
        part = min(count - start, BLOCK_ROWS - local)
        yield block * BLOCK_BYTES + STARTS[name] + local * size, start, start + part
        start += part


def packed_ids(ids: list[str], heap_at: int) -> tuple[NDArray[Any], bytes]:
    """The id column for `ids`, and what to append to the heap at `heap_at` for those that do not fit."""
    column, heap = [], bytearray()
    for name in ids:
        raw = name.encode("utf-8", "surrogatepass")
        # A fixed-width column drops trailing NULs, so an id that ends in one is kept as a long one.
        if len(raw) > _ID_BYTES or raw.endswith(b"\0"):
            column.append(_LONG.pack(_LONG_MARK, heap_at + len(heap), len(raw)))
            heap += raw
        else:
            column.append(raw)
    return np.array(column, COLUMNS["id"]), bytes(heap)
