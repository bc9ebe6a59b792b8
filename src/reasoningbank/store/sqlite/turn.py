"""Write turns among processes, in the order in which they asked.

SQLite lets a process that finds the bank busy try again after ever longer pauses; with many writers one that is unlucky
goes on missing the moment for seconds. Here it stands in a queue that the kernel keeps: two bytes of a file beside the
bank, locked one after the other. Whoever holds the first is next and waits for the second, which is the turn. Locking
takes longer than all else that surrounds a small commit, so the file also says when somebody last had to wait: while
nobody does, nobody queues.

A turn says who may go first, never who may write: SQLite decides that, and its lock holds without this one. So a turn
may be done without, and is: where the file cannot be made, where the system has no such locks, and after a few seconds
behind a process that was stopped. The kernel takes a turn back from whoever dies.

Within one process, its own lock decides who asks (`GroupCommit.turn`): two threads never use a turn at once.
"""

from __future__ import annotations

import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from typing import Any

from reasoningbank.files import open_owned
from reasoningbank.forking import renew_in_child

if sys.platform == "linux":
    import fcntl

    _LOCK_NOW, _LOCK = fcntl.F_OFD_SETLK, fcntl.F_OFD_SETLKW
    # The fields of the system's own structure: kind, counted from the start, first byte, how many, no process.
    _BOTH_OURS = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 2, 0)
    _NEXT_OURS = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
    _TURN_OURS = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 1, 1, 0)
    _NEXT_FREE = struct.pack("hhqqi", fcntl.F_UNLCK, os.SEEK_SET, 0, 1, 0)
    _BOTH_FREE = struct.pack("hhqqi", fcntl.F_UNLCK, os.SEEK_SET, 0, 2, 0)

PATIENCE_S = 5.0
"""Longest wait of a writer in the queue before it goes around it."""
QUEUE_FOR_S = 2.0
"""Time after somebody had to wait during which everybody queues."""
_MOMENT = struct.Struct("<d")


