"""How much of the program a call runs through: files and calls of ours, from the first import to the answer.

    python -m bench walks [--list WALK]

Each walk is a process of its own on a warm bank, with the embedder `hash` and no helper or server beside it. Counted
are calls of Python functions whose file lies in `src`, in all threads, and the files that hold them; `--list` names
those of one walk.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.report import Report

SOURCE = Path(__file__).parents[1] / "src"
TO_REACH = {"store": 40, "query": 85, "a finished session": 120}
"""Files. The others are shown."""
WITHIN_S = 300.0
_COUNTED = """
import atexit, json, os, runpy, sys, threading
source, out = sys.argv[1:3]
calls = {}
def note(frame, event, argument):
    # The bodies of modules and classes are no functions: they are not optimized.
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and code.co_filename.startswith(source):
        calls[code.co_filename] = calls.get(code.co_filename, 0) + 1
def tell():
    sys.setprofile(None)
    with open(out, "w") as file:
        json.dump(calls, file)
def leave(code, leave=os._exit):
    tell()
    leave(code)
atexit.register(tell)
os._exit = leave
sys.argv = sys.argv[2:]
threading.setprofile(note)
sys.setprofile(note)
runpy.run_module("reasoningbank", run_name="__main__", alter_sys=True)
"""
_OVER_REST = """
import sys
from pathlib import Path
import bench.walks
bench.walks.serve_once(*sys.argv[1:])
"""
SESSION = [
    {"type": "user", "message": {"role": "user", "content": "Run the tests of the billing service"}},
    {"type": "assistant", "message": {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest billing"}}]}},
    {"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "is_error": True,
         "content": "Exit code 4\\nERROR: file or directory not found: billing"}]}},
    {"type": "assistant", "message": {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "pytest services/billing"}}]}},
    {"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t2", "content": "12 passed in 0.3s"}]}},
    {"type": "assistant", "message": {"role": "assistant", "content": "All tests of the billing service pass."}},
]  # fmt: skip


class Walks:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bank = folder / "bank.db"
        self._environment = {
            name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "SYSTEMROOT")
        } | {
            "HOME": str(folder),
            "PYTHONPATH": os.pathsep.join([str(SOURCE), str(SOURCE.parent)]),
            "REASONINGBANK_HOME": str(folder),
            "REASONINGBANK_EMBEDDER": "hash",
            "REASONINGBANK_HOOKS": "helper=0",
        }

    def run(self, *words: str, said: str = "") -> dict[str, int]:
        """Calls by file, of one command of the bank."""
        return self._count(_COUNTED, *words, said=said)

    def store(self) -> dict[str, int]:
        return self.run("store", "retries", "Retry twice, then give up", "--bank", str(self._bank))

    def query(self) -> dict[str, int]:
        return self.run("query", "how often is a call retried", "--bank", str(self._bank))

    def hook(self) -> dict[str, int]:
        event = {
            "session_id": "s1", "transcript_path": str(self._folder / "s1.jsonl"), "cwd": str(self._folder),
            "hook_event_name": "UserPromptSubmit", "prompt": "How often is a call retried?",
        }  # fmt: skip
        return self.run("hook", "claude-code", "--bank", str(self._bank), said=json.dumps(event))

    def session(self) -> dict[str, int]:
        """From the transcript to the lesson."""
        file = self._folder / "transcript.jsonl"
        lines = [
            {**line, "sessionId": "s2", "cwd": str(self._folder), "uuid": f"u{n}"} for n, line in enumerate(SESSION)
        ]
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
        return self.run("ingest", str(file), "--distill", "--own", "--bank", str(self._bank))

    def mcp(self) -> dict[str, int]:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        search = {"name": "memory_search", "arguments": {"query": "how often is a call retried"}}
        asked = [("initialize", hello), ("tools/call", search)]
        lines = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(asked)
        ]
        said = "".join(f"{json.dumps(line)}\n" for line in lines)
        return self.run("serve", "--mcp", "--bank", str(self._bank), said=said)

    def rest(self) -> dict[str, int]:
        """The second search of a server: what the first one loads and opens is there."""
        return self._count(_OVER_REST, str(self._bank))

    def _count(self, program: str, *words: str, said: str = "") -> dict[str, int]:
        out = self._folder / "calls.json"
        out.unlink(missing_ok=True)
        run = subprocess.run(
            [sys.executable, "-c", program, str(SOURCE), str(out), *words],
            input=said, capture_output=True, text=True, timeout=WITHIN_S, check=False, env=self._environment,
            cwd=self._folder,
        )  # fmt: skip
        if run.returncode or not out.exists():
            raise SystemExit(f"{words[0]} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
        calls: dict[str, int] = json.loads(out.read_text("utf-8"))
        return {str(Path(name).relative_to(SOURCE)): count for name, count in calls.items()}


def serve_once(source: str, out: str, bank_path: str) -> None:
    """Search twice over a real socket, in one process, and count the second."""
    import threading
    from collections import Counter
    from types import FrameType

    from reasoningbank import ReasoningBank
    from tests.server.conftest import served

    calls: Counter[str] = Counter()
    counting = False

    def note(frame: FrameType, event: str, _: object) -> None:
        if counting and event == "call" and frame.f_code.co_filename.startswith(source):
            calls[frame.f_code.co_filename] += 1

    threading.setprofile(note)
    with ReasoningBank.open(bank_path, namespace="default") as bank, served(bank) as api:
        api.search("how often is a call retried")
        counting = True
        api.search("how often is a call retried")
        counting = False
    threading.setprofile(None)
    Path(out).write_text(json.dumps(calls), "utf-8")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench walks", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", metavar="WALK", help="name the files of this walk, and how often each is called")
    asked = parser.parse_args(arguments)
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        walks = Walks(Path(folder))
        walks.store()
        walks.query()
        steps: dict[str, Callable[[], dict[str, int]]] = {
            "store": walks.store, "query": walks.query, "a hook alone": walks.hook, "a finished session": walks.session,
            "a search over MCP": walks.mcp, "a search over REST": walks.rest,
        }  # fmt: skip
        for name, walk in steps.items():
            calls = walk()
            limit = TO_REACH.get(name)
            report.add("walks", name, len(calls), "files", limit=limit, detail=f"{sum(calls.values()):,} calls")
            if name == asked.list:
                for file, count in sorted(calls.items()):
                    print(f"{count:>7,} {file}")
    print(report.table())
    return 0
