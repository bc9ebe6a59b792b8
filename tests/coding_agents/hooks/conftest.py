"""Hooks as agents call them: JSON on standard input, a repository around them.

`Desktop.spawn` is a process of its own, as an agent starts it; `Desktop.hook` is the same event in this process, which
is as true and takes a tenth of the time.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import reasoningbank
from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.files import hold
from reasoningbank_coding_agents import event_transcript, recall, session_log
from reasoningbank_coding_agents.capture_queue import waiting
from reasoningbank_coding_agents.capture_worker import work
from reasoningbank_coding_agents.hook_local import answer
from reasoningbank_coding_agents.state_dir import make_room, place_of
from tests.clones import a_clone

SOURCE = str(Path(reasoningbank.__file__).parents[1])
PATIENCE_S = 300.0
"""Only ends a hang: a reader is niced, and waits long on a machine that is busy."""


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


@dataclass
class Transcript:
    """A transcript of Claude Code as it really looks."""

    path: Path
    session: str
    cwd: str
    records: list[dict[str, Any]] = field(default_factory=list)

    def _add(self, kind: str, content: Any, **more: Any) -> dict[str, Any]:
        number = len(self.records)
        record = {
            "parentUuid": self.records[-1]["uuid"] if self.records else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.0",
            "gitBranch": "main",
            "type": kind,
            "message": {"role": kind, "content": content},
            "uuid": f"{self.session}-{number}",
            "timestamp": f"2026-11-15T12:00:{number % 60:02}.000Z",
            **more,
        }
        self.records.append(record)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        return record

    def says(self, text: str, **more: Any) -> None:
        self._add("user", text, **more)

    def answers(self, text: str) -> None:
        self._add("assistant", [{"type": "text", "text": text}])

    def calls(self, tool: str, given: dict[str, Any], result: str, *, failed: bool = False) -> None:
        call = f"toolu_{self.session}_{len(self.records)}"
        # One message over two lines, as the tool writes them.
        self._add("assistant", [{"type": "text", "text": f"I will use {tool}."}])
        self._add("assistant", [{"type": "tool_use", "id": call, "name": tool, "input": given}])
        block = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed}
        self._add("user", [block], toolUseResult={"stdout": result, "stderr": "", "interrupted": False})

    def runs(self, command: str, result: str, *, failed: bool = False) -> None:
        self.calls("Bash", {"command": command}, f"Exit code 1\n{result}" if failed else result, failed=failed)


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def context(self) -> str:
        """What was put into the agent's context."""
        if not self.out:
            return ""
        told = self.json
        return told.get("hookSpecificOutput", {}).get("additionalContext", "") or told.get("additional_context", "")

    @property
    def refusal(self) -> str:
        """Why a call was held back; "" when it was not."""
        told = self.json.get("hookSpecificOutput", {}) if self.out else {}
        return told.get("permissionDecisionReason", "") if told.get("permissionDecision") in ("deny", "ask") else ""


