"""Starts a process of ours that belongs to nobody: a session of its own, no terminal, no streams.

The lock that makes it the only one of its kind is taken before it is started and handed to it, so that a hundred hooks
at once start one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from reasoningbank.config.environment import handed_over
from reasoningbank.location import Location


def start_detached(
    module: str, bank: Location, arguments: Sequence[str], lock: int, folder: Path, *, descriptors: Sequence[int] = ()
) -> int:
    """The id of the process, which gets `descriptors` besides the lock, which is closed here.

    The module is told the bank first, with nothing where its environment names it, and last the number of the lock,
    where it can be handed over.
    """
    bank_argument, environment = handed_over(bank)
    command = [sys.executable, "-m", module, bank_argument, *arguments]
    nowhere = subprocess.DEVNULL
    try:
        if sys.platform == "win32":
            os.close(lock)
            flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
            return subprocess.Popen(  # noqa: S603 - our own program
                command, stdin=nowhere, stdout=nowhere, stderr=nowhere, creationflags=flags, env=environment
            ).pid
        return subprocess.Popen(  # noqa: S603 - our own program
            [*command, str(lock)],
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            cwd=folder,
            start_new_session=True,
            env=environment,
            pass_fds=(*descriptors, lock),
        ).pid
    finally:
        if sys.platform != "win32":
            os.close(lock)
