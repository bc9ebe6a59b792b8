"""Come to the doors of a running server as no guest should: revoked, idle, slow, greedy, fuzzed, and as another tenant.

One server on loopback, several tenants with a canary each. In every round: nonsense on every path of its own route
table, calls of one tenant for what is another's, a token that is revoked by another process under an idle and under a
busy stream, connections that do nothing in four ways, bodies that are large and refused, and one tenant that hammers
while another asks.
"""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from bench.storms._served import Answer, Client, Served, serving, within
from bench.storms._weather import Promise, Weather

SLICE = 1
FUZZED, FEW_FUZZED = 150, 60
PEEKED, FEW_PEEKED = 60, 25
IDLE, FEW_IDLE = 1_050, 40
"""More than the thousand connections that a server takes; in the test command so many that any system lets it have."""
LARGE = 12
LARGE_BYTES = 4_000_000
HAMMERS = 8
ASKED, FEW_ASKED = 40, 5
GROWTH_MOST_BYTES = LARGE * LARGE_BYTES // 2
PATIENCE_S = 60.0
"""What has not come by then hangs. On a quiet machine all of it takes a third of a second."""
TENANTS = ("acme", "rival")


def storm(weather: Weather) -> list[Promise]:
    fuzzed = Promise("no request, however wrong, is answered with a 500")
    foreign = Promise("no answer holds a byte of another tenant")
    revoked = Promise("the stream of a revoked token ends, and tells nothing that was written after")
    idle = Promise("connections that do nothing lock nobody out")
    kept = Promise("bodies that were answered do not stay in memory")
    greedy = Promise("a tenant is answered while another hammers", timed=True)
    with serving(weather.folder, "--require-token", "--rate", "0") as served:
        house = _House(served)
        few = weather.most is not None
        for _ in weather.rounds():
            _fuzz(weather.chance, house, fuzzed, FEW_FUZZED if few else FUZZED)
            _peek(weather.chance, house, foreign, FEW_PEEKED if few else PEEKED)
            _revoke(house, revoked)
            _idle(weather.chance, house, idle, FEW_IDLE if few else IDLE)
            _bodies(house, kept)
            _hammer(house, greedy, FEW_ASKED if few else ASKED)
        fuzzed.check("Traceback" not in served.log.read_text(), "the server's log has a stack: see server.log")
    return [fuzzed, foreign, revoked, idle, kept, greedy]


