"""Do something in a process of its own, so that the one that asks stays clean and outlives it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any


class Died(Exception):
    """The process ended without an answer, or met an error that the message tells."""


def apart(deed: Callable[..., Any], *arguments: Any) -> Any:
    """What `deed` answers, as JSON has it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            answer = {"answer": deed(*arguments)}
        except BaseException as error:  # noqa: BLE001 - a child of fork must end here, and what it met is the finding
            answer = {"met": f"{type(error).__name__}: {error}"}
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not said:
        raise Died(f"{deed.__name__} died with status {status}")
    told = json.loads(said)
    if "met" in told:
        raise Died(f"{deed.__name__} met {told['met']}")
    return told["answer"]
