"""Hooks of coding agents as they are really called: a process each, at 100,000 memories, at rest and under load.

    python -m bench hooks [--scale N] [--rounds N] [--embedder NAME] [--checkout] [--out FILE]

For each load (so many processes that compute, this one among them): the first prompt of a session when nothing is warm,
the first prompt right after the session's start, which starts the helper, and every event of a session once it is warm.
Beside `python -c pass` of the same interpreter in the same rounds, which on a busy machine says more than milliseconds.
What a hook leaves to be read is waited for between two calls, so that it is not measured with the next.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.banks import NAMESPACE, Built, built
from bench.corpus import Corpus
from bench.installed import environment, fresh_venv
from bench.report import Report
from bench.timing import Times
from reasoningbank.config import locate
from reasoningbank.files import hold
from reasoningbank_coding_agents.state_dir import place_of

SCALE = 100_000
ROUNDS = 11
LOADS = (1, 8)
FIRST_PROMPT_LIMIT_MS, DEADLINE_MS = 400.0, 1_500.0
QUIET_PASS_MS = 12.0
"""What `python -c pass` takes on two cores with nothing else to do: it makes a limit a ratio on a busy machine."""
PATIENCE_S = 120.0
COLD, AFTER_START = "first prompt, cold", "first prompt after SessionStart"
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "SubagentStart", "Stop")
BUSY = "while True: sum(range(10_000))"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench hooks")
    parser.add_argument("--scale", type=int, default=SCALE)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--embedder", choices=("hash", "local"), action="append")
    parser.add_argument("--checkout", action="store_true", help="measure this interpreter, not a fresh installation")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(arguments)
    report = Report()
    program = [sys.executable, "-m", "reasoningbank"] if asked.checkout else None
    measure(report, Corpus(), asked.scale, rounds=asked.rounds, embedders=asked.embedder, program=program)
    print(report.table())
    if asked.out is not None:
        report.write(asked.out)
    return 0


def measure(
    report: Report,
    corpus: Corpus,
    scale: int = SCALE,
    *,
    rounds: int = ROUNDS,
    embedders: Sequence[str] | None = None,
    program: list[str] | None = None,
) -> None:
    if program is None:
        folder = fresh_venv("mcp")
        python, program = str(folder / "bin" / "python"), [str(folder / "bin" / "reasoningbank")]
    else:
        python = program[0]
    for embedder in embedders or ("hash", "local"):
        bank = built(corpus, scale, embedder)
        hooks = Hooks(python, program, bank, corpus, rounds)
        try:
            for load in LOADS:
                with busy_machine(load - 1):
                    _compare(report, hooks, embedder, load, rounds)
        finally:
            hooks.end_helper()
            shutil.rmtree(place_of(locate(bank.path)).folder, ignore_errors=True)


@contextmanager
def busy_machine(others: int) -> Iterator[None]:
    """So many processes beside this one that do nothing but compute."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(others)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait(PATIENCE_S)


class Hooks:
    def __init__(self, python: str, program: list[str], bank: Built, corpus: Corpus, rounds: int) -> None:
        self.bank = bank
        self._python, self._program = python, program
        self._place = place_of(locate(bank.path))
        self._questions = [question.text for question in corpus.questions(rounds, bank.scale, 12)]
        own = {"REASONINGBANK_BANK": str(bank.path), "REASONINGBANK_NAMESPACE": NAMESPACE}
        kept = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")} if program[0] == sys.executable else {}
        self._environment = {**environment(), **kept, **own, "REASONINGBANK_HOOKS": "deadline_ms=30000"}
        self._calls = 0

    def nothing(self, _: int) -> float:
        return self._timed([self._python, "-c", "pass"], b"")

    def first_prompt_cold(self, number: int) -> float:
        self.end_helper()
        return self.event("UserPromptSubmit", number)

    def first_prompt_after_start(self, number: int) -> float:
        """As a headless agent has it: the prompt follows at once. A person takes seconds to type one."""
        self.end_helper()
        self.event("SessionStart", number, settle=False)
        return self.event("UserPromptSubmit", number)

    def event(self, name: str, number: int, *, settle: bool = True) -> float:
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
            **({"agent_id": "a1"} if name.startswith("Subagent") else {}),
        }
        seconds = self._timed([*self._program, "hook", "claude-code"], json.dumps(told).encode())
        if settle:
            self._settle()
        return seconds

    def warm_up(self) -> None:
        self.event("UserPromptSubmit", 0)

    def end_helper(self) -> None:
        """End the helper that our own hooks have started, by its id, and wait until it is gone."""
        for path in self._place.folder.glob("warm-*.sock"):
            with suppress(ProcessLookupError, ValueError):
                os.kill(int(path.stem.partition("-")[2]), signal.SIGTERM)
        if self._place.folder.is_dir():
            self._wait_for(self._place.helper_lock)

    def _timed(self, command: list[str], raw: bytes) -> float:
        began = time.perf_counter()
        subprocess.run(command, input=raw, env=self._environment, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - began

    def _settle(self) -> None:
        if self._place.work_lock.exists():
            self._wait_for(self._place.work_lock)

    def _wait_for(self, lock: Path) -> None:
        descriptor = hold(lock, PATIENCE_S)
        if descriptor is not None:
            os.close(descriptor)


def _compare(report: Report, hooks: Hooks, embedder: str, load: int, rounds: int) -> None:
    limit_ms = FIRST_PROMPT_LIMIT_MS if load == 1 else DEADLINE_MS
    how = f"{embedder}, load {load}"
    floor = Times.of([hooks.nothing(number) for number in range(rounds)])
    report.add("hooks", f"python -c pass, {how}, p50", floor.p50_ms, "ms", detail=f"p95 {floor.p95_ms:.0f} ms")
    firsts = {COLD: hooks.first_prompt_cold, AFTER_START: hooks.first_prompt_after_start}
    for name, call in firsts.items():
        _add(report, f"{name}, {how}", [call(number) for number in range(rounds)], floor, limit_ms)
    hooks.warm_up()
    for name in EVENTS:
        # Nobody waits for advice at a stop, and the note has ten seconds.
        limit = None if name == "Stop" else limit_ms
        _add(report, f"{name}, warm, {how}", [hooks.event(name, number) for number in range(rounds)], floor, limit)


def _add(report: Report, what: str, seconds: list[float], floor: Times, limit_ms: float | None) -> None:
    times = Times.of(seconds)
    report.add("hooks", f"{what}, p50", times.p50_ms, "ms", limit=limit_ms, detail=f"p95 {times.p95_ms:.0f} ms")
    ratio, p95 = times.p50_ms / floor.p50_ms, times.p95_ms / floor.p50_ms
    limit = FIRST_PROMPT_LIMIT_MS / QUIET_PASS_MS if limit_ms == FIRST_PROMPT_LIMIT_MS else None
    report.add("hooks", f"{what} / python -c pass", ratio, "×", limit=limit, detail=f"p95 {p95:.1f} ×")