class _House:
    """A server with tenants who own something, each with a word that nobody else may ever read."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.tokens = {tenant: served.token(tenant, "admin") for tenant in TENANTS}
        self.clients = {tenant: served.client(token) for tenant, token in self.tokens.items()}
        self.canaries = {tenant: f"canary{number}of{tenant}" for number, tenant in enumerate(TENANTS)}
        self.owned = {tenant: self._furnish(tenant) for tenant in TENANTS}
        document = self.clients["acme"]("GET", "/openapi.json").json
        self.routes = [(method.upper(), path) for path, item in document["paths"].items() for method in item]

    def _furnish(self, tenant: str) -> dict[str, str]:
        client, canary = self.clients[tenant], self.canaries[tenant]
        memory = _made(client("POST", "/v1/memories", {"title": canary, "content": canary, "tags": [canary]}))
        other = _made(client("PUT", f"/v1/keys/{canary}", {"content": f"under a key: {canary}"}))
        session = _made(client("POST", "/v1/sessions", {"task": canary}))
        link = _made(
            client("POST", "/v1/links", {"source": memory, "target": other, "kind": "requires", "text": canary})
        )
        return {"memory": memory, "session": session, "link": link, "key": canary}


def _made(answer: Answer) -> str:
    assert answer.status in (200, 201), answer
    return str(answer.json["id"])


# ---------------------------------------------------------------- nonsense


_WORDS: tuple[Any, ...] = (
    None, True, -1, 1e308, 10**18, "", "x" * 5_000, "\x00", "\ud800", "💥" * 50, "*", "../..", "' OR 1=1 --", [], [[]],
    {}, {"$ne": None}, ["a"] * 200, {"a": {"b": {"c": []}}},
)  # fmt: skip
_FIELDS = (
    "title", "content", "query", "task", "namespace", "limit", "floor", "tags", "metadata", "outcome", "steps", "text",
    "memories", "source", "target", "kind", "helpful", "succeeded", "session", "vector", "texts", "one", "other",
)  # fmt: skip


def _fuzz(chance: random.Random, house: _House, promise: Promise, times: int) -> None:
    client = house.served.client(house.tokens["acme"])
    for _ in range(times):
        method, path = chance.choice(house.routes)
        if path.endswith("/stream"):
            continue
        path = _filled(path, lambda: chance.choice(("%00", "%F0%9F%92%A5", "x" * 300, "..%2f..", "mem_1", "%20")))
        query = chance.choice(
            ("", "?limit=-1", "?limit=9e9", "?namespace=%00", "?after=AAAA", "?x=1&x=2", "?erase=maybe")
        )
        body = _nonsense(chance)
        headers = chance.choice(({}, {"idempotency_key": "\x7f"}, {"if_match": '"x"'}, {"content_type": "text/plain"}))
        answer = client(chance.choice((method, method, "POST", "DELETE", "PUT")), path + query, body, **headers)
        promise.check(
            answer.status != 500, f"{method} {path}{query} {body[:120]!r}: {answer.status} {answer.body[:200]!r}"
        )
    client.close()


def _nonsense(chance: random.Random) -> bytes:
    whole = {chance.choice(_FIELDS): chance.choice(_WORDS) for _ in range(chance.randrange(5))}
    text = json.dumps(whole).encode()
    shape = chance.randrange(6)
    if shape == 0:
        return text[: chance.randrange(len(text) + 1)]
    if shape == 1:
        return bytes(chance.randrange(256) for _ in range(40))
    if shape == 2:
        return b"[" * 5_000
    return text


def _filled(path: str, value: Callable[[], str]) -> str:
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + value() + rest.partition("}")[2]
    return path


# ---------------------------------------------------------------- other tenants


def _peek(chance: random.Random, house: _House, promise: Promise, most: int) -> None:
    """Every route, asked by each tenant with the ids and words of the other."""
    for me, other in (TENANTS, TENANTS[::-1]):
        client, theirs, canary = house.served.client(house.tokens[me]), house.owned[other], house.canaries[other]
        routes = [route for route in house.routes if not route[1].endswith("/stream")]
        for method, template in chance.sample(routes, min(most, len(routes))):
            path = _filled(template, lambda: chance.choice(list(theirs.values())))  # noqa: B023 - called at once
            body = None
            if method != "GET":
                body = json.dumps(
                    {"query": "canary", "task": "canary", "namespace": "*", "id": theirs["memory"]}
                ).encode()
            answer = client(method, path, body, content_type="application/json")
            # What was asked comes back in a refusal, so the word is looked for only where it was not said.
            said = canary in path
            leak = canary.encode() in answer.body and not (said and answer.status >= 400)
            promise.check(not leak, f"{me} read {canary} from {method} {path}: {answer.body[:200]!r}")
        for body in ({"query": "canary", "floor": 0.0, "namespace": "*"}, {"query": canary[:7], "floor": 0.0}):
            answer = client("POST", "/v1/search", body)
            promise.check(canary.encode() not in answer.body, f"{me} found {canary} by {body}")
        client.close()


# ---------------------------------------------------------------- revoked tokens


class _Listener:
    """Reads a stream in a thread and notes what it heard, and when it ended."""

    def __init__(self, served: Served, token: str) -> None:
        head = (
            f"GET /v1/changes/stream HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\nauthorization: Bearer {token}\r\n\r\n"
        )
        self._sock = served.connection(head.encode())
        self.heard: list[str] = []
        self.begun = threading.Event()
        self.ended_at: float | None = None
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        assert self.begun.wait(60), "the stream did not begin"

    def _listen(self) -> None:
        with suppress(OSError), self._sock.makefile("rb") as file:
            for line in file:
                if line.startswith(b": from"):
                    self.begun.set()
                elif line.startswith(b"data: "):
                    self.heard.append(json.loads(line[6:])["id"])
                elif line == b"0\r\n":
                    break
        self.ended_at = time.monotonic()

    def close(self) -> None:
        self._sock.close()


def _revoke(house: _House, promise: Promise) -> None:
    for kind in ("idle", "busy"):
        _revoke_under(kind, house, promise)


def _revoke_under(kind: str, house: _House, promise: Promise) -> None:
    served = house.served
    token = served.token("acme", "read")
    listener, writer = _Listener(served, token), served.client(house.tokens["acme"])
    over, revoked, late = threading.Event(), threading.Event(), []

    def write() -> None:
        while not over.is_set():
            was_revoked = revoked.is_set()
            made = _made(writer("POST", "/v1/memories", {"title": "event", "content": "x"}))
            if was_revoked:
                late.append(made)

    thread = threading.Thread(target=write, daemon=True)
    if kind == "busy":
        thread.start()
        within(PATIENCE_S, lambda: len(listener.heard) > 3)
    served.command("token", "revoke", token.split("_")[1])
    revoked.set()
    revoked_at = time.monotonic()
    ended = within(PATIENCE_S, lambda: listener.ended_at is not None)
    within(1.0, lambda: len(late) > 3)
    over.set()
    if kind == "busy":
        thread.join(60)
    promise.check(ended, f"a {kind} stream went on {PATIENCE_S:g} s after its token was revoked")
    told = set(listener.heard).intersection(late)
    promise.check(not told, f"a {kind} stream told {len(told)} changes that were made after its token was revoked")
    if listener.ended_at is not None:
        after_ms = max(0.0, listener.ended_at - revoked_at) * 1e3
        promise.measured = f"the last, {kind}, ended {after_ms:.0f} ms after the command that revoked it"
    refused = served.client(token)("GET", "/v1/status").status
    promise.check(refused == 401, f"a revoked token was answered with {refused}")
    listener.close()


# ---------------------------------------------------------------- idle connections


def _idle(chance: random.Random, house: _House, promise: Promise, count: int) -> None:
    served = house.served
    head = (
        f"POST /v1/search HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\nauthorization: Bearer {house.tokens['acme']}\r\n"
    )
    states = {
        "silent": b"",
        "half a head": b"POST /v1/search HTTP/1.1\r\nhost: x",
        "half a body": f"{head}content-type: application/json\r\ncontent-length: 500\r\n\r\n{{".encode(),
        "answered and idle": f"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\n\r\n".encode(),
    }
    with ExitStack() as stack:
        connections: list[socket.socket] = []
        for _ in range(count):
            # The server may close one of them while the next is made; that is what it is to do.
            with suppress(ConnectionError):
                connections.append(stack.enter_context(served.connection(chance.choice(list(states.values())))))
        slowest = 0.0
        for _ in range(10):
            began = time.monotonic()
            client = served.client(house.tokens["rival"])
            try:
                status: object = client("POST", "/v1/search", {"query": "anything"}).status
            except OSError as error:
                status = repr(error)
            slowest = max(slowest, time.monotonic() - began)
            promise.check(
                status == 200, f"with {len(connections)} idle connections a search was answered with {status}"
            )
            client.close()
        promise.measured = f"{len(connections):,} idle connections, slowest answer {slowest * 1e3:.0f} ms"
        promise.check(slowest < PATIENCE_S, f"a search took {slowest:.1f} s among idle connections")


# ---------------------------------------------------------------- large bodies


def _bodies(house: _House, promise: Promise) -> None:
    served = house.served
    body = b'{"title": "' + b"x" * LARGE_BYTES + b'"}'

    def send() -> None:
        client = served.client(house.tokens["acme"])
        client("POST", "/v1/memories", body, content_type="application/json")
        client.close()

    send()
    before = served.rss_bytes
    threads = [threading.Thread(target=send, daemon=True) for _ in range(LARGE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    settled = within(PATIENCE_S, lambda: served.rss_bytes - before < GROWTH_MOST_BYTES)
    grown = served.rss_bytes - before
    promise.check(settled, f"{LARGE} refused bodies of 4 MB left the server {grown / 1e6:.0f} MB larger")
    promise.measured = f"{LARGE} bodies of 4 MB: {before / 1e6:.0f} MB before, {grown / 1e6:+.0f} MB after"


# ---------------------------------------------------------------- one who hammers


def _hammer(house: _House, promise: Promise, times: int) -> None:
    served = house.served
    text = "the api_key of the service is kept elsewhere; " * 4_000
    over = threading.Event()
    client = served.client(house.tokens["rival"])
    quiet = _asked(client, times)

    def hammer(number: int) -> None:
        greedy: Client = served.client(house.tokens["acme"])
        count = 0
        while not over.is_set():
            count += 1
            with suppress(OSError):
                greedy("POST", "/v1/secrets", {"text": f"{number} {count} {text}"})
        greedy.close()

    threads = [threading.Thread(target=hammer, args=(number,), daemon=True) for number in range(HAMMERS)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    busy = _asked(client, times)
    over.set()
    for thread in threads:
        thread.join(120)
    for status, seconds in busy:
        promise.check(status == 200 and seconds < PATIENCE_S, f"while another hammers: {status} after {seconds:.1f} s")
    # By the memory that is read, not by a search: that one also brings the index up to date.
    slowest = [max(seconds for _, seconds in times) * 1e3 for times in (quiet, busy)]
    medians = [sorted(seconds for _, seconds in times)[len(times) // 2] * 1e3 for times in (quiet, busy)]
    told = f"median {medians[0]:.1f} to {medians[1]:.1f} ms, slowest {slowest[0]:.0f} to {slowest[1]:.0f} ms"
    promise.measured = f"{times} reads, quiet to hammered: {told}"
    client.close()


def _asked(client: Client, count: int) -> list[tuple[int, float]]:
    times = []
    for _ in range(count):
        began = time.monotonic()
        status = client("GET", "/v1/memories?limit=5").status
        times.append((status, time.monotonic() - began))
        time.sleep(0.005)
    return times
