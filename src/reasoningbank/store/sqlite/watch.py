"""Notices, before anything is acknowledged, that a bank's files were changed behind SQLite's back.

SQLite goes on writing to a file that has lost its name, to a log that was emptied, or over a file that was copied over,
and says that all is well. Every write transaction is looked at twice: once it holds the write lock, when nobody else
can add to the log or begin it anew, and again after its commit. Most looks cost a few microseconds; of the log, only
what others have written is read, and that only when the file's stamp has changed, which is once a checkpoint.

A sound pair is checked here from inside, and by `store.sqlite.pairing` from outside, before anything is open.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from io import FileIO
from pathlib import Path

import apsw

from reasoningbank.core.errors import BankReplaced
from reasoningbank.store.sqlite.acknowledged import open_notes, read_stamp, write_note
from reasoningbank.store.sqlite.calls import open_raw
from reasoningbank.store.sqlite.stamps import (
    FRAME_HEADER_BYTES,
    LOG_HEADER_BYTES,
    NOTHING,
    STAMP_BYTES,
    Log,
    Stamp,
    place_in,
    renew_stamp,
)

_SETTLED_NS = 100_000_000
"""A folder's moment of change is believed when it is older than any clock's tick."""
Inodes = tuple[int, int, int]


def inodes_of(place: Path) -> Inodes:
    """Inodes of the file, its log and what processes share about it; 0 for what is not there."""
    return _inode(str(place)), _inode(f"{place}-wal"), _inode(f"{place}-shm")


def _inode(name: str) -> int:
    try:
        return os.stat(name).st_ino  # noqa: PTH116 - a path is slow, and this is asked at every write
    except OSError:
        return 0


class FileWatch:
    def __init__(
        self, place: Path, location: str, inodes: Inodes, stamp: Stamp | None, observer: apsw.Connection
    ) -> None:
        """`inodes` and `stamp` as they were when the bank was opened; an `observer` is not in a transaction."""
        self._place, self._location, self._inodes = place, location, inodes
        self._page_bytes = int(observer.pragma("page_size"))
        self._folder = str(place.parent)
        self._log_file = FileIO(f"{place}-wal")
        self._file = open_raw(place)
        self._size = 0
        self._folder_changed = (0, 0)
        self._settled = False
        self._notes: FileIO | None = None
        self._log: Log | None = None
        self._salts = b""
        self._known: set[bytes] = set() if stamp is None else {stamp.own}
        """Names that the file was seen to carry, or was given here."""
        self._seen: tuple[bytes, int] = (b"", -1)
        """The stamp that the file carried at the last look, and the frames of the log that were in it."""
        row = observer.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'stamp'").fetchone()
        self._page = None if row is None else int(row[0])
        self._at: int | None = None
        self._last: tuple[apsw.Connection, int] | None = None
        """The connection that committed last through here, and the version of the data that it then had."""
        self._frames = 0
        """Frames of the log when that transaction began."""
        self._has_stamped = False
        """True if that transaction wrote a stamp."""
        # A power loss may take what a bank acknowledged that does not sync: the note must not miss it.
        # 2 is SQLite's number for `full`.
        self.keeps_head = self._page is not None and int(observer.pragma("synchronous")) >= 2

    # ------------------------------------------------------------ around a transaction

    def begun(self, connection: apsw.Connection, observer: apsw.Connection) -> None:
        """Check the files at the begin of a transaction, with the write lock held. Raises, or leaves a transaction
        that may be acknowledged.
        """
        frames, backfill = observer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        self._check_names("Nothing was written")
        if frames > 0:
            self._check_log(frames)
        if self._page is None:
            return
        self._keep_up(connection, frames)
        self._check_file(observer, frames, backfill)
        self._frames, self._has_stamped = frames, frames == backfill
        if self._has_stamped:
            # SQLite may begin the log anew with this transaction, and only then.
            stamp = renew_stamp(connection)
            self._known.add(stamp.own)
            # Before the commit: whoever finds the new stamp in the file finds it in the note too.
            # By its name, since a recovery puts another one there.
            notes, self._notes = self._notes, None
            if notes is not None:
                notes.close()
            self._notes = open_notes(self._place)
            write_note(self._notes, stamp)

    def committed(self, connection: apsw.Connection, stamp: Stamp | None, head: int) -> None:
        """Check the files after the commit and before the acknowledgement. `stamp` and `head`, the newest number of
        the feed, are what the transaction saw at its end.
        """
        self._last = connection, connection.data_version()
        try:
            self._check_names("What was being stored may not be there")
            is_empty = os.pread(self._log_file.fileno(), 4, 0) == b"\0\0\0\0"
        except OSError as error:
            # Like one that was replaced: what was committed may be somewhere that will not be read again.
            raise BankReplaced(
                f"{self._place} was written, and the medium failed when that was looked at again ({error}): check the "
                "disk, and see whether what was being stored is there before storing it once more."
            ) from error
        if is_empty:
            raise self._replaced_error(f"{self._place.name}-wal was emptied", "What was being stored may not be there")
        if self.keeps_head and stamp is not None:
            # Nothing depends on it: what it cannot say is only not noticed.
            with suppress(OSError):
                self._notes = self._notes or open_notes(self._place)
                write_note(self._notes, stamp, head)

    # ------------------------------------------------------------ what is looked at

    def _check_names(self, consequence: str) -> None:
        try:
            folder = os.stat(self._folder)  # noqa: PTH116 - as above
            folder_state = folder.st_ino, folder.st_ctime_ns
        except FileNotFoundError:
            folder_state = 0, 0
        if self._settled and folder_state == self._folder_changed:
            return
        now = inodes_of(self._place)
        if now != self._inodes:
            names = (self._place.name, f"{self._place.name}-wal", f"{self._place.name}-shm")
            which = next(name for name, old, new in zip(names, self._inodes, now, strict=True) if old != new)
            raise self._replaced_error(f"{which} was moved, replaced or deleted", consequence)
        self._folder_changed = folder_state
        self._settled = time.time_ns() - folder_state[1] > _SETTLED_NS

    def _check_log(self, frames: int) -> None:
        at = LOG_HEADER_BYTES + (frames - 1) * (FRAME_HEADER_BYTES + self._page_bytes)
        head = os.pread(self._log_file.fileno(), FRAME_HEADER_BYTES, at)
        salts, ends = head[8:16], head[4:8]
        if salts != self._salts and len(head) == FRAME_HEADER_BYTES:
            # Begun anew since the last look, by this process or another one.
            self._log = Log(lambda size, at: os.pread(self._log_file.fileno(), size, at))
            self._salts, self._seen = self._log.salts, (b"", -1)
        if len(head) < FRAME_HEADER_BYTES or salts != self._salts or ends == b"\0\0\0\0":
            self._salts = b""
            raise self._replaced_error(f"{self._place.name}-wal was cut or replaced", "Nothing was written")

    def _keep_up(self, connection: apsw.Connection, frames: int) -> None:
        """Know the log up to here without reading it, where the last transaction is all that was added to it."""
        if self._log is None or self._last != (connection, connection.data_version()):
            return
        if self._has_stamped:
            self._log.look(frames)
        elif self._log.frames == self._frames:
            self._log.skip(frames)

    def _check_file(self, observer: apsw.Connection, frames: int, backfill: int) -> None:
        size = self._file.xFileSize()
        if size < self._size:
            raise self._replaced_error(f"{self._place.name} was cut or copied over", "Nothing was written")
        self._size = size
        raw_stamp = self._stamp_on_disk(size)
        if (raw_stamp, backfill) == self._seen:
            return
        for _ in range(3):
            stamp = Stamp.from_bytes(raw_stamp)
            own = NOTHING if stamp is None else stamp.own
            if own in self._allowed_stamps(own, frames, backfill):
                self._known.add(own)
                break
            backfill = observer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[1]
            raw_stamp = self._stamp_on_disk(self._file.xFileSize())
        else:
            raise self._replaced_error(f"{self._place.name} was copied over or replaced", "Nothing was written")
        self._seen = (raw_stamp, backfill)

    def _stamp_on_disk(self, size: int) -> bytes:
        """The stamp of the file as it lies on the disk; nothing where there is none."""
        assert self._page is not None
        start = (self._page - 1) * self._page_bytes
        if size < start + self._page_bytes:
            return b""
        if self._at is None:
            self._at = place_in(self._file.xRead(self._page_bytes, start))
            if self._at is None:
                return b""
        return self._file.xRead(STAMP_BYTES, start + self._at)

    def _allowed_stamps(self, own: bytes, frames: int, backfill: int) -> set[bytes]:
        """Names that the file may carry: the last stamp of the log that is in it, or one that is being copied."""
        if not frames or self._log is None:
            return self._known_names(own)
        self._log.look(frames)
        inside = [stamp.own for frame, stamp in self._log.stamps if frame <= backfill]
        if inside:
            before = {inside[-1]}
        elif self._log.first is not None:
            before = {self._log.first.previous}
        else:
            before = self._known_names(own)
        return before | self._log.names(after=backfill)

    def _known_names(self, own: bytes) -> set[bytes]:
        """Names known without a log that tells: by this process, and noted by others; without a note, `own`."""
        stamp = read_stamp(self._place)
        return self._known | ({own} if stamp is None else set(stamp))

    def _replaced_error(self, what: str, consequence: str) -> BankReplaced:
        return BankReplaced(
            f"{what} while this process had {self._location} open. {consequence}: put it back as it was, or recover a "
            f"backup ('reasoningbank recover BACKUP --bank {self._location}'), then start this process again."
        )

    # ------------------------------------------------------------ the end

    def is_sound(self, observer: apsw.Connection) -> bool:
        """True if a last connection may copy the log into the file and remove it. A log that was only taken away is
        saved by that: this process holds the last copy of it.
        """
        bank, log, shm = inodes_of(self._place)
        if (bank, shm) != (self._inodes[0], self._inodes[2]) or log not in (0, self._inodes[1]):
            return False
        try:
            frames, backfill = observer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
            if frames > 0:
                self._check_log(frames)
            if self._page is not None:
                self._check_file(observer, frames, backfill)
        except (BankReplaced, apsw.Error, OSError):
            return False
        return True

    def close(self) -> None:
        """Close the files, after the bank's own connections: this lets go of their locks."""
        self._log_file.close()
        if self._notes is not None:
            self._notes.close()
        with suppress(apsw.Error):
            self._file.xClose()
