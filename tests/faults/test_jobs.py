"""Workers killed at any moment lose no job and double no effect; a clock that lies changes nothing about that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank

ROOT = Path(__file__).parents[2]
FAKETIME = shutil.which("faketime")


def stormed(*words: str, timeout_s: float) -> dict[str, object]:
    run = subprocess.run(
        [sys.executable, "-m", "bench.jobs", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert run.stdout, run.stderr
    return json.loads(run.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the storm forks its workers")
def test_killed_workers_lose_no_job_and_double_no_effect() -> None:
    result = stormed("--jobs", "100", "--kills", "12", "--work", "0.05", "--seed", "15112026", timeout_s=180)
    assert result["violations"] == []
    assert result["kills"] >= 12


@pytest.mark.storm
def test_two_hundred_killed_workers_lose_none_of_two_thousand_jobs() -> None:
    result = stormed("--jobs", "2000", "--kills", "200", timeout_s=900)
    assert result["violations"] == []
    assert result["innocent_dead"] == 0


HOLDER = """
import sys
from reasoningbank.wiring import ReasoningBank
from reasoningbank.learn import owners, queue
bank = ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n")
[claimed] = queue.claim(bank.desk, owners.this_process() + "1", 1)
print(claimed.job.id, flush=True)
sys.stdin.readline()
bank.desk.store.write(bank.tenant, lambda w: queue.finish(bank.desk, w, claimed, ()))
print("mine", flush=True)
"""
WORKER = """
import sys
from reasoningbank.wiring import ReasoningBank
bank = ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n")
print(*[attempt.job_id for attempt in bank.distill().attempts], flush=True)
"""


@pytest.mark.skipif(FAKETIME is None, reason="needs libfaketime")
@pytest.mark.parametrize("jump", ["+1h", "-1h", "+10y", "-10y"])
def test_a_worker_whose_clock_is_wrong_neither_steals_a_job_nor_leaves_one_stuck(path, child, finished, jump) -> None:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as bank:
        for number in range(3):
            bank.end_session(bank.start_session(f"task {number}").id, "success")
    holder = child(HOLDER, path)
    held = holder.stdout.readline().strip()
    wrong = subprocess.run(
        [FAKETIME, "-f", jump, sys.executable, "-c", WORKER, str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    done = wrong.stdout.split()
    assert held not in done
    assert len(done) == 2
    out, err = holder.communicate("go\n", timeout=30)
    assert out.strip() == "mine", err
