"""Header of an index: the few numbers that say how much of the other files counts.

There are two alternating copies with a checksum each, so that a torn write costs one commit and never the index.
Independent of what the numbers are about.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from reasoningbank.core.errors import BankDamaged, BankTooNew, BankUnavailable, EmbedderMismatch
from reasoningbank.core.frozen import dataclass
from reasoningbank.files import PRIVATE_MODE, sync

FORMAT = 7
_MAGIC = b"RBIX"
_COPY_BYTES = 1024
_COPY_AT = (0, 4096)
_FIXED = struct.Struct("<4sIQQQQQQQQI")
_SEGMENT = struct.Struct("<III")
_SEQUENCE = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    sequence: int = 0
    rows: int = 0
    embedded: int = 0
    """Slots below this one have vectors, or are dead."""
    applied: int = 0
    mark: int = 0
    entries: int = 0
    """Entries of the forward file."""
    length: int = 0
    """Sum of the weighted lengths of all rows, for the mean length."""
    heap: int = 0
    segments: tuple[tuple[int, int, int], ...] = ()
    """Sealed keyword segments as half-open ranges of slots, from 0 on without a gap, each with its checksum."""

    @property
    def sealed(self) -> int:
        return self.segments[-1][1] if self.segments else 0


def read_header(path: Path) -> Header:
    """The newest whole copy of a header."""
    content = path.read_bytes()
    _check_size(path, len(content))
    return _newest([content[at : at + _COPY_BYTES] for at in _COPY_AT], path)


class HeaderFile:
    """A header file that is mapped, to see at once what other processes write."""

    def __init__(self, path: Path) -> None:
        # Brings NumPy along, which whoever only reads a header does without.
        from reasoningbank.index import mapping

        self._path = path
        with path.open("rb") as file:
            _check_size(path, os.fstat(file.fileno()).st_size)
            self._map = mapping.map_file(file.fileno(), _COPY_AT[1] + _COPY_BYTES).data

    @classmethod
    def create(cls, path: Path, header: Header) -> None:
        """Make a new header file: writing over an old one would empty it under the eyes of whoever has it mapped."""
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            new_file = os.fdopen(os.open(path, flags, PRIVATE_MODE), "wb")
        except FileExistsError as error:
            raise BankUnavailable(
                f"The index {path.parent} is being made by another process at this moment: try again."
            ) from error
        with new_file as file:
            for at in _COPY_AT:
                file.seek(at)
                file.write(_pack(header))
            file.truncate(_COPY_AT[1] + _COPY_BYTES)
            file.flush()
            sync(file.fileno())

    def sequence(self) -> int:
        """The newest sequence number that either copy claims, checked or not: cheap, to see whether to `read`."""
        # It stands eight bytes behind the beginning of a copy.
        return max(int(_SEQUENCE.unpack_from(self._map, at + 8)[0]) for at in _COPY_AT)

    def read(self) -> Header:
        return _newest([self._copy(at) for at in _COPY_AT], self._path)

    def whole_copies(self) -> int:
        return sum(_unpack(self._copy(at), self._path) is not None for at in _COPY_AT)

    def _copy(self, at: int) -> bytes:
        return self._map[at : at + _COPY_BYTES].tobytes()

    def write(self, header: Header) -> None:
        # Not through the map: not every system makes that durable together with the file.
        with self._path.open("r+b", buffering=0) as file:
            file.seek(_COPY_AT[header.sequence % 2])
            file.write(_pack(header))
            sync(file.fileno())


def _check_size(path: Path, size: int) -> None:
    if size < _COPY_AT[1] + _COPY_BYTES:
        raise BankDamaged(f"The index header {path} is cut short; build the index again.")


def _newest(copies: list[bytes], path: Path) -> Header:
    whole = [header for copy in copies if (header := _unpack(copy, path)) is not None]
    if not whole and any(map(_is_older, copies)):
        raise EmbedderMismatch(f"The index {path.parent} was made by an older version of this program.")
    if not whole:
        raise BankDamaged(f"Both copies of the index header {path} are damaged; build the index again.")
    return max(whole, key=lambda header: header.sequence)


def _pack(header: Header) -> bytes:
    numbers = _FIXED.pack(
        _MAGIC, FORMAT, header.sequence, header.rows, header.embedded, header.applied, header.mark,
        header.entries, header.length, header.heap, len(header.segments),
    )  # fmt: skip
    body = numbers + b"".join(_SEGMENT.pack(*segment) for segment in header.segments)
    body = body.ljust(_COPY_BYTES - _CHECKSUM.size, b"\0")
    return body + _CHECKSUM.pack(zlib.crc32(body))


def _is_older(copy: bytes) -> bool:
    magic, version = _FIXED.unpack_from(copy)[:2]
    return bool(magic == _MAGIC and version < FORMAT and _is_whole(copy))


def _is_whole(copy: bytes) -> bool:
    return bool(_CHECKSUM.unpack(copy[-_CHECKSUM.size :])[0] == zlib.crc32(copy[: -_CHECKSUM.size]))


def _unpack(copy: bytes, path: Path) -> Header | None:
    if not _is_whole(copy):
        return None
    body = copy[: -_CHECKSUM.size]
    magic, version, sequence, rows, vector_count, position, mark, entries, length, heap, count = _FIXED.unpack_from(
        body
    )
    if magic != _MAGIC or version < FORMAT:
        return None
    if version > FORMAT:
        raise BankTooNew(f"The index {path.parent} was written by a newer version of this program.")
    segments = tuple(_SEGMENT.unpack_from(body, _FIXED.size + i * _SEGMENT.size) for i in range(count))
    return Header(
        sequence=sequence, rows=rows, embedded=vector_count, applied=position, mark=mark,
        entries=entries, length=length, heap=heap, segments=segments,
    )  # fmt: skip
