"""The files of one generation of an index, opened together.

Knows their names, that the header is written last, and how to take a consistent snapshot while another process appends.
Refuses to know why rows are added or how they are searched.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import BankDamaged, EmbedderMismatch
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.core.values import dataclass, replace
from reasoningbank.index import rotation as rotations
from reasoningbank.index import rows as row_file
from reasoningbank.index.codes import Encoded
from reasoningbank.index.durable import sync_directory, write_durably
from reasoningbank.index.entries import ENTRY, Entries
from reasoningbank.index.files import GrowingFile
from reasoningbank.index.header import Header, HeaderFile
from reasoningbank.index.masks import Masks
from reasoningbank.index.rotation import Rotation
from reasoningbank.index.rows import Rows
from reasoningbank.index.segments import Segment, Tail, merged, seal, segment_name
from reasoningbank.index.vectors import Facet

_ROWS, _HEAP, _ENTRIES, _HEADER, _ABOUT, _ROTATION = "rows", "long-ids", "entries", "header", "about.json", "rotation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What every generation of an index has in common."""

    identity: EmbedderIdentity
    facets: tuple[str, ...]

    @property
    def about(self) -> bytes:
        identity = self.identity
        model = [identity.name, identity.model, identity.dimension, identity.revision]
        return json.dumps({"embedder": model, "facets": list(self.facets)}, sort_keys=True).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """An index as of one commit, except that standings and kills made since then show through."""

    header: Header
    rows: Rows
    facets: tuple[Facet, ...]
    """Only as many rows as have vectors."""
    segments: tuple[Segment, ...]
    tail: Tail
    rotation: Rotation
    masks: Masks
    """Kept with the commit that they are of."""


