"""Clients as they should be: every write has a key and is sent again until it is answered, to whichever server answers.

`python -m bench.storms._good_clients PLAN OUT` reads a plan (JSON), lets its clients live for its seconds in one event
loop, lets each finish what it has begun, and writes down what they were told: what was acknowledged, what no client
should ever see, how long each verb took from its first sending to its answer, and what the event streams said.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

ANSWERED_WITHIN_S = 60.0
GIVEN_UP_AFTER_S = 180.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0
MOST_STRANGE = 50
_WORDS = (
    *(
        "parser",
        "cache",
        "deploy",
        "index",
        "token",
        "retry",
        "socket",
        "schema",
        "branch",
        "build",
        "linker",
        "header",
    ),
    *("config", "proxy", "queue", "worker", "lease", "feed", "commit", "rollback", "timeout", "vacuum", "replica"),
    *("kernel", "module", "driver", "fixture", "mock", "assert", "trace", "metric", "gauge"),
)


class StrangeAnswer(Exception):
    """What no client should ever be told."""


class Notes:
    """What all clients of this process were told."""

    def __init__(self) -> None:
        self.memories: list[tuple[str, str, str]] = []
        self.feedback: list[tuple[str, str]] = []
        self.steps: list[tuple[str, str]] = []
        self.sessions: list[tuple[str, str]] = []
        self.strange: list[str] = []
        self.strange_count = 0
        self.retries: Counter[str] = Counter()
        self.times_s: dict[str, list[float]] = {}
        self.answered_s: dict[str, list[float]] = {}

    def add_strange(self, what: str) -> None:
        self.strange_count += 1
        if len(self.strange) < MOST_STRANGE:
            self.strange.append(what)


class Wire:
    """One connection to one server at a time; another server after a failure."""

    def __init__(self, ports: list[int], token: str, chance: random.Random) -> None:
        self._ports = ports
        self._token = token
        self._at = chance.randrange(len(ports))
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def port(self) -> int:
        return self._ports[self._at]

    def move_on(self) -> None:
        self.close()
        self._at = (self._at + 1) % len(self._ports)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        return self._streams

    async def send(self, method: str, path: str, body: bytes, key: str | None) -> tuple[int, dict[str, str], bytes]:
        reader, writer = await self.open()
        lines = [*self.head(method, path), f"content-length: {len(body)}"]
        lines += ["content-type: application/json"] if body else []
        lines += [f"idempotency-key: {key}"] if key is not None else []
        writer.write("\r\n".join((*lines, "", "")).encode() + body)
        await writer.drain()
        status, headers = await read_head(reader)
        text = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return status, headers, text

    def head(self, method: str, path: str) -> list[str]:
        return [f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{self.port}", f"authorization: Bearer {self._token}"]


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = (line.partition(":") for line in lines[1:] if line)
    return int(lines[0].split()[1]), {name.lower(): value.strip() for name, _, value in fields}


class GoodClient:
    def __init__(self, plan: dict[str, Any], who: dict[str, Any], notes: Notes) -> None:
        self.name, self.tenant = who["name"], who["tenant"]
        self._chance = random.Random(who["seed"])
        self._wire = Wire(plan["ports"], who["token"], self._chance)
        self._notes = notes
        self._think_s = plan["think_s"]
        self._number = 0
        self._mine: list[str] = []

    async def live(self, until: float) -> None:
        deeds = (self._record, self._search, self._judge, self._work, self._read)
        await asyncio.sleep(self._chance.random() * 2 * self._think_s)
        while time.monotonic() < until:
            [deed] = self._chance.choices(deeds, (35, 35, 12, 8, 10))
            with suppress(StrangeAnswer):
                await deed()
            await asyncio.sleep(self._chance.random() * 2 * self._think_s)
        self._wire.close()

    # ------------------------------------------------------------ what it does

    async def _record(self) -> None:
        title = self._unique(" ".join(self._chance.choices(_WORDS, k=4)))
        content = " ".join(self._chance.choices(_WORDS, k=30))
        made = await self._ask("record", "/v1/memories", {"title": title, "content": content})
        self._notes.memories.append((self.tenant, made["id"], title))
        self._mine.append(made["id"])

    async def _search(self, **more: str) -> None:
        query = " ".join(self._chance.choices(_WORDS, k=5))
        await self._ask("search", "/v1/search", {"query": query, "limit": 5, "explain": False, **more}, writes=False)

    async def _judge(self) -> None:
        if self._mine:
            comment, memory = self._unique("helped"), self._chance.choice(self._mine)
            body = {"helpful": self._chance.random() < 0.7, "comment": comment}
            await self._ask("feedback", f"/v1/memories/{memory}/feedback", body)
            self._notes.feedback.append((self.tenant, comment))

    async def _work(self) -> None:
        task = self._unique("mend the " + " ".join(self._chance.choices(_WORDS, k=3)))
        session = (await self._ask("session", "/v1/sessions", {"task": task}))["id"]
        await self._search(session=session)
        tool = self._unique("run tool").replace(" ", "-")
        for action, result in ((tool, f"error: no such option --{tool}"), (f"{tool} --other", "ok")):
            await self._ask("step", f"/v1/sessions/{session}/steps", {"action": action, "result": result})
            self._notes.steps.append((self.tenant, action))
        await self._ask("end", f"/v1/sessions/{session}/end", {"outcome": "success"})
        self._notes.sessions.append((self.tenant, session))

    async def _read(self) -> None:
        if self._mine:
            await self._ask("get", f"/v1/memories/{self._chance.choice(self._mine)}", None, writes=False)

    def _unique(self, words: str) -> str:
        self._number += 1
        return f"{words} {self.name}-{self._number}"

    # ------------------------------------------------------------ how it asks

    async def _ask(self, verb: str, path: str, body: Any, *, writes: bool = True) -> Any:
        """The answer, however often it has to be asked for."""
        key = self._unique(f"key-{verb}").replace(" ", "-") if writes else None
        method, sent = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
        began, pause_s = time.monotonic(), FIRST_PAUSE_S
        while True:
            sent_at = time.monotonic()
            status, wait_s, answer = await self._try(verb, method, path, sent, key)
            now = time.monotonic()
            if status in (200, 201):
                self._notes.times_s.setdefault(verb, []).append(now - began)
                self._notes.answered_s.setdefault(verb, []).append(now - sent_at)
                return answer
            if now - began > GIVEN_UP_AFTER_S:
                self._strange(f"{verb}: not done within {GIVEN_UP_AFTER_S:g} s")
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)
            await asyncio.sleep(max(wait_s, pause_s * (0.5 + self._chance.random())))

    async def _try(
        self, verb: str, method: str, path: str, sent: bytes, key: str | None
    ) -> tuple[int | None, float, Any]:
        """The status and the answer, or how long to wait before it is asked for again."""
        try:
            async with asyncio.timeout(ANSWERED_WITHIN_S):
                status, headers, text = await self._wire.send(method, path, sent, key)
        except TimeoutError:
            self._wire.move_on()
            self._strange(f"{verb}: no answer within {ANSWERED_WITHIN_S:g} s")
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            self._notes.retries[
                "reset" if isinstance(error, asyncio.IncompleteReadError) else type(error).__name__
            ] += 1
            self._wire.move_on()
            return None, 0.0, None
        if status in (200, 201):
            return status, 0.0, json.loads(text)
        if status in (429, 503) and headers.get("retry-after", "").isdigit():
            self._notes.retries[f"{status} {json.loads(text).get('code')}"] += 1
            self._wire.move_on()
            return status, float(headers["retry-after"]), None
        told = f"retry-after {headers.get('retry-after')}, " if status in (429, 503) else ""
        self._strange(f"{verb}: {status}, {told}{text[:300].decode('utf-8', 'replace')}")
        raise AssertionError

    def _strange(self, what: str) -> None:
        self._notes.add_strange(f"{self.name} {what}")
        raise StrangeAnswer


class Listener:
    """Follows a tenant's event stream from server to server by the id of the last event."""

    def __init__(self, plan: dict[str, Any], who: dict[str, Any], notes: Notes) -> None:
        self.tenant = who["tenant"]
        self.heard: list[str] = []
        self._wire = Wire(plan["ports"], who["token"], random.Random(who["seed"]))
        self._notes = notes
        self._last = "0"

    async def live(self) -> None:
        while True:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._follow()
            self._notes.retries["stream ended"] += 1
            self._wire.move_on()
            await asyncio.sleep(0.5)

    async def _follow(self) -> None:
        reader, writer = await self._wire.open()
        lines = [*self._wire.head("GET", "/v1/changes/stream"), f"last-event-id: {self._last}"]
        writer.write("\r\n".join((*lines, "", "")).encode())
        status, headers = await read_head(reader)
        if status != 200:
            if status not in (429, 503) or "retry-after" not in headers:
                self._notes.add_strange(f"stream: {status}")
            return
        rest = ""
        while True:
            size = int(await reader.readuntil(b"\r\n"), 16)
            piece = await reader.readexactly(size + 2)
            if not size:
                return
            *whole, rest = (rest + piece[:-2].decode()).split("\n\n")
            for event in whole:
                self._hear(event)

    def _hear(self, event: str) -> None:
        fields = dict(line.split(": ", 1) for line in event.split("\n") if ": " in line and not line.startswith(":"))
        if fields.get("event") == "change":
            self._last = fields["id"]
            self.heard.append(fields["data"])


async def live(plan: dict[str, Any], notes: Notes) -> list[Listener]:
    until = time.monotonic() + plan["seconds"]
    listeners = [Listener(plan, who, notes) for who in plan["listeners"]]
    following = [asyncio.create_task(one.live()) for one in listeners]
    await asyncio.gather(*(GoodClient(plan, who, notes).live(until) for who in plan["clients"]))
    print("done", flush=True)
    # A line comes once everything that was to be learned has been.
    await asyncio.to_thread(sys.stdin.readline)
    quiet_at, heard = time.monotonic(), -1
    while time.monotonic() - quiet_at < plan["quiet_s"]:
        now_heard = sum(len(one.heard) for one in listeners)
        if now_heard != heard:
            quiet_at, heard = time.monotonic(), now_heard
        await asyncio.sleep(0.1)
    for task in following:
        task.cancel()
    return listeners


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    notes = Notes()
    listeners = asyncio.run(live(plan, notes))
    found = {name: getattr(notes, name) for name in vars(notes)}
    found["heard"] = {one.tenant: [json.loads(data) for data in one.heard] for one in listeners}
    Path(sys.argv[2]).write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
