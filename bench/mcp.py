"""The MCP server beside the reference server from npm and a bare server of the same SDK; a search beside the library's.

    python -m bench mcp

The npm package is installed by name into the cache folder of the benchmarks. Without Node or a registry its line is
left out and a note says so.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Self

from bench.banks import NAMESPACE, Built, built, cache, workplace
from bench.corpus import Corpus
from bench.installed import environment, fresh_venv
from bench.report import Report
from bench.timing import in_turns
from reasoningbank.core.tokens import count_tokens

STARTS, WARM_STARTS = 7, 1
SCALE = 100_000
SEARCHES = 150
MOST_MS_ABOVE = 2.0
MOST_TOKENS = 2_150
REFERENCE = "@modelcontextprotocol/server-memory"
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_BARE = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def tools(ctx, params):
    return types.ListToolsResult(tools=[])

async def main():
    server = Server("bare", version="1", on_list_tools=tools)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

anyio.run(main)
"""


class Server:
    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
        )
        self._ids = count(1)

    def ask(self, method: str, params: dict | None = None) -> dict:
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params or {}}
        self._say(message)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended before it answered {method}")
        return json.loads(line)["result"]

    def _say(self, message: dict) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def hello(self) -> None:
        self.ask("initialize", INITIALIZE)
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def processor_seconds(self) -> float:
        """What the server has used so far, in all of its threads."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def measure(report: Report, corpus: Corpus) -> None:
    folder = fresh_venv(extra="mcp")
    _starts(report, folder, built(corpus, SCALE, "hash"))
    for embedder, scale in (("hash", 10_000), ("hash", SCALE), ("local", 10_000)):
        _searches(report, corpus, folder, built(corpus, scale, embedder))


def _ours(folder: Path, bank: Built | Path) -> list[str]:
    path = bank if isinstance(bank, Path) else bank.path
    return [str(folder / "bin" / "reasoningbank"), "--bank", str(path), "--namespace", NAMESPACE, "serve", "--mcp"]


# ---------------------------------------------------------------- starting


def _starts(report: Report, folder: Path, bank: Built) -> None:
    with workplace() as place:
        copy = shutil.copy(bank.path, place / "bank.db")
        commands = {
            "ours": _ours(folder, Path(copy)),
            "bare": [str(folder / "bin" / "python"), "-c", _BARE],
            **_reference(report),
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        listed: list[float] = []
        for number in range(WARM_STARTS + STARTS):
            for name, command in commands.items():
                began = time.perf_counter()
                with Server(command) as server:
                    server.hello()
                    greeted = time.perf_counter() - began
                    if name == "ours":
                        tools = server.ask("tools/list")
                        listed += [time.perf_counter() - began] * (number >= WARM_STARTS)
                if number >= WARM_STARTS:
                    taken[name].append(greeted)
    shown = {name: statistics.median(seconds) for name, seconds in taken.items()}
    what = f"start to initialize, bank of {SCALE:,}"
    limit = shown.get("npm")
    report.add("mcp", what, shown["ours"], "s", limit=limit, detail=_spread(taken["ours"]))
    for name, label in (("npm", f"the same, {REFERENCE} by node"), ("npx", f"the same, {REFERENCE} by npx")):
        if name in shown:
            report.add("mcp", label, shown[name], "s", detail=_spread(taken[name]))
    report.add("mcp", "the same, a bare server of the SDK", shown["bare"], "s", detail=_spread(taken["bare"]))
    report.add("mcp", f"start to tools/list, bank of {SCALE:,}", statistics.median(listed), "s", detail=_spread(listed))
    tokens = count_tokens(json.dumps(tools, separators=(",", ":")))
    report.add("mcp", "tools/list", tokens, "tokens", limit=MOST_TOKENS, detail=f"{len(tools['tools'])} tools")


def _spread(seconds: list[float]) -> str:
    return f"{min(seconds):.3f}–{max(seconds):.3f} s in {len(seconds)} starts"


def _reference(report: Report) -> dict[str, list[str]]:
    node, npm = shutil.which("node"), shutil.which("npm")
    folder = cache() / "npm"
    entry = folder / "node_modules" / REFERENCE / "dist" / "index.js"
    if node is None or npm is None:
        report.note("there is no Node here, so the reference server is not measured")
        return {}
    if not entry.exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([npm, "install", "--silent", "--prefix", str(folder), REFERENCE], check=False)
        if done.returncode or not entry.exists():
            report.note("npm could not install the reference server, so it is not measured")
            return {}
    npx = [shutil.which("npx") or "npx", "--offline", "--prefix", str(folder), "mcp-server-memory"]
    return {"npm": [node, str(entry)], "npx": npx}


# ---------------------------------------------------------------- searching


def _searches(report: Report, corpus: Corpus, folder: Path, bank: Built) -> None:
    warm_up = 10
    questions = [question.text for question in corpus.questions(2 * SEARCHES + warm_up, bank.scale, seed=11)]
    with ExitStack() as stack:
        library = stack.enter_context(bank.open())
        server = stack.enter_context(Server(_ours(folder, bank)))
        server.hello()

        def by_library(number: int) -> object:
            return library.search(questions[number], limit=5, min_confidence=0.5)

        def by_server(number: int) -> object:
            return server.ask("tools/call", {"name": "memory_search", "arguments": {"query": questions[number]}})

        def one(call, numbers: range) -> float:
            """Processor time of this process for each call: on a busy machine the clock tells of the others."""
            began = time.process_time()
            for number in numbers:
                call(number)
            return (time.process_time() - began) / len(numbers)

        taken = in_turns({"library": by_library, "server": by_server}, SEARCHES, block=1, warm_up=warm_up)
        fresh = range(SEARCHES + warm_up, len(questions))
        library_cpu = one(by_library, fresh)
        before = server.processor_seconds()
        client_cpu = one(by_server, fresh)
        server_cpu = (server.processor_seconds() - before) / len(fresh)
    shown = {name: (times.p50_ms, times.at(0.1) * 1e3) for name, times in taken.items()}
    where = f"{bank.embedder}, {bank.scale:,}"
    report.add(
        "mcp",
        f"search over stdio above the library's, {where}",
        shown["server"][0] - shown["library"][0],
        "ms",
        limit=MOST_MS_ABOVE,
        detail=f"p50 {shown['server'][0]:.2f} against {shown['library'][0]:.2f} ms, "
        f"p10 {shown['server'][1]:.2f} against {shown['library'][1]:.2f}",
    )
    report.add(
        "mcp",
        f"the same in processor time, server and client, {where}",
        1e3 * (server_cpu + client_cpu - library_cpu),
        "ms",
        limit=MOST_MS_ABOVE,
        detail=f"server {1e3 * server_cpu:.2f}, client {1e3 * client_cpu:.2f}, library {1e3 * library_cpu:.2f} ms",
    )
