"""Record what a run asks of the disk: data, sizes, names, and every sync, in one order for all threads and processes.

SQLite's files are seen through a virtual file system of APSW that hands everything on. All else is seen by looking:
before each sync and each rename, and at each acknowledgement, the folder is compared with what was known of it, so that
stores into a mapped file count like any other. What happened between two looks has no order among itself, and needs
none: nothing of it is synced, so it may reach the disk in any order.

SQLite's own syncs of folders are not visible through a virtual file system. They follow from its source: the first sync
of a journal or log that was opened to be created syncs its folder too, and a deletion does when it is asked to.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import pickle
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from typing import Any

import apsw
import numpy as np

from reasoningbank.index import mapping

SECTOR = 512
_FRAME = struct.Struct("<I")
BANK_MARK = ".db"
"""In the names of SQLite's files, whoever opened them, and of no other file."""
_TICK_NS = 50_000_000
"""File times are only so fine: a file that changed so lately is looked into again."""
_JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL

Event = tuple[Any, ...]
"""("name", folder, name, file or 0, is a folder), ("move", folder, from, to, file), ("data", file, at, bytes),
("size", file, bytes), ("sync", file or folder, what was recorded before it began), ("said", words…)."""


class Recorder:
    """Of everything under `root`, into `log`. A process that is forked from a recording one goes on recording."""

    def __init__(self, root: Path, log: Path) -> None:
        self._root = str(root)
        self._log = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._threads = threading.RLock()
        self._depth = 0
        self._folders: dict[int, tuple[str, dict[str, int]]] = {}
        self._known: dict[int, np.ndarray[Any, Any]] = {}
        """What each file outside SQLite held when it was last looked into."""
        self._paths: dict[int, str] = {}
        self._seen_ns: dict[int, int] = {}
        self._mapped: set[int] = set()
        self.of_sqlite: set[int] = set()

    # ------------------------------------------------------------ the log

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One thread of one process at a time."""
        with self._threads:
            if not self._depth:
                fcntl.lockf(self._log, fcntl.LOCK_EX)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    fcntl.lockf(self._log, fcntl.LOCK_UN)

    def note(self, *event: Any) -> None:
        body = pickle.dumps(event, protocol=5)
        with self.turn():
            os.write(self._log, _FRAME.pack(len(body)) + body)

    @property
    def position(self) -> int:
        return os.fstat(self._log).st_size

    def say(self, *words: Any) -> None:
        """Write an acknowledgement into the sequence."""
        with self.turn():
            self.look()
            self.note("said", *words)

    # ------------------------------------------------------------ looking

    def is_inside(self, path: str) -> bool:
        return path.startswith(self._root + "/")

    def look(self) -> None:
        """Note what changed in the folder since the last look."""
        with self.turn():
            left = set(self._folders)
            self._look_into(self._root, _number_of(self._root), left)
            for gone in left:
                del self._folders[gone]

    def _look_into(self, path: str, folder: int, left: set[int]) -> None:
        left.discard(folder)
        known = self._folders.setdefault(folder, (path, {}))[1]
        there: dict[str, int] = {}
        inside: list[tuple[str, int]] = []
        try:
            entries = list(os.scandir(path))
        except FileNotFoundError:
            return
        for entry in entries:
            if entry.name.endswith("-shm"):
                continue
            there[entry.name] = number = entry.inode()
            holds_others = entry.is_dir(follow_symlinks=False)
            if known.get(entry.name) != number:
                known[entry.name] = number
                self.note("name", folder, entry.name, number, holds_others)
            if holds_others:
                inside.append((entry.path, number))
            elif BANK_MARK not in entry.name:
                self._paths[number] = entry.path
                self._look_at(entry.path, number, at_all_costs=False)
        for name in [name for name in known if name not in there]:
            self._forget(known.pop(name))
            self.note("name", folder, name, 0, False)
        for path_inside, number in inside:
            self._look_into(path_inside, number, left)

    def _forget(self, number: int) -> None:
        for kept in (self._known, self._paths, self._seen_ns):
            kept.pop(number, None)
        self._mapped.discard(number)
        self.of_sqlite.discard(number)

    def _look_at(self, path: str, number: int, *, at_all_costs: bool) -> None:
        before = self._known.get(number)
        try:
            stat = Path(path).stat()
            old_size = 0 if before is None else len(before)
            is_old = stat.st_mtime_ns < self._seen_ns.get(number, 0) - _TICK_NS
            if is_old and stat.st_size == old_size and number not in self._mapped and not at_all_costs:
                return
            self._seen_ns[number] = time.time_ns()
            now = np.fromfile(path, np.uint8)
        except FileNotFoundError:
            return
        self._known[number] = now
        if len(now) != old_size:
            self.note("size", number, len(now))
        if before is None:
            before = np.empty(0, np.uint8)
        for first, last in changed_sectors(before, now):
            self.note("data", number, first, now[first:last].tobytes())

    def learn_of_map(self, number: int) -> None:
        self._mapped.add(number)

    # ------------------------------------------------------------ syncing and renaming

    def sync(self, number: int, really: Callable[[], Any]) -> Any:
        with self.turn():
            path = self._paths.get(number)
            if path is None and number not in self.of_sqlite:
                self.look()
                path = self._paths.get(number)
            if path is not None:
                self._look_at(path, number, at_all_costs=True)
            began = self.position
        done = really()
        self.note("sync", number, began)
        return done

    def sync_folder(self, number: int, really: Callable[[], Any]) -> Any:
        with self.turn():
            self.look()
            began = self.position
        done = really()
        self.note("sync", number, began)
        return done

    def rename(self, source: Path, target: Path, really: Callable[[], Any]) -> Any:
        with self.turn():
            self.look()
            number, folder = _number_of(source), _number_of(source.parent)
            if number in self._paths:
                self._look_at(str(source), number, at_all_costs=True)
            done = really()
            self.note("move", folder, source.name, target.name, number)
            known = self._folders[folder][1]
            known.pop(source.name, None)
            known[target.name] = number
            if number in self._paths:
                self._paths[number] = str(target)
            return done

    # ------------------------------------------------------------ standing in the way

    def start(self) -> None:
        """From here on everything that this process does is recorded. There is no way back: fork first."""
        self.look()
        self._system = _FileSystem(self)
        for name in ("fsync", "fdatasync"):
            if hasattr(os, name):
                setattr(os, name, self._syncing(getattr(os, name)))
        for name in ("rename", "replace"):
            setattr(os, name, self._renaming(getattr(os, name)))
        recorder, plain = self, mapping.map_file

        def map_file(descriptor: int, size: int, access: int = mmap.ACCESS_READ) -> mapping.Bytes:
            if access == mmap.ACCESS_WRITE:
                recorder.learn_of_map(os.fstat(descriptor).st_ino)
            return plain(descriptor, size, access)

        mapping.map_file = map_file

    def _syncing(self, plain: Callable[[int], None]) -> Callable[[int], None]:
        def sync(file: Any) -> None:
            descriptor = file if isinstance(file, int) else file.fileno()
            stat = os.fstat(descriptor)
            if S_ISDIR(stat.st_mode):
                self.sync_folder(stat.st_ino, lambda: plain(descriptor))
            else:
                self.sync(stat.st_ino, lambda: plain(descriptor))

        return sync

    def _renaming(self, plain: Callable[..., None]) -> Callable[..., None]:
        def rename(source: Any, target: Any, **options: Any) -> None:
            here, there = Path(source).absolute(), Path(target).absolute()
            if self.is_inside(str(here)) and self.is_inside(str(there)):
                self.rename(here, there, lambda: plain(source, target, **options))
            else:
                plain(source, target, **options)

        return rename


def _number_of(path: str | Path) -> int:
    return Path(path).stat().st_ino


class _File(apsw.VFSFile):
    def __init__(self, recorder: Recorder, name: Any, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        asked = flags[0]
        was_there = path is not None and Path(path).exists()
        super().__init__("unix", name, flags)
        self._recorder = recorder
        self._is_recorded = path is not None and recorder.is_inside(path)
        if not self._is_recorded:
            return
        self._number = _number_of(path)
        self._folder = _number_of(Path(path).parent)
        self._syncs_folder = bool(asked & _JOURNALS and asked & apsw.SQLITE_OPEN_CREATE)
        recorder.of_sqlite.add(self._number)
        if not was_there:
            recorder.look()
            # A file that another process was faster to look at is noted twice, which changes nothing.
            recorder.note("name", self._folder, Path(path).name, self._number, False)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - as APSW calls it
        if self._is_recorded:
            self._recorder.note("data", self._number, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - as APSW calls it
        if self._is_recorded:
            self._recorder.note("size", self._number, newsize)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - as APSW calls it
        if not self._is_recorded:
            super().xSync(flags)
            return
        began = self._recorder.position
        super().xSync(flags)
        self._recorder.note("sync", self._number, began)
        if self._syncs_folder:
            self._syncs_folder = False
            self._recorder.note("sync", self._folder, began)


class _FileSystem(apsw.VFS):
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        super().__init__("recorded", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> _File:  # noqa: N802 - as APSW calls it
        return _File(self._recorder, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - as APSW calls it
        recorder = self._recorder
        inside = recorder.is_inside(filename)
        with recorder.turn():
            super().xDelete(filename, syncdir)
            if inside:
                recorder.look()
        if inside and syncdir:
            recorder.note("sync", _number_of(Path(filename).parent), recorder.position)


def changed_sectors(before: np.ndarray[Any, Any], now: np.ndarray[Any, Any]) -> Iterator[tuple[int, int]]:
    """(first, last) byte of each run of sectors in which two files differ, as far as the second one goes."""
    whole = -(-len(now) // SECTOR)
    padded = np.zeros((2, whole * SECTOR), np.uint8)
    padded[0, : min(len(before), len(now))] = before[: len(now)]
    padded[1, : len(now)] = now
    words = padded.view(np.uint64).reshape(2, whole, SECTOR // 8)
    differ = np.flatnonzero((words[0] != words[1]).any(axis=1))
    if not len(differ):
        return
    breaks = np.flatnonzero(np.diff(differ) > 1)
    starts = np.concatenate(([differ[0]], differ[breaks + 1]))
    stops = np.concatenate((differ[breaks], [differ[-1]])) + 1
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        yield start * SECTOR, min(stop * SECTOR, len(now))


def events_in(log: Path) -> Iterator[tuple[int, Event]]:
    """Each event with the position at which it stands."""
    with log.open("rb") as file:
        at = 0
        while head := file.read(_FRAME.size):
            (size,) = _FRAME.unpack(head)
            with suppress(EOFError):
                yield at, pickle.loads(file.read(size))
            at += _FRAME.size + size
