"""Clients of the real server: one that speaks raw lines over stdio, one that speaks raw HTTP to a socket."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import socket
import subprocess
import threading
from pathlib import Path

import pytest

import reasoningbank
from reasoningbank import ReasoningBank
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from tests import forked

SOURCE = Path(reasoningbank.__file__).parents[1]
WAIT_S = 300.0
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


class StdioClient:
    """A process of the server, and nothing between it and the test but lines. Every wait is bounded."""

    def __init__(self, *words: str, python: tuple[str, ...] = ("-m", "reasoningbank"), **environment: str) -> None:
        self.process = forked.python(*python, *words, **{"REASONINGBANK_EMBEDDER": "hash", **environment})
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._errors: list[bytes] = []
        self._next = 0
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        self._errors.extend(self.process.stderr)

    @property
    def errors(self) -> str:
        return b"".join(self._errors).decode()

    def write(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: object) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def receive(self) -> dict:
        line = self._lines.get(timeout=WAIT_S)
        assert line is not None, f"the server has gone: {self.errors}"
        return json.loads(line)

    def ask(self, method: str, params: dict | None = None) -> dict:
        self._next += 1
        asked = {"jsonrpc": "2.0", "id": self._next, "method": method}
        self.send(asked if params is None else {**asked, "params": params})
        answer = self.receive()
        assert answer.get("id") == self._next, answer
        return answer

    def call(self, tool: str, **arguments: object) -> dict:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def hello(self) -> StdioClient:
        assert self.ask("initialize", HELLO)["result"]["protocolVersion"] == HELLO["protocolVersion"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def ended(self) -> int:
        code = self.process.wait(WAIT_S)
        for reader in self._readers:
            reader.join(WAIT_S)
        return code

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            for reader in self._readers:
                reader.join(WAIT_S)
            self.process.stdout.close()
            self.process.stderr.close()


@pytest.fixture
def stdio(path):
    """`stdio()` starts a server on the bank of this test."""
    started = []

    def start(*words: str, **options) -> StdioClient:
        client = StdioClient(*(words or ("--bank", str(path), "--namespace", "n", "serve", "--mcp")), **options)
        started.append(client)
        return client

    yield start
    for client in started:
        if client.process.poll() is None:
            client.process.kill()
        client.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for all tests of a file that leave it as they found it."""
    bank = tmp_path_factory.mktemp("shared") / "bank.db"
    client = StdioClient("--bank", str(bank), "--namespace", "n", "serve", "--mcp").hello()
    yield client
    client.close()


# ---------------------------------------------------------------- HTTP


@dataclass(frozen=True, slots=True, kw_only=True)
class Somebody:
    tenant: str
    name: str
    scopes: frozenset[str]
    origin: str = "agent"


class HttpServer:
    """The MCP application on a socket of its own. `Authorization: Bearer TENANT/NAME/SCOPE` says who asks."""

    def __init__(self, path: Path) -> None:
        import uvicorn

        from reasoningbank.serve.mcp.http import mcp_asgi_app

        self.folder = path.parent
        self._bank = ReasoningBank.open(path, namespace="n", embedder="hash")
        app = mcp_asgi_app(lambda caller: self._bank.for_tenant(caller.tenant, namespace="n"), principal_of)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def send(self, method: str, body: bytes = b"", headers: dict[str, str] | list[tuple[str, str]] | None = None):
        """(status, headers, body as JSON or bytes) of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        pairs = list(headers.items()) if isinstance(headers, dict) else list(headers or [])
        names = {name.lower() for name, _ in pairs}
        try:
            connection.putrequest(method, "/mcp", skip_host=True, skip_accept_encoding=True)
            if "host" not in names:
                connection.putheader("Host", f"127.0.0.1:{self.port}")
            for name, value in pairs:
                connection.putheader(name, value)
            if "content-length" not in names and "transfer-encoding" not in names:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            data = response.read()
            shown = json.loads(data) if "json" in (response.getheader("content-type") or "") and data else data
            return response.status, {name.lower(): value for name, value in response.getheaders()}, shown
        finally:
            connection.close()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(WAIT_S)
        self._socket.close()
        self._bank.close()


def principal_of(scope) -> Somebody:
    header = dict(scope["headers"]).get(b"authorization", b"").decode()
    try:
        tenant, name, scope_name = header.removeprefix("Bearer ").split("/")
    except ValueError:
        raise InvalidInput("Say who you are.") from None
    return Somebody(tenant=tenant, name=name, scopes=frozenset({scope_name}))


@pytest.fixture(scope="module")
def http_server(tmp_path_factory):
    server = HttpServer(tmp_path_factory.mktemp("http") / "bank.db")
    yield server
    server.close()


MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
}


def modern_headers(method: str, name: str | None = None, who: str = "t/n/write") -> dict[str, str]:
    headers = {
        "Authorization": f"Bearer {who}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
    }
    return headers if name is None else {**headers, "Mcp-Name": name}


def modern_body(method: str, params: dict | None = None, request_id: object = 1) -> bytes:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**(params or {}), "_meta": META}}
    return json.dumps(message).encode()


def legacy_headers(who: str = "t/n/write", session: str | None = None) -> dict[str, str]:
    headers = {
        "Authorization": f"Bearer {who}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    return headers if session is None else {**headers, "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}


def legacy_body(method: str, params: dict | None = None, request_id: object = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}).encode()
