"""A scripted model on loopback that Claude Code and Codex take for the real one; it keeps every request body."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.clients import anthropic_api, responses_api
from bench.clients.script import Script

_CHARS_PER_TOKEN = 4
LOOPBACK = "127.0.0.1"


class ScriptedModel:
    def __init__(self) -> None:
        self.script = Script([])
        self.unknown: list[str] = []
        """Paths that were asked for and are not known here."""
        self._server = _Server((LOOPBACK, 0), _Handler)
        self._server.model = self

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[ScriptedModel]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join(10)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ScriptedModel


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        raw = self._read()
        path = self.path.partition("?")[0]
        body = json.loads(raw or b"{}")
        script = self.server.model.script
        if path.endswith("/messages/count_tokens"):
            self._json({"input_tokens": len(raw) // _CHARS_PER_TOKEN})
        elif path.endswith("/messages"):
            turn = script.answer(anthropic_api.request_of(body))
            if body.get("stream"):
                self._stream(anthropic_api.events_of(turn, body))
            else:
                self._json(anthropic_api.message_of(turn, body))
        elif path.endswith("/responses"):
            self._stream(responses_api.events_of(script.answer(responses_api.request_of(body)), body))
        else:
            self._unknown()

    def do_GET(self) -> None:
        self._unknown()

    def do_HEAD(self) -> None:
        self._json({})

    def log_message(self, *_: object) -> None:
        pass

    def _read(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0] or b"0", 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _unknown(self) -> None:
        self.server.model.unknown.append(f"{self.command} {self.path}")
        self._json({"error": {"type": "not_found_error", "message": "The scripted model knows no such path."}}, 404)

    def _json(self, value: Mapping[str, Any], status: int = 200) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _stream(self, events: Iterable[Mapping[str, Any]]) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
