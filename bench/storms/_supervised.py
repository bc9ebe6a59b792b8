"""`reasoningbank serve` under a supervisor: a port, a home and a log of its own; started again when it is gone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

from bench.storms._served import PATIENCE_S, environment, server_command

RESTART_S = 0.5
"""As `RestartSec=` of a unit."""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Supervised:
    """Starts the server at once; a thread starts it again, as systemd or a container's runtime does."""

    def __init__(self, bank: str, folder: Path, name: str, *, home: Path, options: tuple[str, ...] = ()) -> None:
        self.name = name
        self.port = free_port()
        self.log = folder / f"{name}.log"
        self.kills = self.starts = 0
        self.own_ends: list[int] = []
        """Exit codes of those that nobody killed: none, unless the bank could not be reached at the start."""
        self._command = server_command(bank, "--port", str(self.port), *options)
        self._environment = {**environment(), "REASONINGBANK_HOME": str(home)}
        self._over = threading.Event()
        self._expected = False
        self._process = self._start()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def rss_bytes(self) -> int:
        """0 in the moment between two processes."""
        with suppress(OSError):
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return 0

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        with self.log.open("ab") as log:
            return subprocess.Popen(self._command, env=self._environment, stdout=subprocess.DEVNULL, stderr=log)

    def _watch(self) -> None:
        while True:
            code = self._process.wait()
            if self._over.is_set():
                return
            if not self._expected:
                self.own_ends.append(code)
            self._expected = False
            self._over.wait(RESTART_S)
            if self._over.is_set():
                return
            self._process = self._start()

    def kill(self) -> None:
        self.kills += 1
        self._expected = True
        self._process.kill()

    def answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5.0) as sock:
            sock.sendall(b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nconnection: close\r\n\r\n" % self.port)
            return b" 200 " in sock.recv(4096)[:20]
        return False

    def end(self) -> int:
        """Ask it to end, as an upgrade does; its exit code."""
        self._over.set()
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def stop(self) -> None:
        self._over.set()
        self._process.kill()
        self._process.wait()
        self._thread.join(PATIENCE_S)


def wait_for(servers: list[Supervised], within_s: float) -> bool:
    until = time.monotonic() + within_s
    return all(_answers_by(server, until) for server in servers)


def _answers_by(server: Supervised, until: float) -> bool:
    while not server.answers():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True
