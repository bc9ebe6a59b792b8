"""A real server on a real socket, and a plain client for it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.bank.bank import Bank
from reasoningbank_server import tokens
from reasoningbank_server.server import listening_socket, make_server
from reasoningbank_server.start import ServeOptions, service_for
from reasoningbank_server.ui.entrance import Entrance

JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return self.json["code"]


@dataclass
class Api:
    """One client of a server; `token` goes with every request."""

    port: int
    token: str | None = None
    bank: Bank | None = None
    headers: dict[str, str] = field(default_factory=dict)
    entrance: Entrance | None = None
    """Of the page, where it is served."""

    def as_(self, token: str | None) -> Api:
        return Api(self.port, token, self.bank)

    def as_user(self) -> Api:
        """With a token of this machine's user, who speaks for the user."""
        assert self.bank is not None
        return self.as_(new_token(self.bank, "local", "admin", origin="user"))

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        sent = {**self.headers, **({"authorization": f"Bearer {self.token}"} if self.token else {})}
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
            sent |= JSON
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        try:
            connection.request(method, path, data, sent)
            reply = connection.getresponse()
            named = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, named, reply.read())
        finally:
            connection.close()

    def record(self, title: str = "Wrap errors", content: str = "with context", **fields: Any) -> dict[str, Any]:
        answer = self("POST", "/v1/memories", {"title": title, "content": content, **fields})
        assert answer.status == 201, answer.body
        return answer.json

    def search(self, query: str, **fields: Any) -> dict[str, Any]:
        answer = self("POST", "/v1/search", {"query": query, **fields})
        assert answer.status == 200, answer.body
        return answer.json

    def raw(self, data: bytes, *, wait_s: float = 300.0) -> bytes:
        """Everything that comes back for some bytes, until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait_s) as sock:
            sock.sendall(data)
            found = b""
            while piece := sock.recv(65536):
                found += piece
            return found


@contextmanager
def served(bank: Bank, mounted: dict[str, Any] | None = None, **options: Any) -> Iterator[Api]:
    wanted = ServeOptions(host="127.0.0.1", port=0, **options)
    sock = listening_socket("127.0.0.1", 0)
    service = service_for(bank, wanted, sock, mounted or {})
    started = threading.Event()
    mcp = (mounted or {}).get("/mcp")
    lifespan = mcp if hasattr(mcp, "running") else None
    server = make_server(service, wanted.limits, ready=started.set, lifespan=lifespan)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        assert started.wait(300)
        yield Api(sock.getsockname()[1], bank=bank, entrance=service.entrance)
    finally:
        server.should_exit = True
        thread.join(300)
        service.close()
        sock.close()
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One server for the tests of a file that do not get in each other's way."""
    path = tmp_path_factory.mktemp("bank") / "bank.db"
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank, served(bank) as api:
        yield api


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of this process look for work every few milliseconds instead of every second."""
    monkeypatch.setattr("reasoningbank.serve.workers.LOOK_S", 0.02)
    monkeypatch.setattr("reasoningbank.serve.idle_index.LOOK_S", 0.02)


@pytest.fixture
def api(bank: ReasoningBank) -> Iterator[Api]:
    with served(bank) as running:
        yield running


@pytest.fixture
def token_for(bank: ReasoningBank) -> Callable[..., str]:
    return lambda tenant, scope="write", **options: new_token(bank, tenant, scope, **options)


def new_token(bank: Bank, tenant: str, scope: str = "write", **options: Any) -> str:
    options = {"lifetime_s": 3600.0, "now": bank.context.clock(), **options}
    return tokens.create(bank.context.store, tenant=tenant, scope=scope, random_bytes=os.urandom, **options)[0]


class Stream:
    """Reads events from a socket, bounded in time."""

    def __init__(self, api, path="/v1/changes/stream", **headers):
        self.sock = socket.create_connection(("127.0.0.1", api.port), timeout=300)
        sent = {
            "host": f"127.0.0.1:{api.port}",
            **({"authorization": f"Bearer {api.token}"} if api.token else {}),
            **headers,
        }
        lines = [
            f"GET {path} HTTP/1.1",
            *(f"{name.replace('_', '-')}: {value}" for name, value in sent.items()),
            "",
            "",
        ]
        self.sock.sendall("\r\n".join(lines).encode())
        self.file = self.sock.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline() not in (b"\r\n", b""):
            pass
        if self.status == 200:
            # The first words: from here on nothing is missed.
            self.start = self.until(": from ")[7:].strip()

    def line(self) -> str | None:
        """The next line of the stream without the lengths of its pieces; None at its end."""
        line = self.file.readline().decode()
        if not line:
            return None
        text = line.rstrip("\r\n")
        if text == "0":
            return None
        return text if not all(letter in "0123456789abcdef" for letter in text) or not text else ""

    def until(self, beginning: str) -> str:
        while (line := self.line()) is not None:
            if line.startswith(beginning):
                return line
        raise AssertionError(f"the stream ended before {beginning!r}")

    def event(self) -> dict:
        cursor = self.until("id: ")[4:]
        data = json.loads(self.until("data: ")[6:])
        assert data["cursor"] == cursor
        return data

    def ended(self) -> bool:
        while (line := self.line()) is not None:
            assert not line.startswith("data:")
        return True

    def close(self):
        self.file.close()
        self.sock.close()


@pytest.fixture
def stream():
    opened = []

    def make(*args, **kwargs):
        opened.append(Stream(*args, **kwargs))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
