"""How many ordinary commands of a day a hook holds back wrongly, against a bank that learned from ten failures.

    python -m bench false_denials

The sessions are Claude Code's transcripts, read as hooks read them; each command of `shell_history.txt` is then asked
about by the hook before a tool, each in a session of its own, since a session is told a thing once. Nothing is started:
the hooks are answered in this process.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Report
from reasoningbank.config import locate
from reasoningbank.files import hold
from reasoningbank_coding_agents.capture_worker import work
from reasoningbank_coding_agents.hook_local import answer
from reasoningbank_coding_agents.state_dir import make_room, place_of

HISTORY = Path(__file__).with_name("shell_history.txt")
HOOKS = "deadline_ms=300000,helper=0"


@dataclass(frozen=True, slots=True)
class Failure:
    """A session: what was asked, what failed and how, what worked."""

    asked: str
    failing: str
    said: str
    working: str
    printed: str


SESSIONS = (
    Failure("Run the unit tests of the parser", "pytest tests/parser", "/bin/bash: line 1: pytest: command not found",
            "uv run pytest tests/parser", "12 passed in 0.31s"),
    Failure("Run the suite", "python run_tests.py --fast",
            "RuntimeError: DATABASE_URL is not set and no --db was given",
            "python run_tests.py --fast --db sqlite", "140 passed"),
    Failure("Build the frontend", "npm run build --fast", "npm error unknown option '--fast'",
            "npm run build --quick", "built in 2.1s"),
    Failure("Start the services", "docker-compose up -d worker", "/bin/bash: docker-compose: command not found",
            "docker compose up -d worker", "Started"),
    Failure("Type check", "mypy src --strict-all", "mypy: error: unrecognized arguments: --strict-all",
            "mypy src --strict", "Success: no issues found"),
    Failure("Run the Go tests of auth", "go test auth", "package auth is not in std (/usr/local/go/src/auth)",
            "go test ./auth", "ok  auth 0.02s"),
    Failure("Build the image", "docker build . --file-name Dockerfile.dev", "unknown flag: --file-name",
            "docker build . --file Dockerfile.dev", "writing image sha256:1f"),
    Failure("Run the tests of the shop", "python manage.py test shop --database sqlite",
            "manage.py test: error: unrecognized arguments: --database sqlite",
            "python manage.py test shop --settings=shop.test", "Ran 31 tests"),
    Failure("Test the crate", "cargo test --pkg parser",
            "error: unexpected argument '--pkg' found, tip: a similar argument exists: '--package'",
            "cargo test --package parser", "test result: ok"),
    Failure("Check the style", "flake8 src --max-length 100",
            "flake8: error: unrecognized arguments: --max-length 100",
            "flake8 src --max-line-length 100", "0 problems"),
)  # fmt: skip


class Door:
    """The hooks of one machine with one repository, answered in this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.repository = folder / "work"
        (self.repository / ".git").mkdir(parents=True)
        (self.repository / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.com:acme/app.git\n')
        (self.repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.bank = folder / "bank.db"
        self._place = place_of(locate(self.bank))

    def tell(self, event: str, session: str, **more: object) -> str:
        """What a hook prints for an event."""
        payload = {
            "session_id": session,
            "transcript_path": str(self._folder / f"{session}.jsonl"),
            "cwd": str(self.repository),
            "hook_event_name": event,
            **more,
        }
        make_room(self._place.work_lock)
        lock = hold(self._place.work_lock)
        try:
            raw = json.dumps(payload).encode()
            where = str(self._folder)
            return answer(locate(self.bank), "claude-code", None, raw, namespace=None, hooks=HOOKS, cwd=where)
        finally:
            if lock is not None:
                os.close(lock)

    def refusal(self, command: str, session: str) -> str:
        """Why a command is held back; "" when it is not."""
        told = self.tell("PreToolUse", session, tool_name="Bash", tool_input={"command": command})
        found = json.loads(told).get("hookSpecificOutput", {}) if told else {}
        return found.get("permissionDecisionReason", "") if found.get("permissionDecision") in ("deny", "ask") else ""

    def live_through(self, session: str, asked: str, steps: Iterable[tuple[str, str, bool]]) -> None:
        """A whole session: hooks, transcript, and its reading. A step is a command, its output, and if it failed."""
        self.tell("SessionStart", session, source="startup")
        self.tell("UserPromptSubmit", session, prompt=asked)
        records = [self._record(session, 0, "user", asked)]
        for number, (command, printed, has_failed) in enumerate(steps):
            call = f"toolu_{session}_{number}"
            given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call}
            self.tell("PreToolUse", session, **given)
            output = f"Exit code 1\n{printed}" if has_failed else printed
            if has_failed:
                self.tell("PostToolUseFailure", session, **given, error=output, is_interrupt=False)
            use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
            result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": has_failed}
            records += [
                self._record(session, len(records), "assistant", [use]),
                self._record(session, len(records) + 1, "user", [result]),
            ]
        records.append(self._record(session, len(records), "assistant", [{"type": "text", "text": "It is done."}]))
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (self._folder / f"{session}.jsonl").write_text(lines, "utf-8")
        self.tell("Stop", session, stop_hook_active=False)
        self.tell("SessionEnd", session, reason="exit")
        work(locate(self.bank), self._place, clock=time.time, over=lambda: False)

    def _record(self, session: str, number: int, kind: str, content: object) -> dict[str, object]:
        return {
            "type": kind,
            "uuid": f"{session}-{number}",
            "sessionId": session,
            "cwd": str(self.repository),
            "version": "2.1.0",
            "timestamp": f"2026-11-15T12:00:{number % 60:02}.000Z",
            "message": {"role": kind, "content": content},
        }


def learn(door: Door, sessions: Sequence[Failure] = SESSIONS) -> None:
    for number, one in enumerate(sessions):
        steps = [(one.failing, one.said, True), (one.working, one.printed, False)]
        door.live_through(f"learn-{number}", one.asked, steps)


def held_back(door: Door, commands: Iterable[str]) -> dict[str, str]:
    """The commands that are held back, and why; each as the first of a session."""
    reasons = {command: door.refusal(command, f"ask-{number}") for number, command in enumerate(commands)}
    return {command: reason for command, reason in reasons.items() if reason}


def history() -> list[str]:
    return [line.replace("\\n", "\n") for line in HISTORY.read_text("utf-8").splitlines()]


def main(arguments: Sequence[str]) -> int:
    if arguments:
        print(__doc__)
        return 2
    report = Report()
    os.environ["REASONINGBANK_EMBEDDER"] = "hash"
    with TemporaryDirectory() as folder:
        door = Door(Path(folder))
        learn(door)
        commands = history()
        wrongly = held_back(door, commands)
        known = held_back(door, [one.failing for one in SESSIONS])
        mended = held_back(door, [one.working for one in SESSIONS])
    report.add("denials", f"of {len(commands)} ordinary commands held back", len(wrongly), "", limit=0)
    report.add("denials", f"of {len(SESSIONS)} ways that worked held back", len(mended), "", limit=0)
    report.add(
        "denials", f"of {len(SESSIONS)} known failures held back", len(known), "", limit=len(SESSIONS), at_least=True
    )
    for command, reason in (wrongly | mended).items():
        report.note(f"{command}: {reason}")
    for one in SESSIONS:
        if one.failing not in known:
            report.note(f"not held back: {one.failing}")
    print(report.table())
    return 0
