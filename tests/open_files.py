"""Which files this process has open, where the system says so."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

if sys.platform == "darwin":
    import fcntl

PATIENCE_S = 60.0
DESCRIPTORS = next(filter(os.path.isdir, ("/proc/self/fd", "/dev/fd")), None)


def open_files() -> list[str]:
    """Their names; one that is open twice is named twice."""
    names: list[str] = []
    # Twice around every test: `pathlib` takes three times as long.
    for descriptor in os.listdir(DESCRIPTORS) if DESCRIPTORS else ():  # noqa: PTH208
        # The one that lists them is closed by now.
        with suppress(OSError, ValueError):
            names.append(_name_of(descriptor))
    return sorted(names)


def open_below(folder: Path) -> list[str]:
    below = f"{os.path.realpath(folder)}{os.sep}"
    return [name for name in open_files() if name.startswith(below)]


@contextmanager
def all_closed(folder: Path, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Fail if what is opened in the block below a folder is open after it. What was open before is somebody else's, and
    so is what lies beside that under its name, as the log of a bank does.
    """
    before = tuple(open_below(folder))

    def opened() -> list[str]:
        # Qdrant's client closes the files of its local mode when it likes to.
        ours = (name for name in open_below(folder) if "/qdrant/collection/" not in name)
        return [name for name in ours if not name.startswith(before)]

    yield
    # A thread of a server that tests share may be indexing, and one that queued closes what it waited for.
    deadline = time.monotonic() + patience_s
    while (left := opened()) and time.monotonic() < deadline:
        time.sleep(0.01)
    if left:
        pytest.fail("\n".join(["Left open:", *left]))


def _name_of(descriptor: str) -> str:
    if sys.platform == "darwin":
        return fcntl.fcntl(int(descriptor), fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode()
    return os.readlink(f"{DESCRIPTORS}/{descriptor}")  # noqa: PTH115
