"""Attributes that are made when they are first asked for."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from reasoningbank.core.lazy import lazy

SOURCES = Path(__file__).parents[2] / "src" / "reasoningbank"


class Asked:
    def __init__(self, made: list[int], may_go_on: threading.Event) -> None:
        self.made, self.may_go_on, self.has_begun = made, may_go_on, threading.Event()

    @lazy
    def answer(self) -> int:
        self.made.append(1)
        self.has_begun.set()
        assert self.may_go_on.wait(600)
        return 42


def test_it_is_made_once_and_only_when_it_is_asked_for() -> None:
    made, go = [], threading.Event()
    go.set()
    asked = Asked(made, go)
    assert made == []
    assert (asked.answer, asked.answer, made) == (42, 42, [1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_is_forked_while_another_thread_makes_one_makes_its_own() -> None:
    go = threading.Event()
    held = Asked([], go)
    thread = threading.Thread(target=lambda: held.answer)
    thread.start()
    assert held.has_begun.wait(600)
    pid = os.fork()
    if pid == 0:
        mine = threading.Event()
        mine.set()
        os._exit(0 if Asked([], mine).answer == 42 else 1)
    deadline, ended = time.monotonic() + 300, (0, 0)
    while not ended[0] and time.monotonic() < deadline:
        ended = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.005)
    go.set()
    thread.join()
    if not ended[0]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert ended == (pid, 0)


def test_nothing_uses_the_one_whose_lock_a_forked_child_waits_for() -> None:
    assert [path.name for path in SOURCES.rglob("*.py") if "import cached_property" in path.read_text("utf-8")] == []
