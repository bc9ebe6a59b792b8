"""While many memories come in, a second process brings the index forward."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reasoningbank import ReasoningBank
from reasoningbank.core.confidence import policy_named
from reasoningbank.core.settings import DEFAULTS
from reasoningbank.wiring.index_helper import MANY, MODULE
from tests.conftest import SOURCE

pytestmark = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else True, reason="there is one processor"
)
WAIT_S = 300.0


def _within(wanted: Callable[[], bool]) -> bool:
    until = time.monotonic() + WAIT_S
    pause = threading.Event()
    while not wanted() and time.monotonic() < until:
        pause.wait(0.02)
    return wanted()


def test_a_long_import_is_indexed_before_anybody_asks_for_it(tmp_path: Path) -> None:
    lines = tmp_path / "many.jsonl"
    texts = ({"title": f"Lesson {n}", "content": f"Mind the gap number {n}."} for n in range(MANY + 1))
    lines.write_text("".join(json.dumps(text) + "\n" for text in texts), "utf-8")
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        owed: list[int] = []

        def wait_for_index(count: int) -> None:
            if count == MANY + 1:
                # This process neither searches nor follows: whatever is in the index, another one put there.
                _within(lambda: bank.index_lag() == 0)
                owed.append(bank.index_lag())

        assert bank.import_from(lines, restore=True, progress=wait_for_index).added.total() == MANY + 1
        assert owed == [0]
        assert not bank.has_open_index
        [found] = bank.search("the gap number 1999", limit=1)
        assert found.memory.title == "Lesson 1999"


def test_a_helper_ends_with_the_process_that_holds_it(tmp_path: Path) -> None:
    with ReasoningBank.open(tmp_path / "bank.db", embedder="hash") as bank:
        bank.record(title="One", content="One memory.")
        helper = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE, str(tmp_path / "bank.db")],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )
        assert helper.stdin is not None
        helper.stdin.write(pickle.dumps((policy_named("bayes"), DEFAULTS)))
        helper.stdin.flush()
        assert _within(lambda: bank.index_lag() == 0)
        helper.stdin.close()
        assert helper.wait(WAIT_S) == 0