class WriteTurn:
    """The turn at one bank, for one process. `path` is that of the file; without one there is nobody to wait for."""

    def __init__(self, path: str | None) -> None:
        self._path = path if sys.platform == "linux" else None
        self._queue: _Queue | None = None
        self._seen_free: tuple[int, int, int] | None = None
        """The file as it was when it last said that nobody waits; who has to wait writes into it."""
        renew_in_child(self.leave_to_parent)

    def is_free(self) -> bool:
        """True if nobody had to wait lately, so that SQLite may be asked straight away. If it is busy then, say so
        with `note_waiting`.
        """
        file_state = None
        if self._queue is None and self._path is not None:
            with suppress(OSError):
                stat = os.lstat(self._path)
                file_state = stat.st_ino, stat.st_size, stat.st_mtime_ns
            if file_state is not None and file_state == self._seen_free:
                return True
        queue = self._queue or self._open()
        if queue is None or not queue.is_free():
            return False
        if queue.is_idle:
            # Not kept open for a time that may not come.
            self.close()
            self._seen_free = file_state
        return True

    def note_waiting(self) -> None:
        """Let everybody queue for a while."""
        queue = self._queue or self._open()
        if queue is not None:
            queue.note_waiting()

    def take(self, patience_s: float = PATIENCE_S) -> bool:
        """Wait for the turn. False: go without it, SQLite will decide."""
        queue = self._queue or self._open()
        return queue is not None and queue.take(patience_s)

    def give(self) -> None:
        """Let the next one have it; nothing when it was not ours."""
        if self._queue is not None:
            self._queue.give()

    @contextmanager
    def taken(self, patience_s: float = PATIENCE_S) -> Iterator[None]:
        try:
            self.take(patience_s)
            yield
        finally:
            self.give()

    def _open(self) -> _Queue | None:
        if self._path is None:
            return None
        try:
            # Never through a link: in a folder of others it could lead to any file of ours, and it is written to.
            self._queue = _Queue(open_owned(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW))
        except OSError:
            self._path = None
        return self._queue

    def close(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    __del__ = close

    def leave_to_parent(self) -> None:
        """In a process that was just forked: what the parent holds must not stay held here when the parent is gone.
        The next turn is asked for with a file of our own.
        """
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.file.close()


class _Queue:
    """The two bytes, and a thread that waits for them: the kernel knows no lock that is waited for so long and no
    longer.
    """

    def __init__(self, file: FileIO) -> None:
        self.file = file
        self._is_ours = False
        self._is_closed = False
        self._has_locks = True
        self._mutex = threading.Lock()
        """Lock that is held to look at or change the three below."""
        self._usher: threading.Thread | None = None
        self._is_waiting = False
        """True if the usher is in the queue, or called to go there."""
        self._is_wanted = False
        """True if somebody waits for the usher's answer."""
        self._call: Any = None
        """Semaphore that calls the usher, made at the first wait, as is the next one: most queues see none."""
        self._answer: Any = None

    @property
    def is_idle(self) -> bool:
        """True if this process neither has the turn nor waits for it."""
        with self._mutex:
            return not (self._is_ours or self._is_waiting)

    def is_free(self) -> bool:
        try:
            raw = os.pread(self.file.fileno(), _MOMENT.size, 0)
        except (OSError, ValueError):
            self._has_locks = False
            return False
        # By the clock that all processes share since the machine was started; from before that, it may lie ahead.
        return len(raw) < _MOMENT.size or not 0.0 <= time.monotonic() - _MOMENT.unpack(raw)[0] < QUEUE_FOR_S

    def note_waiting(self) -> None:
        # On a full disk, whoever waits is still served by SQLite.
        with suppress(OSError, ValueError):
            os.pwrite(self.file.fileno(), _MOMENT.pack(time.monotonic()), 0)

    def take(self, patience_s: float) -> bool:
        if self._has_locks:
            self._is_ours = (not self._is_waiting and self._taken_at_once()) or self._wait(patience_s)
        return self._is_ours

    def give(self) -> None:
        if self._is_ours:
            self._is_ours = False
            self._lock(_LOCK_NOW, _BOTH_FREE)

    def close(self) -> None:
        with self._mutex:
            self._is_closed = True
            if not self._is_waiting:
                self.file.close()
            # Otherwise the usher closes it when it comes back: the number must not be given to another file meanwhile.
            if self._call is not None:
                self._call.release()

    def _taken_at_once(self) -> bool:
        if not self._lock(_LOCK_NOW, _BOTH_OURS):
            return False
        # Freed at once, so that somebody can be next: this process then cannot push in before them when it comes back.
        self._lock(_LOCK_NOW, _NEXT_FREE)
        return True

    def _lock(self, how: int, what: bytes) -> bool:
        try:
            fcntl.fcntl(self.file.fileno(), how, what)
        except (BlockingIOError, PermissionError):
            return False
        except (OSError, ValueError):
            # A file system that knows no such locks, or closed by another thread.
            self._has_locks = False
            return False
        return True

    def _wait(self, patience_s: float) -> bool:
        self.note_waiting()
        with self._mutex:
            if self._call is None:
                self._answer, self._call = threading.Semaphore(0), threading.Semaphore(0)
            self._is_wanted = True
            # One that still waits for somebody who gave up keeps its place in the queue.
            if not self._is_waiting:
                self._is_waiting = True
                self._call.release()
            if self._usher is None:
                self._usher = threading.Thread(target=self._usher_in, name="reasoningbank-turn", daemon=True)
                self._usher.start()
        came = False
        try:
            came = self._answer.acquire(timeout=max(0.0, patience_s))
        finally:
            if not came:
                with self._mutex:
                    self._is_wanted = False
                    # It may have come at the last moment.
                    self._is_ours = came = self._answer.acquire(blocking=False)
        return came and self._has_locks

    def _usher_in(self) -> None:
        while True:
            self._call.acquire()
            if self._is_waiting:
                for what in (_NEXT_OURS, _TURN_OURS):
                    self._lock(_LOCK, what)
                self._lock(_LOCK_NOW, _NEXT_FREE)
            with self._mutex:
                was_waiting, self._is_waiting = self._is_waiting, False
                if self._is_closed:
                    if was_waiting:
                        self.file.close()
                    return
                if self._is_wanted:
                    self._is_wanted = False
                    self._answer.release()
                else:
                    self._lock(_LOCK_NOW, _BOTH_FREE)