class Generation:
    def __init__(self, directory: Path, shape: Shape, *, writable: bool) -> None:
        self.directory, self.shape = directory, shape
        self.number = int(directory.name.removeprefix("gen-"))
        if _checked(directory / _ABOUT) != shape.about:
            raise EmbedderMismatch(f"The index {directory} was made for another embedder or other facets.")
        self.rotation = rotations.from_bytes(_checked(directory / _ROTATION))
        self._header = HeaderFile(directory / _HEADER, writable=writable)
        self.rows = GrowingFile(directory / _ROWS, writable=writable)
        self._heap = GrowingFile(directory / _HEAP, writable=writable)
        self._entries = GrowingFile(directory / _ENTRIES, writable=writable)
        self._facets = [
            tuple(GrowingFile(directory / name, writable=writable) for name in _facet_files(i))
            for i in range(len(shape.facets))
        ]
        self._segments: dict[tuple[int, int], Segment] = {}
        self._tail = Tail(0)
        self._mapping = threading.RLock()
        self._snapshot = self._newest_snapshot()

    @classmethod
    def create(cls, directory: Path, shape: Shape, header: Header) -> Generation:
        directory.mkdir(parents=True)
        names = [_ROWS, _HEAP, _ENTRIES]
        for i in range(len(shape.facets)):
            names += _facet_files(i)
        for name in names:
            (directory / name).touch()
        turn = rotations.to_bytes(rotations.make_rotation(shape.identity.dimension))
        write_durably(directory / _ROTATION, [_with_checksum(turn)])
        write_durably(directory / _ABOUT, [_with_checksum(shape.about)])
        HeaderFile.create(directory / _HEADER, header)
        sync_directory(directory)
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
        header = self._header.read()
        rows = Rows(self.rows, self._heap, header.rows, header.heap)
        self._segments = {span: self._segments.get(span) or self._open_segment(span) for span in header.segments}
        self._tail = self._read_tail(header, rows)
        return Snapshot(
            header=header,
            rows=rows,
            facets=tuple(self._facet(i, header.embedded) for i in range(len(self.shape.facets))),
            segments=tuple(self._segments.values()),
            tail=self._tail,
            rotation=self.rotation,
            masks=Masks(),
        )

    def _open_segment(self, span: tuple[int, int]) -> Segment:
        return Segment(self.directory / segment_name(*span), *span)

    def _facet(self, number: int, count: int) -> Facet:
        signs, finer, full = (
            file.view(count * width)[: count * width].reshape(count, width)
            for file, width in zip(self._facets[number], self._widths, strict=True)
        )
        return Facet(signs, finer, full.view("<f2"))

    @property
    def _widths(self) -> tuple[int, int, int]:
        """Bytes of a row in each file of a facet."""
        code_bytes = self.rotation.bits // 8
        return code_bytes, code_bytes, 2 * self.shape.identity.dimension

    def _read_tail(self, header: Header, rows: Rows) -> Tail:
        tail = self._tail
        if tail.first != header.sealed or tail.last > header.rows:
            tail = Tail(header.sealed)
        if tail.last == header.rows:
            return tail
        return tail.extended(*self.entries(header, rows, tail.last, header.rows))

    def entries(
        self, header: Header, rows: Rows, first: int, last: int
    ) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.uint32]]:
        """Entries of consecutive slots, how many each has, and their lengths."""
        starts = rows.span("entry", first, last).astype(np.int64)
        end = int(rows.span("entry", last, last + 1)[0]) if last < header.rows else header.entries
        bounds = np.append(starts, end)
        raw = self._entries.view(header.entries * ENTRY.itemsize)[bounds[0] * ENTRY.itemsize : end * ENTRY.itemsize]
        return raw.view(ENTRY), np.diff(bounds), rows.span("length", first, last)

    # ------------------------------------------------------------ writing; the caller holds the lock

    def append(self, header: Header, columns: Mapping[str, NDArray[Any]], entries: Entries, heap: bytes) -> Header:
        """Write rows behind the last one, and return the header that would make them count."""
        starts = header.entries + np.cumsum(entries.counts) - entries.counts
        row_file.append(self.rows, header.rows, {**columns, "entry": starts, "length": entries.lengths})
        self._entries.write(header.entries * ENTRY.itemsize, entries.packed.view(np.uint8))
        if heap:
            self._heap.write(header.heap, heap)
        return replace(
            header,
            rows=header.rows + len(entries.counts),
            entries=header.entries + len(entries.packed),
            length=header.length + int(entries.lengths.sum(dtype=np.int64)),
            heap=header.heap + len(heap),
        )

    def append_vectors(self, header: Header, encoded: Sequence[Encoded], count: int) -> Header:
        for files, parts in zip(self._facets, encoded, strict=True):
            rows: tuple[NDArray[Any], ...] = parts
            for file, width, part in zip(files, self._widths, rows, strict=True):
                file.write(header.embedded * width, part.reshape(-1).view(np.uint8))
        return replace(header, embedded=header.embedded + count)

    def commit(self, header: Header) -> Snapshot:
        """Make everything written so far durable, then make it count."""
        for file in self._files():
            file.sync()
        before = self._snapshot.header.segments
        header = replace(header, sequence=self._header.read().sequence + 1, segments=self._sealed(header))
        self._header.write(header)
        with self._mapping:
            self._snapshot = self._take_snapshot()
        for span in set(before) - set(header.segments):
            (self.directory / segment_name(*span)).unlink(missing_ok=True)
        return self._snapshot

    def _sealed(self, header: Header) -> tuple[tuple[int, int], ...]:
        wanted = merged(header.segments, header.rows)
        fresh = [span for span in wanted if span not in header.segments]
        if fresh:
            rows = Rows(self.rows, self._heap, header.rows, header.heap)
            for first, last in fresh:
                seal(self.directory / segment_name(first, last), *self.entries(header, rows, first, last))
            sync_directory(self.directory)
        return wanted

    def clear_up(self) -> None:
        """Remove what a writer that died left behind: bytes past the committed ends, and files nobody lists."""
        header = self.snapshot().header
        row_file.forget_beyond(self.rows, header.rows)
        self._heap.forget_beyond(header.heap)
        self._entries.forget_beyond(header.entries * ENTRY.itemsize)
        for files in self._facets:
            for file, width in zip(files, self._widths, strict=True):
                file.forget_beyond(header.embedded * width)
        listed = {segment_name(*span) for span in header.segments}
        for path in self.directory.glob("words-*"):
            if path.name not in listed:
                path.unlink(missing_ok=True)

    def bytes_on_disk(self) -> int:
        stats = [path.stat() for path in self.directory.iterdir()]
        return sum(getattr(stat, "st_blocks", stat.st_size // 512) * 512 for stat in stats)

    def close(self) -> None:
        self._header.close()
        for file in self._files():
            file.close()

    def _files(self) -> list[GrowingFile]:
        return [self.rows, self._heap, self._entries, *(file for files in self._facets for file in files)]


def _facet_files(number: int) -> tuple[str, str, str]:
    return f"bits-{number}", f"second-bits-{number}", f"vectors-{number}"


def _with_checksum(body: bytes) -> bytes:
    return b"%08x\n%s" % (zlib.crc32(body), body)


def _checked(path: Path) -> bytes:
    checksum, _, body = path.read_bytes().partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(body):
        raise BankDamaged(f"The index file {path} is damaged; build the index again.")
    return body
