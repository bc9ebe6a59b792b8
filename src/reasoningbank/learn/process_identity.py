"""Identity of the process that works on a job, and whether it is known to be gone.

A name tells machine start, process table, process and its start, so that a process of the same table can be looked up
without waiting; a number that the system has given to another process since is seen by its start. Of a process
elsewhere nothing is known: whoever wants its job has to watch the lease. Refuses to use any clock.
"""

from __future__ import annotations

import os
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_TABLE = Path("/proc/self/ns/pid")


def this_process() -> str:
    """Ends in a mark, so that no name is the beginning of another one."""
    pid = os.getpid()
    return f"{_place()}/{pid}/{_started_at(pid) or '?'}@"


def is_gone(owner: str) -> bool:
    """True only for certain."""
    name = owner.partition("@")[0].split("/")
    if len(name) != 3 or name[0] == "?" or name[0] != _place() or name[2] == "?" or not name[1].isdigit():
        return False
    return _started_at(int(name[1])) != name[2]


def _place() -> str:
    try:
        boot = _BOOT.read_text("ascii").strip().replace("-", "")[:12]
        return f"{boot}.{_TABLE.stat().st_ino}"
    except (OSError, UnicodeDecodeError):
        return "?"


def _started_at(pid: int) -> str | None:
    """When a process started, in ticks of the machine; None when there is none, or it is dead and only not buried."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        # The 22nd field of stat, counted behind the name in brackets, which may hold spaces.
        return None if words[0] in "ZX" else words[19]
    except (OSError, IndexError):
        return None
