"""A real server in a process of its own, for storms that come over the network, and clients for it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection of one caller, opened again when the server has closed it."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self._port = port
        self._token = token
        self._connection: http.client.HTTPConnection | None = None

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self._token is not None:
            sent.setdefault("authorization", f"Bearer {self._token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent.setdefault("content-type", "application/json")
        fresh = self._connection is None
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_S)
        try:
            self._connection.request(method, path, body, sent)
            reply = self._connection.getresponse()
            named = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, named, reply.read())
        except (http.client.RemoteDisconnected, ConnectionError):
            self.close()
            # A connection that was idle may have been closed for others: that is no answer, and asked again.
            if fresh or (method != "GET" and "idempotency-key" not in sent):
                raise
            return self(method, path, body, **headers)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass(slots=True)
class Served:
    bank: Path
    port: int
    process: subprocess.Popen[str]
    log: Path

    def client(self, token: str | None = None) -> Client:
        return Client(self.port, token)

    def token(self, tenant: str, scope: str = "write", *more: str) -> str:
        made = self.command("token", "create", "--tenant", tenant, "--scope", scope, *more)
        return str(json.loads(made)["token"])

    def command(self, *words: str) -> str:
        return _run(self.bank, words)

    def connection(self, data: bytes = b"", *, reads_little: bool = False) -> socket.socket:
        sock = socket.socket()
        if reads_little:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(PATIENCE_S)
        sock.connect(("127.0.0.1", self.port))
        sock.sendall(data)
        return sock

    # ------------------------------------------------------------ what it takes up

    @property
    def rss_bytes(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    @property
    def own_bytes(self) -> int:
        """Its memory without what is mapped from files, which the system takes back when it needs it."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.partition("RssAnon:")[2].split()[0])

    @property
    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    @property
    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    @property
    def log_bytes(self) -> int:
        """Of the bank's write-ahead log."""
        return _size(self.bank.with_name(self.bank.name + "-wal"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "REASONINGBANK_EMBEDDER": "hash",
    }


def server_command(bank: str, *options: str) -> list[str]:
    return _command(bank, ["serve", *options])


def _command(bank: Path | str, words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "reasoningbank", "--json", "--bank", str(bank), *words]


def _run(bank: Path, words: Sequence[str]) -> str:
    done = subprocess.run(_command(bank, words), env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Served]:
    """`reasoningbank serve` on a bank in this folder. Its log is a file beside it."""
    bank, log = folder / "bank.db", folder / "server.log"
    with log.open("a") as told:
        process = subprocess.Popen(
            _command(bank, ["serve", "--port", "0", *options]),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
        )
    assert process.stdout is not None
    try:
        lines: list[str] = []
        while "}\n" not in lines:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server did not start: {log.read_text()[-1_000:]}")
            lines.append(line)
        address = json.loads("".join(lines))["address"]
        yield Served(bank, int(address.rpartition(":")[2]), process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        process.kill()
        process.wait()
        process.stdout.close()


def within(seconds: float, condition: Any) -> bool:
    """Whether it came true in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= until:
            return False
        time.sleep(0.02)
    return True
