"""The stamp by which a bank's file and its log are known to belong together.

SQLite plays a log that lies beside a file back into it, whatever file that is. So the first transaction of every run of
the log writes a stamp: a name of its own, by chance, and the name that the file had when the run began. The file on the
disk then carries the name from before the run, or one that stands in the log; anything else is another file, or another
log. A copy that is meant to be put somewhere else is given a fresh stamp, which no log knows.

Here are the row, the page that holds it, and how both are found in a log without SQLite; who looks decides when.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import apsw

from reasoningbank.store.closed import WHY_CLOSED
from reasoningbank.store.sqlite import statements

MAGIC = b"RBNKMARK"
NAME_BYTES = 16
NOTHING = bytes(NAME_BYTES)
"""Name of a file that carries no stamp yet."""
STAMP_BYTES = len(MAGIC) + 2 * NAME_BYTES

_LOG_HEADER = struct.Struct(">4sIIIIIII")
_FRAME_HEADER = struct.Struct(">IIIIII")
LOG_HEADER_BYTES, FRAME_HEADER_BYTES = _LOG_HEADER.size, _FRAME_HEADER.size
_LOG_MAGICS = {b"\x37\x7f\x06\x82": "<", b"\x37\x7f\x06\x83": ">"}
_WHY_CLOSED, _PARAMETERS = statements.select(WHY_CLOSED, None)
_END = f"SELECT (SELECT mark FROM stamp), (SELECT max(seq) FROM feed), ({_WHY_CLOSED})"
_LEAF_OF_A_TABLE = 0x0D
_CELL_HEADER_BYTES = 12
"""More than a row of one small number and one blob has before its blob."""


class Stamp(NamedTuple):
    own: bytes
    previous: bytes

    @property
    def packed(self) -> bytes:
        return MAGIC + self.own + self.previous

    @classmethod
    def from_bytes(cls, mark: bytes) -> Stamp | None:
        if len(mark) != STAMP_BYTES or not mark.startswith(MAGIC):
            return None
        return cls(mark[len(MAGIC) : len(MAGIC) + NAME_BYTES], mark[len(MAGIC) + NAME_BYTES :])


def _kept_stamp(connection: apsw.Connection) -> Stamp | None:
    """The stamp as a connection sees it, the log included."""
    row: Any = connection.execute("SELECT mark FROM stamp").fetchone()
    return None if row is None else Stamp.from_bytes(bytes(row[0]))


def stamp_and_head(connection: apsw.Connection) -> tuple[Stamp | None, int]:
    """The stamp and the newest number of the feed, as a transaction sees them; nothing if they are damaged."""
    try:
        row: Any = connection.execute("SELECT (SELECT mark FROM stamp), max(seq) FROM feed").fetchone()
    except apsw.CorruptError:
        return None, 0
    return Stamp.from_bytes(row[0] or b""), row[1] or 0


def end_of_transaction(cursor: apsw.Cursor) -> tuple[Stamp | None, int, str | None]:
    """The stamp, the newest number of the feed, and why the bank takes no writes (None if it does), before a commit.

    Read to the end: an error that is raised afterwards keeps the cursor, and with a row to come that keeps the file
    open when its connection is closed.
    """
    row: Any
    (row,) = cursor.execute(_END, _PARAMETERS).fetchall()
    return Stamp.from_bytes(row[0] or b""), row[1] or 0, row[2]


def reason_of_closing(cursor: apsw.Cursor) -> str | None:
    """The reason why the bank takes no writes; None if it does. For a bank that keeps no note of what it
    acknowledged; read to the end, too.
    """
    rows: list[Any] = cursor.execute(_WHY_CLOSED, _PARAMETERS).fetchall()
    return str(rows[0][0]) if rows else None


def renew_stamp(connection: apsw.Connection, *, fresh: bool = False) -> Stamp:
    """A stamp that follows the one there is; a `fresh` one follows none."""
    before = None if fresh else _kept_stamp(connection)
    stamp = Stamp(own=os.urandom(NAME_BYTES), previous=NOTHING if before is None else before.own)
    connection.execute("INSERT OR REPLACE INTO stamp (id, mark) VALUES (1, ?)", (stamp.packed,))
    return stamp


def place_in(page: bytes) -> int | None:
    """Place in a page where the stamp begins; None for every page but that of the stamp."""
    if len(page) < 512 or page[0] != _LEAF_OF_A_TABLE or page[3:5] != b"\0\1":
        return None
    cell = int.from_bytes(page[8:10], "big")
    at = page.find(MAGIC, cell, cell + _CELL_HEADER_BYTES + len(MAGIC))
    return at if at >= 0 and at + STAMP_BYTES <= len(page) else None


def stamp_in(page: bytes) -> Stamp | None:
    at = place_in(page)
    return None if at is None else Stamp.from_bytes(page[at : at + STAMP_BYTES])


class Log:
    """The run of a log that counts now, read frame by frame. `read(size, at)` gives what is there of it."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        header = read(LOG_HEADER_BYTES, 0)
        self.is_one = len(header) == LOG_HEADER_BYTES and header[:4] in _LOG_MAGICS
        """True if it begins like a log: SQLite takes whatever does not for an empty one."""
        self.header = header
        self.page_bytes = 0
        self.salts = b""
        self.frames = 0
        """Number of frames looked at so far."""
        self.committed = 0
        """The last frame that ends a transaction."""
        self.first_commit = 0
        self.page: int | None = None
        """Number of the page that holds the stamp."""
        self.stamps: list[tuple[int, Stamp]] = []
        """Stamps with the number of the frame of each, in order."""
        if self.is_one:
            self.page_bytes = _LOG_HEADER.unpack(header)[2] or 65_536
            self.salts = header[16:24]

    @property
    def frame_bytes(self) -> int:
        return FRAME_HEADER_BYTES + self.page_bytes

    def frame_at(self, number: int) -> int:
        return LOG_HEADER_BYTES + (number - 1) * self.frame_bytes

    def look(self, upto: int | None = None) -> None:
        """Read the log on to the frame `upto`, or to the end."""
        while self.is_one and (upto is None or self.frames < upto):
            at = self.frame_at(self.frames + 1)
            head = self._read(FRAME_HEADER_BYTES, at)
            if len(head) < FRAME_HEADER_BYTES or head[8:16] != self.salts:
                return
            page, pages_after, *_ = _FRAME_HEADER.unpack(head)
            if self.page in (None, page):
                stamp = stamp_in(self._read(self.page_bytes, at + FRAME_HEADER_BYTES))
                if stamp is not None:
                    self.page = page
                    self.stamps.append((self.frames + 1, stamp))
            self.frames += 1
            if pages_after:
                self.committed = self.frames
                self.first_commit = self.first_commit or self.frames

    def skip(self, upto: int) -> None:
        """Pass over frames that hold no stamp, up to one that ends a transaction."""
        self.frames = self.committed = upto
        self.first_commit = self.first_commit or upto

    @property
    def first(self) -> Stamp | None:
        """Stamp of the first transaction; a later one if another program began the run."""
        return self.stamps[0][1] if self.stamps and self.stamps[0][0] <= self.committed else None

    def names(self, after: int = 0) -> set[bytes]:
        """Names that the file may carry once frames behind `after` are copied into it, in part or all of them."""
        return {stamp.own for frame, stamp in self.stamps if after < frame <= self.committed}

    def begins_whole(self) -> bool:
        """True if the first transaction matches its checksums, as a torn one does not."""
        order = _LOG_MAGICS[self.header[:4]]
        sums = _checksum(order, self.header[:24], (0, 0))
        if sums != struct.unpack(">II", self.header[24:32]):
            return False
        for number in range(1, self.first_commit + 1):
            frame = self._read(self.frame_bytes, self.frame_at(number))
            if len(frame) < self.frame_bytes:
                # Another process has begun the log anew, or cut it, since it was looked at.
                return False
            sums = _checksum(order, frame[:8] + frame[FRAME_HEADER_BYTES:], sums)
            if sums != struct.unpack(">II", frame[16:24]):
                return False
        return True


def _checksum(order: str, data: bytes, start: tuple[int, int]) -> tuple[int, int]:
    s0, s1 = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        s0 = s0 + first + s1 & 0xFFFFFFFF
        s1 = s1 + second + s0 & 0xFFFFFFFF
    return s0, s1
