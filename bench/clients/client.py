"""A client as the suite drives it: how it is started, what its tools are called, how prompts become one session."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from bench.clients.script import Request, Step, Turn, Use

PATIENCE_S = 120.0
"""For one run of a client, however many prompts it has."""
_AGENTS = "multi_agent_v1"
_OVERFULL = 270_000
"""Of tokens: beyond what Codex lets a conversation grow to."""
_ALLOWED = "Bash,Edit,Write,Read,Agent,Task"


@dataclass(frozen=True, slots=True)
class Surroundings:
    home: Path
    project: Path
    model: str
    """The address of the scripted model."""
    environment: dict[str, str]


class Client(ABC):
    name: str
    asks_for_trust = False
    """Whether it runs only hooks that its user has trusted."""

    def __init__(self, program: Path) -> None:
        self.program = program

    @abstractmethod
    def environment(self, model: str) -> dict[str, str]: ...

    def prepare(self, around: Surroundings) -> None:  # noqa: B027 - most users have nothing to do
        """What a user does once, after our installation."""

    @abstractmethod
    def talk(self, around: Surroundings, prompts: Sequence[str]) -> str:
        """One session, a prompt after the other; what the client printed."""

    @abstractmethod
    def shell(self, command: str, description: str = "") -> Use: ...

    @abstractmethod
    def edit(self, path: Path, old: str, new: str) -> Use: ...

    def before_edit(self, path: Path) -> list[Turn]:
        """What must come before an edit of a file, where the client insists on something."""
        del path
        return []

    @abstractmethod
    def delegating(self, errand: str) -> list[Step]:
        """The turns that have a subagent run an errand and wait for it."""

    @abstractmethod
    def compacting(self, before: str, after: str) -> tuple[list[str], list[Turn]]:
        """The prompts of a session that is compacted between two of them, and the turns up to the second."""


class ClaudeCode(Client):
    name = "claude-code"

    def environment(self, model: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": "sk-scripted",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def talk(self, around: Surroundings, prompts: Sequence[str]) -> str:
        command = [
            str(self.program), "-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json",
            "--allowedTools", _ALLOWED,
        ]  # fmt: skip
        printed = []
        with _started(command, around) as process:
            for prompt in prompts:
                message = {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": prompt}]}}
                process.stdin.write(json.dumps(message) + "\n")
                process.stdin.flush()
                for line in process.stdout:
                    printed.append(line)
                    if '"type":"result"' in line:
                        break
            process.stdin.close()
            printed += process.stdout
        return "".join(printed)

    def shell(self, command: str, description: str = "") -> Use:
        return Use("Bash", {"command": command, **({"description": description} if description else {})})

    def edit(self, path: Path, old: str, new: str) -> Use:
        return Use("Edit", {"file_path": str(path), "old_string": old, "new_string": new})

    def before_edit(self, path: Path) -> list[Turn]:
        return [Turn("", (Use("Read", {"file_path": str(path)}),))]

    def delegating(self, errand: str) -> list[Step]:
        given = {"description": "Delegated work", "prompt": errand, "subagent_type": "general-purpose"}
        return [Turn("", (Use("Agent", given),))]

    def compacting(self, before: str, after: str) -> tuple[list[str], list[Turn]]:
        summary = "<summary>The user asked for something, and it was done.</summary>"
        return [before, "/compact", after], [Turn("Done."), Turn(summary)]


class Codex(Client):
    name = "codex"
    asks_for_trust = True

    def environment(self, model: str) -> dict[str, str]:
        return {"OPENAI_API_KEY": "sk-scripted", "OPENAI_BASE_URL": f"{model}/v1"}

    def prepare(self, around: Surroundings) -> None:
        from bench.clients.codex_trust import trust_hooks

        trust_hooks(self.program, around)

    def talk(self, around: Surroundings, prompts: Sequence[str]) -> str:
        printed = []
        for number, prompt in enumerate(prompts):
            again = ["resume", "--last"] if number else []
            command = [
                str(self.program), "exec", *again, "--strict-config", "--dangerously-bypass-approvals-and-sandbox",
                "--json", *self.settings(around.model), prompt,
            ]  # fmt: skip
            with _started(command, around) as process:
                process.stdin.close()
                printed += process.stdout
        return "".join(printed)

    def settings(self, model: str) -> list[str]:
        provider = f'{{name = "scripted", base_url = "{model}/v1", wire_api = "responses"}}'
        told = {
            "model_providers.scripted": provider, "model_provider": "scripted", "model": "gpt-5.5",
            "check_for_update_on_startup": "false", "analytics.enabled": "false",
        }  # fmt: skip
        return [word for name, value in told.items() for word in ("-c", f"{name}={value}")]

    def shell(self, command: str, description: str = "") -> Use:
        del description
        return Use("exec_command", {"cmd": command})

    def edit(self, path: Path, old: str, new: str) -> Use:
        lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
        return Use(
            "apply_patch", "\n".join(["*** Begin Patch", f"*** Update File: {path}", "@@", *lines, "*** End Patch"])
        )

    def delegating(self, errand: str) -> list[Step]:
        def wait(request: Request) -> Turn:
            started = json.loads(request.results[-1])["agent_id"]
            return Turn("", (Use("wait_agent", {"targets": [started], "timeout_ms": 60_000}, _AGENTS),))

        return [Turn("", (Use("spawn_agent", {"message": errand}, _AGENTS),)), wait]

    def compacting(self, before: str, after: str) -> tuple[list[str], list[Turn]]:
        # It asks for the summary beside the conversation, with no tools.
        return [before, after], [Turn("Done.", context_tokens=_OVERFULL)]


CLIENTS = {client.name: client for client in (ClaudeCode, Codex)}


@contextmanager
def _started(command: Sequence[str], around: Surroundings) -> Iterator[subprocess.Popen[str]]:
    """A process that has ended when this ends: by itself within its time, or with everything that it started."""
    errors = around.home / "client-errors.txt"
    with errors.open("a") as told:
        process = subprocess.Popen(
            command, cwd=around.project, env=around.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=told, text=True, start_new_session=True,
        )  # fmt: skip
    patience = Timer(PATIENCE_S, _end, (process,))
    patience.start()
    try:
        yield process
        process.wait(PATIENCE_S)
    except BaseException:
        _end(process)
        raise
    finally:
        late = not patience.is_alive()
        patience.cancel()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()
    if late:
        raise TimeoutError(f"{command[0]} did not end within {PATIENCE_S:g} s.")
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {errors.read_text()[-2000:]}")


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
