"""Content of an index over any files: rows, entries and vectors by slot, read as of one header and appended to.

Here are the files' names, and how a snapshot is put together. What makes an append count, and what makes it last, is
elsewhere (`index.generation`, `index.continuation`).
"""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.index import rows as row_file
from reasoningbank.index.checks import vector_checks, word_checks
from reasoningbank.index.codes import VectorForms
from reasoningbank.index.files import File
from reasoningbank.index.header import Header
from reasoningbank.index.masks import Masks
from reasoningbank.index.rotation import Rotation
from reasoningbank.index.rows import Rows
from reasoningbank.index.segments import Segment, Tail, segment_name
from reasoningbank.index.vectors import KeptVectors
from reasoningbank.lexical.entries import ENTRY, Entries

ROWS, HEAP, ENTRIES = "rows", "long-ids", "entries"
VECTOR_FILES = ("bits-0", "second-bits-0", "vectors-0")
FILES = (ROWS, HEAP, ENTRIES, *VECTOR_FILES)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexShape:
    """Properties that every generation of an index shares."""

    identity: EmbedderIdentity
    facet: str
    """The part of a row that its vector is made from."""

    @property
    def about(self) -> bytes:
        identity = self.identity
        model = [identity.name, identity.model, identity.dimension, identity.revision]
        return json.dumps({"embedder": model, "facets": [self.facet]}, sort_keys=True).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """An index as of one commit, except that standings and kills made since then show through."""

    header: Header
    rows: Rows
    vectors: KeptVectors
    """The vectors of as many rows as have any."""
    entries: NDArray[Any]
    segments: tuple[Segment, ...]
    tail: Tail
    rotation: Rotation
    masks: Masks
    """Cache of filters' results, valid for this commit."""


class Content(ABC):
    def __init__(self, directory: Path, shape: IndexShape, rotation: Rotation, files: Mapping[str, File]) -> None:
        self.directory, self.shape, self.rotation = directory, shape, rotation
        self.number = int(directory.name.removeprefix("gen-"))
        self.files = files
        self._rows, self._heap, self._entries = files[ROWS], files[HEAP], files[ENTRIES]
        self._vectors = [files[name] for name in VECTOR_FILES]
        self._segments: dict[tuple[int, int], Segment] = {}
        self._tail = Tail(0)

    # ------------------------------------------------------------ reading

    @abstractmethod
    def snapshot(self) -> Snapshot: ...

    def _snapshot_at(self, header: Header) -> Snapshot:
        rows = self._rows_at(header)
        self._segments = {
            span: self._segments.get(span) or self._open_segment(*span, check)
            for *span_, check in header.segments
            if (span := (span_[0], span_[1]))
        }
        self._tail = self._read_tail(header, rows)
        signs, finer, full = (
            file.view(header.embedded * width)[: header.embedded * width].reshape(header.embedded, width)
            for file, width in zip(self._vectors, self._widths, strict=True)
        )
        return Snapshot(
            header=header,
            rows=rows,
            vectors=KeptVectors(signs, finer, full.view("<f2")),
            entries=self.all_entries(header),
            segments=tuple(self._segments.values()),
            tail=self._tail,
            rotation=self.rotation,
            masks=Masks(),
        )

    def _rows_at(self, header: Header) -> Rows:
        return Rows(self._rows, self._heap, header.rows, header.heap)

    def _open_segment(self, first: int, last: int, check: int) -> Segment:
        return Segment(self.directory / segment_name(first, last), first, last, check)

    @property
    def _widths(self) -> tuple[int, int, int]:
        """Bytes of a row in each of the vectors' files."""
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
        """Entries of consecutive slots, the number that each has, and their lengths."""
        bounds = self.entry_bounds(header, rows, first, last)
        return self.all_entries(header)[bounds[0] : bounds[-1]], np.diff(bounds), rows.span("length", first, last)

    def entry_bounds(self, header: Header, rows: Rows, first: int, last: int) -> NDArray[np.int64]:
        """Bounds of the entries of consecutive slots: where each begins, and where the last ends."""
        starts = rows.span("entry", first, last).astype(np.int64)
        end = int(rows.span("entry", last, last + 1)[0]) if last < header.rows else header.entries
        return np.append(starts, end)

    def all_entries(self, header: Header) -> NDArray[Any]:
        return self._entries.view(header.entries * ENTRY.itemsize)[: header.entries * ENTRY.itemsize].view(ENTRY)

    # ------------------------------------------------------------ appending

    def append(self, header: Header, columns: Mapping[str, NDArray[Any]], entries: Entries, heap: bytes) -> Header:
        """Write rows behind the last one, and return the header that would make them count."""
        starts = header.entries + np.cumsum(entries.counts) - entries.counts
        all_columns = {
            **columns,
            "entry": starts,
            "length": entries.lengths,
            "words": word_checks(entries.packed, entries.counts),
        }
        if heap:
            self._heap.write(header.heap, heap)
        row_file.append(self._rows, header.rows, all_columns, (header.heap, heap))
        self._entries.write(header.entries * ENTRY.itemsize, entries.packed.view(np.uint8))
        return replace(
            header,
            rows=header.rows + len(entries.counts),
            entries=header.entries + len(entries.packed),
            length=header.length + int(entries.lengths.sum(dtype=np.int64)),
            heap=header.heap + len(heap),
        )

    def append_vectors(self, header: Header, forms: VectorForms, count: int) -> Header:
        parts: tuple[NDArray[Any], ...] = forms
        for file, width, part in zip(self._vectors, self._widths, parts, strict=True):
            file.write(header.embedded * width, part.reshape(-1).view(np.uint8))
        checks = vector_checks(forms, count)
        row_file.write_column(self._rows, header.embedded, "vectors", checks)
        return replace(header, embedded=header.embedded + count)

    @abstractmethod
    def commit(self, header: Header) -> Snapshot:
        """Make what was appended count."""

    def bytes_on_disk(self) -> int:
        return 0

    def close(self) -> None:
        for file in self.files.values():
            file.close()


def with_checksum(body: bytes) -> bytes:
    return b"%08x\n%s" % (zlib.crc32(body), body)
