"""Two ways to run a command: in this process, and as a user does."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import reasoningbank
from reasoningbank.cli.main import main

SOURCE = str(Path(reasoningbank.__file__).parents[1])


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def id(self) -> str:
        return self.out.split()[0]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    for name in [name for name in os.environ if name.startswith("REASONINGBANK_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("REASONINGBANK_HOME", str(folder))
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    # The settings of whoever runs the tests are nobody's business either.
    for name in ("HOME", "USERPROFILE", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "user"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return folder


@pytest.fixture
def user(tmp_path, monkeypatch) -> Path:
    """The folder of a user whose coding agents keep their settings and transcripts in their usual places."""
    folder = tmp_path / "user"
    folder.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name)
    # `doctor` starts hooks, which would leave a warm process behind for as long as a session may need it.
    # No hook is out of time because the machine is busy: how long one may take is measured, not asserted.
    monkeypatch.setenv("REASONINGBANK_HOOKS", "helper=0,deadline_ms=300000")
    return folder


@pytest.fixture
def rb(capsys, monkeypatch):
    """Run a command in this process."""

    def run(*words: str, stdin: bytes | None = None) -> Result:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            if stdin is not None:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def spawn():
    """Run a command as a process of its own."""

    def run(*words: str, stdin: bytes = b"", **environment: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "reasoningbank", *map(str, words)],
            input=stdin,
            capture_output=True,
            env={**os.environ, **environment},
            timeout=300,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return run


@pytest.fixture
def memory(rb) -> str:
    """The id of a memory in the default bank."""
    return rb("store", "retry", "Retry a GET that timed out.", "--tag", "http").id
