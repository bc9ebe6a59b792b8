"""A note beside a bank of how far it has been acknowledged, for whoever opens it next.

A log that was taken away leaves nothing in the file that says so. The note holds the newest number of the feed that was
acknowledged and the stamp that it belongs to; a bank of that stamp that ends before has lost something. It is never
synced: a power loss leaves an older note, which promises less.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path

from reasoningbank.core.values import dataclass
from reasoningbank.store.stamps import NAME_BYTES, Stamp

_NOTE = struct.Struct(f"<8s{NAME_BYTES}s{NAME_BYTES}sQ")
_MAGIC = b"RBNKACK1"
_CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Note:
    stamp: Stamp
    head: int


def note_beside(place: Path) -> Path:
    return place.with_name(f"{place.name}.ack")


def read_note(place: Path) -> Note | None:
    """None where there is none that can be believed."""
    try:
        data = note_beside(place).read_bytes()
    except OSError:
        return None
    if len(data) != _NOTE.size + _CHECKSUM.size or zlib.crc32(data[: _NOTE.size]) != _CHECKSUM.unpack(data[-4:])[0]:
        return None
    magic, own, previous, head = _NOTE.unpack_from(data)
    return Note(Stamp(own, previous), head) if magic == _MAGIC else None


class Notebook:
    """The note, held open by a process that writes."""

    def __init__(self, place: Path) -> None:
        self._descriptor: int | None = None
        # Nothing depends on it: what it cannot say is only not noticed.
        with suppress(OSError):
            self._descriptor = os.open(note_beside(place), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, stamp: Stamp, head: int) -> None:
        if self._descriptor is None:
            return
        body = _NOTE.pack(_MAGIC, stamp.own, stamp.previous, head)
        with suppress(OSError):
            os.pwrite(self._descriptor, body + _CHECKSUM.pack(zlib.crc32(body)), 0)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
