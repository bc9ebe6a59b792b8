"""Whether a node is up for a bank, and what it last said of itself: a lock, and a file that is written each second.

Needs no library of the bus, so `status` and `doctor` can ask without it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import Conflict
from reasoningbank.files import hold, whole_file

KEY_FILE = "key"
_LOCK = "up.lock"
_SAID = "status.json"


def is_on_the_bus(folder: Path | None) -> bool:
    """Whether the bank with this folder has a key."""
    return folder is not None and (folder / KEY_FILE).exists()


def is_up(folder: Path) -> bool:
    """Whether some process runs a node for it now."""
    if not (folder / _LOCK).exists():
        return False
    held = hold(folder / _LOCK)
    if held is None:
        return True
    os.close(held)
    return False


@contextmanager
def being_up(folder: Path) -> Iterator[None]:
    """Be the one process that runs the node of a bank."""
    held = hold(folder / _LOCK, wait_s=1.0)
    if held is None:
        said = last_said(folder)
        who = f" (process {said['process']}{_at(said)})" if said else ""
        raise Conflict(f"The bus of this bank is up already{who}: a bank has one node at a time.")
    try:
        yield
    finally:
        os.close(held)


def _at(said: Mapping[str, Any]) -> str:
    return f", listening at {said['listen']}" if said.get("listen") else ""


def say(folder: Path, said: Mapping[str, Any]) -> None:
    """Leave word for other processes. What is lost with the machine, or on a full disk, is said again a second later:
    a node does not go down for want of it.
    """
    with suppress(OSError), whole_file(folder / _SAID, durable=False) as file:
        file.write(json.dumps(said).encode())


def last_said(folder: Path) -> dict[str, Any]:
    """What the node last said, whether or not it is still up; nothing if it never was."""
    with suppress(OSError, ValueError):
        said = json.loads((folder / _SAID).read_bytes())
        if isinstance(said, dict):
            return said
    return {}
