"""A Milvus for the tests: milvus-lite behind a real socket, in a process of its own that can be killed and stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_STARTS_WITHIN_S = 600.0


class LiteServer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"milvus://127.0.0.1:{self.port}"

    def start(self) -> None:
        place = ["--data-dir", str(self._folder), "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "milvus_lite", "server", *place],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while time.monotonic() < deadline and self._process.poll() is None:
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("milvus-lite does not start")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @contextmanager
    def hung(self) -> Iterator[None]:
        """While in its block it keeps its connections and answers nothing."""
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiteServer]:
    for library in ("pymilvus", "milvus_lite"):
        pytest.importorskip(library)
    from reasoningbank_milvus import connection

    server = LiteServer(tmp_path_factory.mktemp("milvus"))
    with pytest.MonkeyPatch.context() as patch:
        # A busy machine is no server that is away.
        for limit in ("CONNECT_WITHIN_S", "ANSWER_WITHIN_S"):
            patch.setattr(connection, limit, _STARTS_WITHIN_S)
        yield server
    server.kill()
