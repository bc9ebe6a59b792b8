"""Banks on the bus for tests over real sockets: in this process, or as the command runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import reasoningbank
from reasoningbank import ReasoningBank
from reasoningbank_bus import Bus
from reasoningbank_bus.service import running_node

SOURCE = str(Path(reasoningbank.__file__).parents[1])
PATIENCE_S = 300.0
LOOK_S = 0.05


def until(is_so: Callable[[], Any], what: str) -> Any:
    """Wait, within bounds, for something that other threads or processes bring about."""
    end, pause = time.monotonic() + PATIENCE_S, threading.Event()
    while time.monotonic() < end:
        found = is_so()
        if found:
            return found
        pause.wait(LOOK_S)
    raise AssertionError(f"not within {PATIENCE_S:g} s: {what}")


class Laptop:
    """A bank with a key that shares everything it may share."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self._stack = ExitStack()
        settings: dict[str, Any] = {"embedder": "hash", "namespace": "n", "config": "none"} | options
        self.bank = self._stack.enter_context(ReasoningBank.open(path, **settings))
        self.bus = self._stack.enter_context(Bus.open(self.bank))
        self.bus.init()
        self.bus.share(namespaces=["*"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def key(self) -> str:
        return self.bus.identity.key

    @property
    def origin(self) -> str:
        return f"peer:{self.bus.fingerprint}"

    def learn(self, *titles: str, scope: str = "team") -> None:
        self.bank.record_many({"title": title, "content": f"{title} it is", "scope": scope} for title in titles)

    def titles(self) -> set[str]:
        """Of every memory that is active here."""
        return {found.memory.title for found in self.bank.list(limit=1000)}

    def up(self, listen: str | None = None, public: str | None = None) -> Any:
        return running_node(self.bus, listen, public)

    @contextmanager
    def up_elsewhere(self, *listen: str) -> Iterator[subprocess.Popen[str]]:
        """The node in a process of its own; `process.listen` says where it is found."""
        command = [sys.executable, "-m", "reasoningbank", "--bank", str(self.path), "bus", "up", *listen, "--json"]
        environment = {**os.environ, "PYTHONPATH": SOURCE}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
        ) as up:
            try:
                said = ""
                while not said.rstrip().endswith("}"):
                    line = up.stdout.readline() if up.stdout else ""
                    assert line, up.stderr.read() if up.stderr else ""
                    said += line
                up.listen = json.loads(said)["listen"] or ""  # type: ignore[attr-defined]
                yield up
            finally:
                if up.poll() is None:
                    up.send_signal(signal.SIGKILL)
                up.wait(PATIENCE_S)


def befriend(one: Laptop, other: Laptop, **terms: Any) -> None:
    """Each lets the other in, as two people do with `bus grant` and `bus accept`."""
    one.bus.accept(other.bus.grant(one.key, **terms).line)
    other.bus.accept(one.bus.grant(other.key, **terms).line)
