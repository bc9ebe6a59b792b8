"""What every suite shares: a bank in an empty folder, and Python processes that can be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import reasoningbank
from reasoningbank import ReasoningBank

settings.register_profile("everyday", deadline=None, database=None)
settings.load_profile("everyday")

SOURCE = Path(reasoningbank.__file__).parent.parent


class Clock:
    """A clock that only moves when told to."""

    def __init__(self, now: float = 1_790_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def forward(self, *, seconds: float = 0.0, days: float = 0.0) -> None:
        self.now += seconds + days * 86_400.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may see, let alone touch, the bank of whoever runs it."""
    for name in [name for name in os.environ if name.startswith("REASONINGBANK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REASONINGBANK_HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bank.db"


@pytest.fixture
def bank(path: Path) -> Iterator[ReasoningBank]:
    with ReasoningBank.open(path, embedder="hash", namespace="n") as opened:
        yield opened


@pytest.fixture
def child() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`child(code, *arguments)` starts a Python process; whatever is left of them at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finished(process: subprocess.Popen[str], timeout_s: float = 60.0) -> str:
    """The output of a process that must end well."""
    out, err = process.communicate(timeout=timeout_s)
    assert process.returncode == 0, err
    return out


@pytest.fixture(name="finished")
def _finished() -> Callable[..., str]:
    return finished
