"""Lock and report of a bank's node: whether one is up, and the file in which it says each second how it is.

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
    """True if the bank with this folder has a key."""
    return folder is not None and (folder / KEY_FILE).exists()


def is_up(folder: Path) -> bool:
    """True if some process runs a node for it now."""
    if not (folder / _LOCK).exists():
        return False
    lock = hold(folder / _LOCK)
    if lock is None:
        return True
    os.close(lock)
    return False


@contextmanager
def being_up(folder: Path) -> Iterator[None]:
    """Be the one process that runs the node of a bank."""
    lock = hold(folder / _LOCK, wait_s=1.0)
    if lock is None:
        report = last_said(folder)
        who = f" (process {report['process']}{_at(report)})" if report else ""
        raise Conflict(f"The bus of this bank is up already{who}: a bank has one node at a time.")
    try:
        yield
    finally:
        os.close(lock)


def _at(report: Mapping[str, Any]) -> str:
    return f", listening at {report['listen']}" if report.get("listen") else ""


def say(folder: Path, report: Mapping[str, Any]) -> None:
    """Leave word for other processes. What is lost with the machine, or on a full disk, is said again a second later:
    a node does not go down for want of it.
    """
    with suppress(OSError), whole_file(folder / _SAID, durable=False) as file:
        file.write(json.dumps(report).encode())


def last_said(folder: Path) -> dict[str, Any]:
    """The node's last report, whether or not it is still up; empty if it never was."""
    with suppress(OSError, ValueError):
        report = json.loads((folder / _SAID).read_bytes())
        if isinstance(report, dict):
            return report
    return {}
