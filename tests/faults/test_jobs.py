"""A clock that lies neither steals a job nor leaves one stuck. What kills do to workers: `bench/storms/jobs.py`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from reasoningbank import ReasoningBank

FAKETIME = shutil.which("faketime")


HOLDER = """
import sys
from reasoningbank.wiring import ReasoningBank
from reasoningbank.learn import process_identity, queue
bank = ReasoningBank.open(sys.argv[1], embedder="hash", namespace="n")
[claimed] = queue.claim(bank.context, process_identity.this_process() + "1", 1)
print(claimed.job.id, flush=True)
sys.stdin.readline()
bank.context.store.write(bank.tenant, lambda w: queue.finish(bank.context, w, claimed, ()))
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
        timeout=600,
        check=True,
    )
    done = wrong.stdout.split()
    assert held not in done
    assert len(done) == 2
    out, err = holder.communicate("go\n", timeout=600)
    assert out.strip() == "mine", err