class Desktop:
    """A machine with a repository, a bank and coding agents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.repository = folder / "work"
        a_clone(self.repository, "git@example.com:acme/app.git")
        self.home.mkdir()
        self.bank_path = self.home / "bank.db"
        self.place = place_of(locate(self.bank_path))
        # A machine that tests on every core may be slow; what happens at the deadline has tests of its own.
        self.environment: dict[str, str] = {"REASONINGBANK_HOOKS": "deadline_ms=300000"}
        self.helper_seconds = 0
        """How long the helper stays; without one, nothing is left running when a test ends."""

    def env(self) -> dict[str, str]:
        own = {"REASONINGBANK_HOME": str(self.home), "REASONINGBANK_EMBEDDER": "hash", "PYTHONPATH": SOURCE}
        hooks = f"helper={self.helper_seconds},{self.environment.get('REASONINGBANK_HOOKS', '')}"
        return {**os.environ, **own, **self.environment, "REASONINGBANK_HOOKS": hooks}

    def command(self, agent: str = "claude-code", *words: str) -> list[str]:
        return [sys.executable, "-m", "reasoningbank", "hook", agent, *words]

    def start_hook(self, raw: bytes, agent: str = "claude-code", *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self.command(agent, *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self.env(),
        )
        process.stdin.write(raw)
        process.stdin.close()
        process.stdin = None
        return process

    def hook_raw(self, raw: bytes, agent: str = "claude-code", *words: str) -> Said:
        process = self.start_hook(raw, agent, *words)
        out, err = process.communicate(timeout=PATIENCE_S)
        return Said(process.returncode, out.decode("utf-8"), err.decode("utf-8"))

    def payload(self, event: str, session: str = "s1", **more: Any) -> dict[str, Any]:
        return {
            "session_id": session,
            "transcript_path": str(self.folder / f"{session}.jsonl"),
            "cwd": str(self.repository),
            "permission_mode": "default",
            "hook_event_name": event,
            **more,
        }

    def spawn(self, event: str, session: str = "s1", **more: Any) -> Said:
        """As Claude Code calls it."""
        said = self.hook_raw(json.dumps(self.payload(event, session, **more)).encode())
        assert said.code == 0, said.err
        return said

    def hook(self, event: str, session: str = "s1", *, agent: str = "claude-code", **more: Any) -> Said:
        """The same in this process, with nobody started to read the session: `read` does that."""
        return Said(0, self.here(json.dumps(self.payload(event, session, **more)).encode(), agent), "")

    def types(self, prompt: str, session: str = "s1", *, agent: str = "claude-code") -> Said:
        """What the user types, as the agent hands it over."""
        return self.hook("UserPromptSubmit", session, agent=agent, prompt=prompt)

    def here(self, raw: bytes, agent: str = "claude-code") -> str:
        make_room(self.place.work_lock)
        lock = hold(self.place.work_lock)
        assert lock is not None
        try:
            hooks = self.environment.get("REASONINGBANK_HOOKS", "")
            return answer(locate(self.bank_path), agent, None, raw, namespace=None, hooks=hooks, cwd=str(self.folder))
        finally:
            os.close(lock)

    def read(self, now: float | None = None) -> None:
        """What the reader does, in this process."""
        work(locate(self.bank_path), self.place, clock=lambda: now or time.time(), over=lambda: False)

    def transcript(self, session: str = "s1") -> Transcript:
        told = Transcript(self.folder / f"{session}.jsonl", session, str(self.repository))
        if told.path.exists():
            told.records = [json.loads(line) for line in told.path.read_text().splitlines()]
        return told

    def settle(self) -> None:
        """Until every session is read, and the process that did it has given the lock back."""
        until(lambda: not waiting(self.place))
        lock = hold(self.place.work_lock, PATIENCE_S)
        assert lock is not None, "the reader does not end"
        os.close(lock)
        assert waiting(self.place) == 0

    @contextmanager
    def bank(self, namespace: str = "example.com/acme/app") -> Iterator[ReasoningBank]:
        """The bank, indexed when the block ends: a hook has a tenth of a second for what is not."""
        with ReasoningBank.open(self.bank_path, namespace=namespace, embedder="hash") as bank:
            yield bank
            if bank.index_lag():
                assert bank.catch_up(budget_s=PATIENCE_S)

    def sockets(self) -> list[str]:
        """Of servers that answer hooks."""
        return sorted(path.name for path in self.place.folder.glob("*.sock"))

    def ask(self, event: str, session: str = "s1", *, turn: str = "", heard: bool = True, **more: Any) -> Any:
        """The answer of a server, asked over its socket as the hook's process does; unless it is `heard`, the hook has
        gone before it comes.
        """
        raw = json.dumps(self.payload(event, session, **more)).encode()
        head = {"agent": "claude-code", "event": None, "namespace": None, "hooks": "", "cwd": "/", "turn": turn}
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            address = str(self.place.folder / self.sockets()[0])
            # A socket has its name a moment before somebody listens at it.
            until(lambda: connection.connect_ex(address) != errno.ECONNREFUSED)
            connection.settimeout(PATIENCE_S)
            connection.sendall(json.dumps({**head, "size": len(raw)}).encode() + b"\n" + raw)
            if not heard:
                return None
            connection.shutdown(socket.SHUT_WR)
            said = b"".join(iter(lambda: connection.recv(65_536), b""))
            return json.loads(said.splitlines()[-1] if said else b"null")


@pytest.fixture
def desktop(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Desktop:
    # Not named after the test: the address of a socket has room for some hundred letters.
    made = Desktop(tmp_path_factory.mktemp("d"))
    monkeypatch.setenv("REASONINGBANK_HOME", str(made.home))
    monkeypatch.setenv("REASONINGBANK_EMBEDDER", "hash")
    return made


@pytest.fixture(autouse=True)
def _time_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a hook gives up for an agent that waits, it waits for here: what it says must not hang on a clock."""
    monkeypatch.setattr(recall, "CATCH_UP_S", PATIENCE_S)
    monkeypatch.setattr(session_log, "LONGEST_WAIT_S", PATIENCE_S)
    monkeypatch.setattr(event_transcript, "LONGEST_WAIT_S", PATIENCE_S)
