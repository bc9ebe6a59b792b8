"""Use a server as its users do for as long as you like, and see whether anything drifts.

Tenants write, search, judge, edit, forget, erase, run sessions, listen and call tools, over REST, MCP and the socket
for hooks, one process against it all. What was acknowledged is noted and looked for at the end. Memory, descriptors,
threads, the size of the log and latencies are taken down all the while; after the first third, the warm-up, none of
them may grow on and on. A run of less than a few minutes cannot tell growth from warming up: it only counts errors.
"""

from __future__ import annotations

import json
import random
import socket
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.storms._served import Client, Served, serving
from bench.storms._weather import Promise, Weather

SLICE = 2
"""Rounds of a third of a second each."""
ROUND_S = 0.33
USERS = 4
DRIFT_AFTER_S = 120.0
"""Shorter runs are all warm-up."""
CACHES_MB = 48.0
"""What fills up once: pages of one connection that writes (16 MB) and of eight that read, the index, the embedder."""
KILOBYTES_A_WRITE = 6.0
"""What is kept grows the index and its neighbours in memory. Nothing else may grow for as long as a server runs."""
DESCRIPTORS_MORE = 24
THREADS_MORE = 24
LOG_MOST_BYTES = 64 << 20
SLOWER_MOST = 4.0
"""How many times slower the last third may be than the second one; the machine is not ours alone."""
MCP = {
    "accept": "application/json, text/event-stream",
    "mcp_protocol_version": "2026-07-28",
    "mcp_method": "tools/call",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "soak", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(slots=True)
class _Sample:
    at: float
    memory: int
    descriptors: int
    threads: int
    log: int
    writes: int


@dataclass(slots=True)
class _Notes:
    """What users saw, and what they were promised."""

    kept: dict[str, dict[str, str]] = field(default_factory=dict)
    """By tenant: acknowledged memories and their titles."""
    erased: dict[str, set[str]] = field(default_factory=dict)
    times: list[tuple[float, float, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    answers: int = 0
    writes: int = 0
    heard: int = 0


def storm(weather: Weather) -> list[Promise]:
    right = Promise("every answer is the right one, on every door")
    lost = Promise("nothing acknowledged is lost, nothing erased comes back")
    steady = Promise("memory, descriptors, threads, log and latency do not drift", timed=True)
    notes = _Notes()
    with serving(weather.folder, "--require-token", "--rate", "0") as served:
        over = threading.Event()
        users = [
            _User(served, f"tenant{n}", notes, random.Random(weather.chance.getrandbits(32))) for n in range(USERS)
        ]
        threads = [threading.Thread(target=user.live, args=(over,), daemon=True) for user in users]
        threads += [threading.Thread(target=_listen, args=(served, users[0].token, notes, over), daemon=True)]
        threads += [threading.Thread(target=_hook, args=(served, notes, over), daemon=True)]
        for thread in threads:
            thread.start()
        samples = []
        for _ in weather.rounds():
            time.sleep(ROUND_S)
            samples.append(_sample(served, notes))
        over.set()
        for thread in threads:
            thread.join(60)
        _compare(users, lost)
    right.held(notes.answers - len(notes.errors))
    for error in notes.errors:
        right.violated(error)
    right.measured = f"{notes.answers:,} answers, {notes.heard:,} events heard"
    _drift(samples, notes, steady)
    return [right, lost, steady]


# ---------------------------------------------------------------- the users


class _User:
    def __init__(self, served: Served, tenant: str, notes: _Notes, chance: random.Random) -> None:
        self.tenant = tenant
        self.token = served.token(tenant, "admin")
        self.client: Client = served.client(self.token)
        self._notes = notes
        self._chance = chance
        self._number = 0
        self.kept = notes.kept.setdefault(tenant, {})
        self.erased = notes.erased.setdefault(tenant, set())

    def live(self, over: threading.Event) -> None:
        deeds: list[tuple[float, Callable[[], None]]] = [
            (0.25, self._search),
            (0.2, self._write),
            (0.1, self._edit),
            (0.1, self._judge),
            (0.1, self._erase),
            (0.1, self._session),
            (0.1, self._tool),
            (0.05, self._list),
        ]
        weights, verbs = [weight for weight, _ in deeds], [verb for _, verb in deeds]
        while not over.is_set():
            verb = self._chance.choices(verbs, weights)[0]
            try:
                verb()
            except Exception as error:  # noqa: BLE001 - whatever a user meets is the finding
                self._notes.errors.append(f"{self.tenant} {verb.__name__}: {type(error).__name__}: {error}")
            time.sleep(0.002)
        self.client.close()

    def _ask(self, wanted: int, method: str, path: str, body: Any = None, **headers: str) -> Any:
        began = time.monotonic()
        answer = self.client(method, path, body, **headers)
        self._notes.times.append(
            (began, time.monotonic() - began, f"{method} {path.partition('?')[0].split('/')[-1][:12]}")
        )
        self._notes.answers += 1
        # A search is one too: it notes what was shown.
        self._notes.writes += method != "GET"
        if answer.status != wanted:
            raise AssertionError(f"{method} {path}: {answer.status} {answer.body[:200]!r}")
        return answer.json if answer.body else None

    def _any(self) -> str | None:
        return self._chance.choice(list(self.kept)) if self.kept else None

    def _write(self) -> None:
        self._number += 1
        title = f"{self.tenant} lesson {self._number}"
        content = f"{title}: " + "wind " * self._chance.randrange(1, 400)
        key = {"idempotency_key": f"{self.tenant}-{self._number}"} if self._number % 2 else {}
        made = self._ask(201, "POST", "/v1/memories", {"title": title, "content": content}, **key)
        self.kept[made["id"]] = title

    def _search(self) -> None:
        found = self._ask(200, "POST", "/v1/search", {"query": f"{self.tenant} lesson", "limit": 5})
        for hit in found["memories"]:
            if hit["id"] not in self.kept and hit["id"] not in self.erased and not hit["title"].startswith(self.tenant):
                raise AssertionError(f"found what is not ours: {hit['title']!r}")

    def _edit(self) -> None:
        if (memory := self._any()) is not None:
            title = f"{self.kept[memory].partition(' again')[0]} again {self._chance.randrange(1000)}"
            self._ask(200, "PATCH", f"/v1/memories/{memory}", {"title": title})
            self.kept[memory] = title

    def _judge(self) -> None:
        if (memory := self._any()) is not None:
            self._ask(200, "POST", f"/v1/memories/{memory}/feedback", {"helpful": self._chance.random() < 0.8})

    def _erase(self) -> None:
        if len(self.kept) > 50 and (memory := self._any()) is not None:
            del self.kept[memory]
            self._ask(204, "DELETE", f"/v1/memories/{memory}?erase=true")
            self.erased.add(memory)

    def _session(self) -> None:
        session = self._ask(201, "POST", "/v1/sessions", {"task": f"{self.tenant} task"})["id"]
        self._ask(201, "POST", f"/v1/sessions/{session}/steps", {"action": "look", "result": "seen"})
        self._ask(200, "POST", f"/v1/sessions/{session}/end", {"outcome": "success"})

    def _list(self) -> None:
        self._ask(200, "GET", "/v1/memories?limit=10")

    def _tool(self) -> None:
        call = {"name": "memory_search", "arguments": {"query": f"{self.tenant} lesson"}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        told = self._ask(200, "POST", "/mcp", message, **MCP, mcp_name="memory_search")
        if told.get("error") or told["result"].get("isError"):
            raise AssertionError(f"a tool call failed: {told}")


def _listen(served: Served, token: str, notes: _Notes, over: threading.Event) -> None:
    """Follow the feed, and come again where it broke off, as a client does."""
    head = f"GET /v1/changes/stream HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\nauthorization: Bearer {token}\r\n\r\n"
    while not over.is_set():
        with suppress(OSError), served.connection(head.encode()) as sock, sock.makefile("rb") as file:
            until = time.monotonic() + 5.0
            for line in file:
                notes.heard += line.startswith(b"data: ")
                if over.is_set() or time.monotonic() > until:
                    break


def _hook(served: Served, notes: _Notes, over: threading.Event) -> None:
    """Ask as the hook of a coding agent does, over the socket beside the bank."""
    event = json.dumps(
        {"hook_event_name": "UserPromptSubmit", "prompt": "lesson about wind", "session_id": "soak"}
    ).encode()
    asked = {"agent": "claude-code", "event": None, "cwd": str(served.bank.parent), "size": len(event)}
    while not over.wait(0.2):
        for path in Path(f"{served.bank}.hooks").glob("warm-*.sock"):
            try:
                answer = _talk(path, json.dumps(asked).encode() + b"\n" + event)
            except (OSError, ValueError) as error:
                notes.errors.append(f"the socket for hooks: {error}")
                continue
            notes.answers += 1
            if "failed" in answer:
                notes.errors.append(f"a hook was told: {answer['failed']}")


def _talk(path: Path, data: bytes) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(30)
        sock.connect(str(path))
        sock.sendall(data)
        found = b""
        while piece := sock.recv(65536):
            found += piece
    lines = found.splitlines()
    # While a model is loaded, a line that says so comes first.
    return dict(json.loads(lines[-1])) if lines else {}


# ---------------------------------------------------------------- what must hold


def _compare(users: list[_User], promise: Promise) -> None:
    for user in users:
        for memory, title in user.kept.items():
            answer = user.client("GET", f"/v1/memories/{memory}")
            there = answer.status == 200 and answer.json["title"] == title
            promise.check(there, f"{title!r} was acknowledged: {answer.status} {answer.body[:120]!r}")
        for memory in user.erased:
            status = user.client("GET", f"/v1/memories/{memory}").status
            promise.check(status == 404, f"{memory} was erased and is answered with {status}")
    promise.held()


def _sample(served: Served, notes: _Notes) -> _Sample:
    return _Sample(
        at=time.monotonic(),
        memory=served.own_bytes,
        descriptors=served.descriptors,
        threads=served.threads,
        log=served.log_bytes,
        writes=notes.writes,
    )


def _drift(samples: list[_Sample], notes: _Notes, promise: Promise) -> None:
    first, last = samples[0], samples[-1]
    seconds = last.at - first.at
    warm = samples[len(samples) // 3 :]
    thirds = _by_thirds(notes, first.at, last.at)
    slope = _slope_mb_a_minute(warm)
    promise.check(last.log < LOG_MOST_BYTES, f"the log of the bank has grown to {last.log / 1e6:.0f} MB")
    if seconds >= DRIFT_AFTER_S:
        grown = (warm[-1].memory - warm[0].memory) / 1e6
        allowed = CACHES_MB + (warm[-1].writes - warm[0].writes) * KILOBYTES_A_WRITE / 1e3
        promise.check(
            grown < allowed, f"memory grew by {grown:.0f} MB after the warm-up; {allowed:.0f} are accounted for"
        )
        more = warm[-1].descriptors - warm[0].descriptors
        promise.check(more < DESCRIPTORS_MORE, f"{more} more descriptors at the end than after the warm-up")
        more = warm[-1].threads - warm[0].threads
        promise.check(more < THREADS_MORE, f"{more} more threads at the end than after the warm-up")
        slower = thirds[2][0] / thirds[1][0]
        promise.check(slower < SLOWER_MOST, f"the last third is {slower:.1f} times as slow as the second")
    told = ", ".join(f"{median:.0f}/{late:.0f}" for median, late in thirds)
    promise.measured = (
        f"{seconds:.0f} s: {first.memory / 1e6:.0f} to {last.memory / 1e6:.0f} MB, {slope:+.1f} MB a minute; "
        f"{warm[0].descriptors} to {last.descriptors} descriptors, {warm[0].threads} to {last.threads} threads, "
        f"log {last.log / 1e6:.1f} MB; p50/p99 by thirds {told} ms"
    )


def _by_thirds(notes: _Notes, began: float, ended: float) -> list[tuple[float, float]]:
    """Median and 99th percentile in milliseconds."""
    third = (ended - began) / 3
    found = []
    for number in range(3):
        start = began + number * third
        times = sorted(1e3 * taken for at, taken, _ in notes.times if start <= at < start + third) or [0.001]
        found.append((statistics.median(times), times[int(0.99 * len(times))]))
    return found


def _slope_mb_a_minute(samples: list[_Sample]) -> float:
    if len(samples) < 3:
        return 0.0
    at = [sample.at / 60 for sample in samples]
    return statistics.linear_regression(at, [sample.memory / 1e6 for sample in samples]).slope
