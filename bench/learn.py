"""How many sessions a minute are learned from: with no model, and with one that takes half a second to answer.

    python -m bench learn [--sessions N] [--latency S] [--out FILE]

Offline: sessions of a dozen steps over made-up tables are ended in a bank and worked off by `bank.distill()` with the
shipped distiller; the time is for distilling and keeping, then for all of it with starting, stepping and ending. With
a model: a real OpenAI-compatible HTTP server on the loopback interface answers each request after the latency, two
workers with ten jobs each in hand ask it through the official client, with the ledger on. The share of the possible
is what the server could have answered at most with that many requests at a time.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.report import Report
from reasoningbank.learn.worker_pool import BATCH, WORKERS
from reasoningbank.llm.openai import OpenAILLM
from reasoningbank.wiring import ReasoningBank

OFFLINE_A_MINUTE = 1_000
AT_ONCE = 4
WITH_LLM_A_MINUTE = 100
_NAMES = ("singer", "concert", "stadium", "song", "album", "ticket", "venue", "award", "label", "tour")
_COLUMNS = ("id", "name", "country", "age", "year", "city", "capacity", "title", "price", "rating", "genre", "length")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench learn", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=1_000, help="for the offline part")
    parser.add_argument("--asked", type=int, default=200, help="sessions for the part with a model")
    parser.add_argument("--latency", type=float, default=0.5, help="seconds that the model takes")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(argv)
    report = Report()
    offline(report, asked.sessions)
    with_model(report, asked.asked, asked.latency)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def offline(report: Report, sessions: int) -> None:
    with tempfile.TemporaryDirectory() as folder, _opened(folder) as bank:
        began, cpu = time.monotonic(), time.process_time()
        _sessions(bank, sessions)
        ended = time.monotonic()
        distilled = bank.distill()
        done = time.monotonic()
        spent = time.process_time() - cpu
        assert distilled.count("done") == sessions, distilled.count("done")
        detail = f"{len(distilled.memories)} memories"
        limit = OFFLINE_A_MINUTE
        a_minute = sessions / (done - ended) * 60
        report.add("learn", "offline: distil", a_minute, "/min", limit=limit, at_least=True, detail=detail)
        whole = sessions / (done - began) * 60
        report.add("learn", "offline: start, 12 steps, end, distil", whole, "/min", limit=limit, at_least=True)
        report.add("learn", "offline: processor time for a whole session", spent / sessions * 1e3, "ms")
    with tempfile.TemporaryDirectory() as folder, _opened(folder) as bank, ThreadPoolExecutor(AT_ONCE) as agents:
        began = time.monotonic()
        list(agents.map(lambda _: _sessions(bank, sessions // AT_ONCE), range(AT_ONCE)))
        bank.distill()
        together = sessions / (time.monotonic() - began) * 60
        what = f"offline: the same, {AT_ONCE} agents at a time"
        report.add("learn", what, together, "/min", limit=limit, at_least=True, detail="they share syncs")


def with_model(report: Report, sessions: int, latency_s: float) -> None:
    server = _Server(latency_s)
    llm = OpenAILLM("bench", api_key="none", base_url=server.url)
    with tempfile.TemporaryDirectory() as folder, _opened(folder, llm=llm) as bank:
        _sessions(bank, sessions)
        llm.complete([], max_tokens=1)  # so that importing the client is not measured
        server.asked = 0
        began = time.monotonic()
        distilled = bank.distill()
        took_s = time.monotonic() - began
        assert distilled.count("done") == sessions, [a.error for a in distilled.attempts if a.error][:3]
        [*_, spent] = bank.jobs.spending()
    server.close()
    a_minute = sessions / took_s * 60
    what = f"with a model of {latency_s:g} s, {WORKERS} workers × {BATCH} in hand"
    detail = f"{server.asked} requests, at most {server.most} at a time, {spent.calls} in the ledger"
    report.add("learn", what, a_minute, "/min", limit=WITH_LLM_A_MINUTE, at_least=True, detail=detail)
    possible = WORKERS * BATCH / latency_s * 60
    report.add("learn", "share of what that model could have answered", a_minute / possible, "")


def _opened(folder: str, **options: Any) -> ReasoningBank:
    return ReasoningBank.open(Path(folder) / "bank.db", namespace="bench", **options)


def _sessions(bank: ReasoningBank, count: int) -> None:
    rng = random.Random(7)
    for number in range(count):
        table = f"{rng.choice(_NAMES)}_{number % 97}"
        columns = rng.sample(_COLUMNS, 6)
        session = bank.start_session(f"which {columns[0]} has {table} number {number}?")
        bank.add_step(session.id, f"SELECT wrong{number} FROM {table}", f"Error: Unknown column 'wrong{number}'")
        bank.add_step(session.id, f"DESCRIBE {table}", ", ".join(columns))
        for turn in range(10):
            bank.add_step(session.id, f"SELECT {columns[turn % 6]} FROM {table} LIMIT {turn}", f"{turn} rows")
        bank.end_session(session.id, rng.choice(("success", "failure")))


class _Server:
    """Answers every request with one lesson about it, after the latency."""

    def __init__(self, latency_s: float) -> None:
        self.asked = self.most = self._now = 0
        lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    owner.asked += 1
                    owner._now += 1
                    owner.most = max(owner.most, owner._now)
                time.sleep(latency_s)
                with lock:
                    owner._now -= 1
                reply = _chat(_answer(body["messages"]))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _answer(messages: Sequence[dict[str, str]]) -> str:
    if len(messages) < 2:
        return "ready"
    told = messages[1]["content"]
    outcome = "failure" if "Outcome: failure" in told else "success"
    table = told.partition("DESCRIBE ")[2].partition("\n")[0].strip()
    return (
        f"## Memory 1\n**Title**: Describe {table}\n**Description**: Before asking {table}\n"
        f"**Content**: DESCRIBE {table} shows which columns there are.\n**Tags**: sql\n**Outcome**: {outcome}"
    )


def _chat(text: str) -> bytes:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 500, "completion_tokens": 60, "total_tokens": 560}
    whole = {"id": "b", "object": "chat.completion", "created": 1, "model": "b", "choices": [choice], "usage": usage}
    return json.dumps(whole).encode()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
