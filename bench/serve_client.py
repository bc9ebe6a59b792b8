"""Many clients in one process of its own, over bare sockets, so that they are not what is measured.

`python -m bench.serve_client PORT CLIENTS SECONDS PLAN` reads the plan (a JSON file of requests), keeps one request of
each client in the air, and prints what came of it as JSON.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from pathlib import Path


class Client(asyncio.Protocol):
    """Sends the next request when the last one is answered."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._buffer = b""
        self._sent_at = 0.0
        self._kind = ""

    def connection_made(self, transport) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        if self._plan.is_over():
            self._transport.close()
            return
        self._kind, request = self._plan.next()
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._buffer[:end].lower()
        at = head.find(b"content-length: ")
        stop = head.find(b"\r\n", at)
        length = int(head[at + 16 : stop if stop > 0 else None])
        if len(self._buffer) < end + 4 + length:
            return
        body, self._buffer = self._buffer[end + 4 : end + 4 + length], self._buffer[end + 4 + length :]
        self._plan.answered(self._kind, int(head[9:12]), time.perf_counter() - self._sent_at, body)
        self._send()

    def connection_lost(self, _: Exception | None) -> None:
        self._plan.left(early=not self._plan.is_over())


class Plan:
    def __init__(self, searches: list[bytes], seconds: float, clients: int, write_share: float) -> None:
        self._searches = searches
        self._share = write_share
        self._clients = clients
        self._ends = time.perf_counter() + seconds
        self._number = 0
        self._rng = random.Random(5)
        self._run = f"{random.SystemRandom().getrandbits(40):x}"
        self.times: dict[str, list[float]] = {"search": [], "write": []}
        self.errors: dict[str, int] = {}
        self.acknowledged: list[str] = []
        self.broken = 0
        self.done = asyncio.Event()

    def is_over(self) -> bool:
        return time.perf_counter() > self._ends

    def next(self) -> tuple[str, bytes]:
        self._number += 1
        if self._rng.random() < self._share:
            title = f"load {self._run} {self._number}"
            body = json.dumps({"title": title, "content": f"what was learned in run {self._number} of the load"})
            return "write", _request("/v1/memories", body.encode())
        return "search", self._searches[self._number % len(self._searches)]

    def answered(self, kind: str, status: int, seconds: float, body: bytes) -> None:
        self.times[kind].append(seconds)
        if status not in (200, 201):
            name = f"{kind} {status}"
            self.errors[name] = self.errors.get(name, 0) + 1
        elif kind == "write":
            self.acknowledged.append(json.loads(body)["id"])

    def left(self, *, early: bool) -> None:
        self.broken += early
        self._clients -= 1
        if not self._clients:
            self.done.set()


def _request(path: str, body: bytes) -> bytes:
    fields = (f"POST {path} HTTP/1.1", f"host: 127.0.0.1:{PORT}", "content-type: application/json")
    return "\r\n".join((*fields, f"content-length: {len(body)}", "", "")).encode() + body


async def run(port: int, clients: int, seconds: float, given: dict) -> dict:
    searches = [_request(given["path"], body.encode()) for body in given["bodies"]]
    plan = Plan(searches, seconds, clients, given.get("write_share", 0.0))
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    for _ in range(clients):
        await loop.create_connection(lambda: Client(plan), "127.0.0.1", port)
    await plan.done.wait()
    taken = time.perf_counter() - began
    return {
        "seconds": taken,
        "cpu_s": time.process_time(),
        "errors": plan.errors,
        "broken": plan.broken,
        "acknowledged": plan.acknowledged,
        "times": {kind: _summary(values) for kind, values in plan.times.items() if values},
        "requests": sum(map(len, plan.times.values())),
    }


def _summary(values: list[float]) -> dict[str, float]:
    values.sort()
    return {name: 1e3 * values[min(len(values) - 1, int(share * len(values)))] for name, share in SHARES.items()}


SHARES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}

if __name__ == "__main__":
    PORT = int(sys.argv[1])
    asked = json.loads(Path(sys.argv[4]).read_text("utf-8"))
    print(json.dumps(asyncio.run(run(PORT, int(sys.argv[2]), float(sys.argv[3]), asked))))
