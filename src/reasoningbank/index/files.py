"""Append-only files that are read through memory maps.

They grow, are mapped and made durable here. Independent of what the bytes mean. Data is added with plain writes,
because a store into a map of a full disk kills the process instead of raising; a map is only written to where data
already is.

A file is open only while something is done to it, and from a write until that is durable.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from reasoningbank.core.errors import BankDamaged
from reasoningbank.files import open_owned, sync
from reasoningbank.index import mapping
from reasoningbank.index.durable import full_disk_is_an_error
from reasoningbank.index.mapping import Bytes

_LEAST_GROWTH_BYTES = 1 << 20
_LEAST_ROOM_BYTES = 16 << 20


class GrowingFile:
    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self._writable = writable
        self._written: FileIO | None = None
        """The file that is open since a write that is not durable yet; not for reading, since the thread that writes
        may close it.
        """
        self._dirty = False
        self._view: Bytes = np.empty(0, np.uint8)
        with self._open():
            """It is there, and may be used as asked."""

    def _open(self) -> FileIO:
        return open_owned(self.path, os.O_RDWR if self._writable else os.O_RDONLY)

    def view(self, size: int) -> Bytes:
        """The file as bytes, at least `size` of them. Views given earlier stay valid and see the same file."""
        # Kept in hand: another thread may put its own, shorter one in the same place at any moment.
        view = self._view
        if len(view) < size:
            with self._open() as file:
                on_disk = os.fstat(file.fileno()).st_size
                if on_disk < size:
                    raise BankDamaged(f"The index file {self.path} is cut short; build the index again.")
                access = mmap.ACCESS_WRITE if self._writable else mmap.ACCESS_READ
                self._view = view = mapping.map_file(file.fileno(), on_disk, access)
        return view

    def write(self, at: int, data: Any) -> None:
        raw = memoryview(data).cast("B")
        with full_disk_is_an_error(self.path):
            descriptor = self._reserved(at + len(raw))
            while len(raw):
                if hasattr(os, "pwrite"):
                    count = os.pwrite(descriptor, raw, at)
                else:
                    os.lseek(descriptor, at, os.SEEK_SET)
                    count = os.write(descriptor, raw)
                raw, at = raw[count:], at + count
        self._dirty = True

    def reserve(self, size: int) -> None:
        descriptor = self._reserved(size)
        if hasattr(os, "posix_fallocate") and _is_nearly_full(descriptor):
            # No holes among what is scanned: where they cannot be filled, that is said now.
            with full_disk_is_an_error(self.path):
                os.posix_fallocate(descriptor, 0, size)

    def _reserved(self, size: int) -> int:
        if self._written is None:
            self._written = self._open()
        descriptor = self._written.fileno()
        if os.fstat(descriptor).st_size < size:
            # Sparse: the room is promised to the map, blocks are taken as data arrives.
            os.ftruncate(descriptor, _with_room(size))
        return descriptor

    def touched(self) -> None:
        """Note that something was written through a view."""
        self._dirty = True

    def sync(self) -> None:
        # Forgotten first: a child that is forked in between must not close what has the number by then.
        handle, self._written = self._written, None
        if self._dirty:
            with full_disk_is_an_error(self.path), handle or self._open() as file:
                sync(file.fileno())
            self._dirty = False
        elif handle is not None:
            handle.close()

    def forget_beyond(self, size: int) -> None:
        """Really remove what a dead writer left behind the committed end.

        Overwritten, not cut off: a process that looks past the end of a file through its map is killed, and others may
        have this one mapped.
        """
        with self._open() as file:
            for at, end in _extents(file.fileno(), size):
                for start in range(at, end, _LEAST_GROWTH_BYTES):
                    self.write(start, bytes(min(_LEAST_GROWTH_BYTES, end - start)))

    def continued(self) -> PrivateFile:
        """The file as it is, to be continued in this process's memory alone."""
        with self._open() as file:
            descriptor = file.fileno()
            on_disk = os.fstat(descriptor).st_size
            if not on_disk:
                return PrivateFile(self.path, np.empty(0, np.uint8))
            if _is_nearly_full(descriptor):
                return PrivateFile(self.path, _copy(descriptor, on_disk))
            return PrivateFile(self.path, mapping.map_file(descriptor, on_disk, mmap.ACCESS_COPY))

    def close(self) -> None:
        self._view = np.empty(0, np.uint8)
        handle, self._written = self._written, None
        if handle is not None:
            handle.close()


class PrivateFile:
    """A file and what this process alone has written to it since: pages that are written to are copied, the others are
    shared with whoever has the file open.
    """

    def __init__(self, path: Path, view: Bytes) -> None:
        self.path = path
        self._view = view

    def view(self, size: int) -> Bytes:
        if len(self._view) < size:
            raise BankDamaged(f"The index file {self.path} is cut short; build the index again.")
        return self._view

    def write(self, at: int, data: Any) -> None:
        raw = np.frombuffer(data, np.uint8)
        self.reserve(at + len(raw))
        self._view[at : at + len(raw)] = raw

    def reserve(self, size: int) -> None:
        if len(self._view) < size:
            view = np.zeros(_with_room(size), np.uint8)
            view[: len(self._view)] = self._view
            self._view = view

    def touched(self) -> None:
        """Nobody is told."""

    def sync(self) -> None:
        """Nothing of it is kept."""

    def close(self) -> None:
        self._view = np.empty(0, np.uint8)


File = GrowingFile | PrivateFile


def _is_nearly_full(descriptor: int) -> bool:
    """True if a disk that is kept in memory may have no page left for a hole that is looked at through a map: the
    system ends a process that does.
    """
    if not hasattr(os, "fstatvfs"):
        return False
    room = os.fstatvfs(descriptor)
    return room.f_bavail * room.f_frsize < _LEAST_ROOM_BYTES


def _copy(descriptor: int, size: int) -> Bytes:
    copy = np.zeros(size, np.uint8)
    for at, end in _extents(descriptor, 0):
        piece = os.pread(descriptor, end - at, at)
        copy[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
    return copy


def _with_room(size: int) -> int:
    return size + max(_LEAST_GROWTH_BYTES, size // 4) & ~(mmap.PAGESIZE - 1)


def _extents(descriptor: int, start: int) -> Iterator[tuple[int, int]]:
    """Extents of a file that is mostly holes: where there is anything behind `start`."""
    size = os.fstat(descriptor).st_size
    if not hasattr(os, "SEEK_DATA"):
        yield start, size
        return
    while start < size:
        try:
            at = os.lseek(descriptor, start, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        start = os.lseek(descriptor, at, os.SEEK_HOLE)
        yield at, start
