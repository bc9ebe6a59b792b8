"""Hooks of coding agents as they are really called: a process each, at 100,000 memories, with and without a server.

    python -m bench hooks [--scale N] [--out FILE]

Beside `python -c "import numpy"` of the same interpreter in the same run, which on a busy machine says more than
milliseconds. What a hook leaves to be read is waited for between two calls, so that it is not measured with the next.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.banks import NAMESPACE, Built, built
from bench.corpus import Corpus
from bench.installed import environment, fresh_venv
from bench.report import Report
from bench.timing import Times
from reasoningbank.agents.state_dir import place_of
from reasoningbank.config import locate
from reasoningbank.files import hold

SCALE = 100_000
ROUNDS, WARM_UP = 15, 2
WARM_LIMIT_MS, COLD_LIMIT_MS = 150.0, 400.0
QUIET_NUMPY_MS = 87.0
"""What `import numpy` takes on the machine of `results/cold.json` when nothing else runs; it makes limits ratios."""
PATIENCE_S = 120.0
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "Stop")


@dataclass(frozen=True, slots=True)
class Call:
    seconds: float
    computing: float


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench hooks")
    parser.add_argument("--scale", type=int, default=SCALE)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(arguments)
    report = Report()
    measure(report, Corpus(), asked.scale)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def measure(report: Report, corpus: Corpus, scale: int = SCALE) -> None:
    folder = fresh_venv("mcp")
    for embedder in ("hash", "local"):
        bank = built(corpus, scale, embedder)
        hooks = Hooks(folder, bank, corpus)
        try:
            _compare(report, hooks, f"cold, {embedder}", COLD_LIMIT_MS)
            with_server = hooks.served()
            try:
                _compare(report, hooks, f"warm, {embedder}", WARM_LIMIT_MS)
            finally:
                with_server.terminate()
                with_server.wait(PATIENCE_S)
        finally:
            shutil.rmtree(place_of(locate(bank.path)).folder, ignore_errors=True)


class Hooks:
    def __init__(self, folder: Path, bank: Built, corpus: Corpus) -> None:
        self.bank = bank
        self._folder = folder
        self._questions = [question.text for question in corpus.questions(ROUNDS + WARM_UP, bank.scale, 12)]
        own = {"REASONINGBANK_BANK": str(bank.path), "REASONINGBANK_NAMESPACE": NAMESPACE}
        self._environment = {**environment(), **own, "REASONINGBANK_HOOKS": "deadline_ms=30000"}
        self._calls = 0

    def numpy(self, _: int) -> Call:
        return self._timed([str(self._folder / "bin" / "python"), "-c", "import numpy"], b"")

    def event(self, name: str, number: int) -> Call:
        self._calls += 1
        question = self._questions[number % len(self._questions)]
        told = {
            "session_id": f"bench-{self._calls}",
            "transcript_path": "/nowhere/transcript.jsonl",
            "cwd": "/",
            "hook_event_name": name,
            "prompt": question,
            "tool_name": "Bash",
            "tool_input": {"command": f"make {question}"},
            "error": f"Exit code 2\nerror: {question}",
        }
        command = [str(self._folder / "bin" / "reasoningbank"), "hook", "claude-code"]
        call = self._timed(command, json.dumps(told).encode())
        self._settle()
        return call

    def served(self) -> subprocess.Popen[bytes]:
        """A server that answers, with everything loaded."""
        process = subprocess.Popen(
            [str(self._folder / "bin" / "reasoningbank"), "serve", "--mcp"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=self._environment,
        )  # fmt: skip
        deadline = time.monotonic() + PATIENCE_S
        while not list(place_of(locate(self.bank.path)).folder.glob("*.sock")):
            assert time.monotonic() < deadline, "the server does not listen"
            time.sleep(0.05)
        self.event("UserPromptSubmit", 0)
        time.sleep(3.0)
        return process

    def _timed(self, command: list[str], raw: bytes) -> Call:
        before = _computed()
        began = time.perf_counter()
        subprocess.run(command, input=raw, env=self._environment, stdout=subprocess.DEVNULL, check=True)
        return Call(time.perf_counter() - began, _computed() - before)

    def _settle(self) -> None:
        lock = place_of(locate(self.bank.path)).work_lock
        if lock.exists():
            descriptor = hold(lock, PATIENCE_S)
            with suppress(TypeError):
                os.close(descriptor)


def _computed() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _compare(report: Report, hooks: Hooks, how: str, limit_ms: float) -> None:
    contestants: dict[str, Callable[[int], Call]] = {'python -c "import numpy"': hooks.numpy}
    contestants |= {name: lambda number, name=name: hooks.event(name, number) for name in EVENTS}
    calls: dict[str, list[Call]] = {name: [] for name in contestants}
    for number in range(ROUNDS + WARM_UP):
        for name, call in contestants.items():
            made = call(number)
            if number >= WARM_UP:
                calls[name].append(made)
    floor, *_ = calls.values()
    floor_s, floor_computing = _median(floor, "seconds"), _median(floor, "computing")
    for name, made in calls.items():
        times = Times.of([call.seconds for call in made])
        if name not in EVENTS:
            report.add("hooks", f"{name}, {how}, p50", times.p50_ms, "ms", detail=f"p95 {times.p95_ms:.0f} ms")
            continue
        report.add("hooks", f"{name}, {how}, p50", times.p50_ms, "ms", limit=limit_ms,
                   detail=f"p95 {times.p95_ms:.0f} ms")  # fmt: skip
        ratio = _median(made, "seconds") / floor_s
        computing = _median(made, "computing") / floor_computing
        p95 = times.p95_ms / Times.of([call.seconds for call in floor]).p50_ms
        report.add("hooks", f"{name}, {how} / import numpy", ratio, "×", limit=limit_ms / QUIET_NUMPY_MS,
                   detail=f"p95 {p95:.2f} ×; {computing:.2f} × by processor time")  # fmt: skip


def _median(calls: Sequence[Call], what: str) -> float:
    return statistics.median(getattr(call, what) for call in calls)
