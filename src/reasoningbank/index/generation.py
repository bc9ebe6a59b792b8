"""The files of one generation of an index, opened together.

The header is written last, and a consistent snapshot can be taken while another process appends. Independent of why
rows are added and how they are searched.
"""

from __future__ import annotations

import threading
import zlib
from pathlib import Path

from reasoningbank.core.errors import BankDamaged, EmbedderMismatch
from reasoningbank.core.frozen import replace
from reasoningbank.files import PRIVATE_MODE, make_private_folder, sync_folder
from reasoningbank.index import rotation as rotations
from reasoningbank.index import rows as row_file
from reasoningbank.index.content import FILES, VECTOR_FILES, Content, IndexShape, Snapshot, with_checksum
from reasoningbank.index.durable import write_durably
from reasoningbank.index.files import GrowingFile, PrivateFile
from reasoningbank.index.header import Header, HeaderFile
from reasoningbank.index.peek import bytes_on_disk
from reasoningbank.index.segments import merge_ranges, seal, segment_name
from reasoningbank.lexical.entries import ENTRY

_HEADER, _ABOUT, _ROTATION = "header", "about.json", "rotation"


class Generation(Content):
    def __init__(self, directory: Path, shape: IndexShape, *, writable: bool) -> None:
        if _read_checked(directory / _ABOUT) != shape.about:
            raise EmbedderMismatch(f"The index {directory} was made for another embedder, or from other texts.")
        rotation = rotations.from_bytes(_read_checked(directory / _ROTATION))
        self._header = HeaderFile(directory / _HEADER)
        self._growing = {name: GrowingFile(directory / name, writable=writable) for name in FILES}
        super().__init__(directory, shape, rotation, self._growing)
        self._mapping = threading.RLock()
        self._snapshot = self._newest_snapshot()

    @classmethod
    def create(cls, directory: Path, shape: IndexShape, header: Header) -> Generation:
        make_private_folder(directory.parent)
        directory.mkdir(mode=0o700)
        for name in FILES:
            (directory / name).touch(mode=PRIVATE_MODE)
        turn = rotations.to_bytes(rotations.make_rotation(shape.identity.dimension))
        write_durably(directory / _ROTATION, [with_checksum(turn)])
        write_durably(directory / _ABOUT, [with_checksum(shape.about)])
        HeaderFile.create(directory / _HEADER, header)
        sync_folder(directory)
        return cls(directory, shape, writable=True)

    # ------------------------------------------------------------ reading

    def snapshot(self) -> Snapshot:
        with self._mapping:
            if self._header.sequence() != self._snapshot.header.sequence:
                self._snapshot = self._newest_snapshot()
            return self._snapshot

    def _newest_snapshot(self) -> Snapshot:
        while True:
            sequence = self._header.sequence()
            try:
                return self._take_snapshot()
            except BankDamaged:
                # A writer may have merged the segments that the header listed a moment ago.
                if self._header.sequence() == sequence:
                    raise

    def _take_snapshot(self) -> Snapshot:
        return self._snapshot_at(self._header.read())

    def continued(self) -> dict[str, PrivateFile]:
        """Every file of the generation, to be continued in memory."""
        return {name: file.continued() for name, file in self._growing.items()}

    def problems(self) -> list[str]:
        """Problems of the small files, in words; they are read from the disk again."""
        lines = []
        for name in (_ABOUT, _ROTATION):
            try:
                _read_checked(self.directory / name)
            except (BankDamaged, OSError):
                lines.append(f"{name} does not match its checksum")
        if self._header.whole_copies() < 2:
            lines.append("one of the two copies of the header does not match its checksum")
        return lines

    # ------------------------------------------------------------ writing; the caller holds the lock

    def commit(self, header: Header) -> Snapshot:
        """Make everything written so far durable, then make it count."""
        for file in self._growing.values():
            file.sync()
        before = self._snapshot.header.segments
        header = replace(header, sequence=self._header.read().sequence + 1, segments=self._seal(header))
        self._header.write(header)
        with self._mapping:
            self._snapshot = self._take_snapshot()
        for first, last, _ in set(before) - set(header.segments):
            (self.directory / segment_name(first, last)).unlink(missing_ok=True)
        return self._snapshot

    def _seal(self, header: Header) -> tuple[tuple[int, int, int], ...]:
        checks = {(first, last): check for first, last, check in header.segments}
        ranges = merge_ranges(tuple(checks), header.rows)
        fresh = [span for span in ranges if span not in checks]
        if fresh:
            rows = self._rows_at(header)
            for first, last in fresh:
                entries = self.entries(header, rows, first, last)
                checks[first, last] = seal(self.directory / segment_name(first, last), *entries)
            sync_folder(self.directory)
        return tuple((*span, checks[span]) for span in ranges)

    def clear_up(self) -> None:
        """Remove what a writer that died left behind: bytes past the committed ends, and files nobody lists."""
        header = self.snapshot().header
        row_file.forget_beyond(self._growing["rows"], header.rows)
        self._growing["long-ids"].forget_beyond(header.heap)
        self._growing["entries"].forget_beyond(header.entries * ENTRY.itemsize)
        for name, width in zip(VECTOR_FILES, self._widths, strict=True):
            self._growing[name].forget_beyond(header.embedded * width)
        names = {segment_name(first, last) for first, last, _ in header.segments}
        for path in self.directory.glob("words-*"):
            if path.name not in names:
                path.unlink(missing_ok=True)
        for file in self._growing.values():
            file.sync()

    def bytes_on_disk(self) -> int:
        return bytes_on_disk(self.directory)


def _read_checked(path: Path) -> bytes:
    checksum, _, body = path.read_bytes().partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(body):
        raise BankDamaged(f"The index file {path} is damaged; build the index again.")
    return body
