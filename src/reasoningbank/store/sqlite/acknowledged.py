"""The note beside a bank: which stamp it carries, and how far it has been acknowledged.

A log that was taken away leaves nothing in the file that says so. The second note holds the newest number of the feed
that was acknowledged and the stamp that it belongs to; a bank of that stamp that ends before has lost something. The
first is for processes that find the log empty: it is written with the write lock held, before the stamp is committed,
so that it never lags behind the file. Neither is ever synced: a power loss leaves older notes, which promise less.
"""

from __future__ import annotations

import os
import struct
import zlib
from io import FileIO
from pathlib import Path

from reasoningbank.core.frozen import dataclass
from reasoningbank.files import open_owned
from reasoningbank.store.sqlite.stamps import NAME_BYTES, Stamp

_NOTE = struct.Struct(f"<8s{NAME_BYTES}s{NAME_BYTES}sQ")
_MAGIC = b"RBNKACK1"
_CHECKSUM = struct.Struct("<I")
_BYTES = _NOTE.size + _CHECKSUM.size
_STAMP_AT, _HEAD_AT = 0, 64
WATCHABLE = hasattr(os, "pread") and hasattr(os, "O_DIRECTORY")
"""True if an open file can be renamed or removed here, as it cannot elsewhere."""


@dataclass(frozen=True, slots=True)
class AcknowledgedNote:
    stamp: Stamp
    head: int


def note_beside(place: Path) -> Path:
    return place.with_name(f"{place.name}.ack")


def read_head(place: Path) -> AcknowledgedNote | None:
    """Stamp and number of the feed up to which the bank was acknowledged; None if nothing reliable says so."""
    return _read(place, _HEAD_AT)


def read_stamp(place: Path) -> Stamp | None:
    """The last stamp of the bank; None if nothing that can be believed says so."""
    note = _read(place, _STAMP_AT)
    return None if note is None else note.stamp


def _read(place: Path, at: int) -> AcknowledgedNote | None:
    try:
        data = note_beside(place).read_bytes()[at : at + _BYTES]
    except OSError:
        return None
    if len(data) != _BYTES or zlib.crc32(data[: _NOTE.size]) != _CHECKSUM.unpack(data[_NOTE.size :])[0]:
        return None
    magic, own, previous, head = _NOTE.unpack_from(data)
    return AcknowledgedNote(Stamp(own, previous), head) if magic == _MAGIC else None


def open_notes(place: Path) -> FileIO:
    return open_owned(note_beside(place), os.O_RDWR | os.O_CREAT)


def write_note(notes: FileIO, stamp: Stamp, head: int | None = None) -> None:
    """Note how far the bank was acknowledged; without `head`, the stamp: with the write lock held and before the
    commit, and what cannot be noted is not to be committed.
    """
    body = _NOTE.pack(_MAGIC, stamp.own, stamp.previous, head or 0)
    note = body + _CHECKSUM.pack(zlib.crc32(body))
    os.pwrite(notes.fileno(), note, _STAMP_AT if head is None else _HEAD_AT)
