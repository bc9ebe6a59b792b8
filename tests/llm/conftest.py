"""A real HTTP server on the loopback interface that plays a model's endpoint."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Reply = tuple[int, bytes]


class Endpoint:
    """`answer` turns the decoded request into a status and a body."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.reply_headers: dict[str, str] = {}
        self.answer: Callable[[dict[str, Any]], Reply] = lambda _: (500, b"{}")
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(body | {"path": self.path})
                endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, reply = endpoint.answer(body)
                with contextlib.suppress(ConnectionError):  # the client of a slow server has left
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(reply)))
                    for name, value in endpoint.reply_headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(reply)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.url = f"{self.address}/v1"

    def say(self, text: str | None, **changes: Any) -> None:
        self.answer = lambda _: (200, chat(text, **changes))


def chat(text: str | None, *, finish: str = "stop", usage: Any = None) -> bytes:
    counted = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18} if usage is None else usage
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": counted}
    return json.dumps(whole).encode()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join(timeout=5)


@pytest.fixture(name="chat")
def _chat() -> Callable[..., bytes]:
    return chat
