"""A second process that brings the index forward while many memories come in.

An import and the index of what it brings are each one processor's work, and of the threads of one process Python lets
one run at a time. The index is a view that any process may bring forward, so a second one does while the first writes:
on two processors an import is searchable nearly as soon as it is stored. The helper knows nothing that is not in the
bank; it ends with the pipe that it is held by, and a killed one costs a view a catch-up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import IO, TYPE_CHECKING

from reasoningbank.config.environment import handed_over

if TYPE_CHECKING:
    from subprocess import Popen

    from reasoningbank.core.confidence import ConfidencePolicy
    from reasoningbank.core.settings import Settings
    from reasoningbank.location import Location
    from reasoningbank.wiring.kept_index import KeptIndex

MANY = 2_000
"""From so many on a helper is worth its start, which takes some 0.4 s of a processor."""
CHEAP_EMBEDDERS = frozenset({"hash"})
"""A model takes longer for each text than the rest of an import together, and uses every processor as it is."""
MODULE = "reasoningbank.wiring.following_process"
"""The program of the second process."""
_END_WITHIN_S = 5.0
Counted = Callable[[int], None]
"""Told how many came in so far."""


def _may_help(location: Location, kept: KeptIndex) -> bool:
    """True if a second process could take work over, and there is a processor for it."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    is_ours = bool(sys.executable) and not getattr(sys, "frozen", False)
    in_files = location.state is not None and not location.is_remote and kept.is_in_files
    return processors > 1 and is_ours and in_files and kept.identity.name in CHEAP_EMBEDDERS


class IndexHelper:
    """Starts the process once it is told of many, and ends it with the `with` block."""

    def __init__(
        self,
        location: Location,
        in_force: Callable[[], KeptIndex],
        policy: ConfidencePolicy,
        settings: Settings,
        told: Counted | None,
    ) -> None:
        """`told` is told whatever this is told."""
        self._location, self._in_force, self._told = location, in_force, told
        self._given = policy, settings
        self._process: Popen[bytes] | None = None
        self._is_decided = False

    def __enter__(self) -> Counted:
        return self._note

    def _note(self, count: int) -> None:
        if count >= MANY and not self._is_decided:
            self._is_decided = True
            if _may_help(self._location, self._in_force()):
                self._start()
        if self._told is not None:
            self._told(count)

    def _start(self) -> None:
        # Imported here: few calls bring many.
        import pickle
        from subprocess import DEVNULL, PIPE, Popen

        named, environment = handed_over(self._location)
        # Not from the folder that somebody happens to stand in, where any file may lie.
        command = [sys.executable, "-P", "-m", MODULE, named]
        # Where no process can be started, the index is brought forward afterwards, as without a helper.
        with suppress(OSError):
            self._process = Popen(command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, env=environment)  # noqa: S603 - our own program
            held = _pipe_of(self._process)
            held.write(pickle.dumps(self._given))
            held.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        from subprocess import TimeoutExpired

        with suppress(OSError):
            _pipe_of(self._process).close()
        try:
            self._process.wait(_END_WITHIN_S)
        except TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _pipe_of(process: Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin
