"""A user's machine for one scenario: a home, a repository, a bank, and a client with our hooks really installed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.clients.client import Client, Surroundings
from bench.clients.model import ScriptedModel
from bench.clients.recorded_program import HookCall, calls_in
from bench.clients.script import Script, Step, without_advice
from reasoningbank import ReasoningBank
from reasoningbank.config import locate
from reasoningbank.files import hold
from reasoningbank.guard.speakers import Door
from reasoningbank_coding_agents.capture_queue import waiting
from reasoningbank_coding_agents.state_dir import place_of

PATIENCE_S = 120.0
NAMESPACE = "example.com/acme/app"


class Desk:
    def __init__(self, folder: Path, client: Client, model: ScriptedModel, python: Path) -> None:
        self.client = client
        self.home = folder / "home"
        self.project = folder / "app"
        self.bank_path = folder / "bank" / "bank.db"
        self._model = model
        self._python = python
        for made in (self.home, self.project):
            made.mkdir(parents=True)
        self._around = Surroundings(self.home, self.project, model.address, self._environment())
        self.run("git", "init", "--quiet", "--initial-branch", "main")
        self.run("git", "remote", "add", "origin", f"https://{NAMESPACE}.git")
        self.run("git", "commit", "--quiet", "--allow-empty", "-m", "start")
        # What a first push leaves: without it nothing speaks for the remote.
        tracking = ("refs/remotes/origin/main", "HEAD")
        self.run("git", "update-ref", "--create-reflog", "-m", "update by push", *tracking)
        self.bank_command("install", client.name, "--yes")
        client.prepare(self._around)

    def _environment(self) -> dict[str, str]:
        """Built from nothing: what the suite itself runs in must not reach a client."""
        path = os.pathsep.join([str(self.client.program.parent), os.environ["PATH"]])
        own = {
            "PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb", "TZ": "UTC",
            "REASONINGBANK_HOME": str(self.bank_path.parent), "GIT_AUTHOR_NAME": "Ada", "GIT_COMMITTER_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.com", "GIT_COMMITTER_EMAIL": "ada@example.com",
        }  # fmt: skip
        return {**own, **self.client.environment(self._model.address)}

    # ------------------------------------------------------------ the project

    def write(self, name: str, text: str, *, program: bool = False) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        if program:
            path.chmod(0o755)
        return path

    def run(self, *command: str) -> str:
        return subprocess.run(
            command, cwd=self.project, env=self._environment(), capture_output=True, text=True, timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL, check=True,
        ).stdout  # fmt: skip

    # ------------------------------------------------------------ sessions

    def session(self, *prompts: str, turns: Sequence[Step], aside: Mapping[str, list[Step]] | None = None) -> Session:
        """A session of the client from its start to its end, and until the bank has read it."""
        session = self.unread_session(*prompts, turns=turns, aside=aside)
        self.settle()
        return session

    def unread_session(
        self, *prompts: str, turns: Sequence[Step], aside: Mapping[str, list[Step]] | None = None
    ) -> Session:
        """The same where nobody can read it."""
        script = Script(list(turns), aside or {})
        self._model.script = script
        known = len(calls_in(self.home))
        printed = self.client.talk(self._around, prompts)
        if script.problems:
            raise script.problems[0]
        return Session(script, calls_in(self.home)[known:], printed)

    def settle(self) -> None:
        """Until what was noted is read, and the process that did it has ended."""
        place = place_of(locate(self.bank_path))
        until = time.monotonic() + PATIENCE_S
        while waiting(place) and time.monotonic() < until:
            time.sleep(0.1)
        if place.work_lock.exists():
            lock = hold(place.work_lock, PATIENCE_S)
            if lock is None:
                raise TimeoutError("Whoever reads the sessions does not end.")
            os.close(lock)

    # ------------------------------------------------------------ the bank

    def configure(self, **tables: dict[str, object]) -> None:
        """Settings in the configuration file beside the bank."""
        lines = []
        for table, values in tables.items():
            lines += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
        (self.bank_path.parent / "config.toml").write_text("\n".join(lines) + "\n", "utf-8")

    def bank_command(self, *words: str) -> str:
        return self.run(*self.program(*words))

    def program(self, *words: str) -> list[str]:
        return [str(self._python), "-m", "reasoningbank", *words]

    @contextmanager
    def bank(self, namespace: str = NAMESPACE) -> Iterator[ReasoningBank]:
        with ReasoningBank.open(self.bank_path, namespace=namespace) as opened:
            yield opened

    def keep_rules(self) -> None:
        """Say yes to every rule that was heard, as the user does in a terminal: nobody sits at these sessions."""
        with self.bank() as bank:
            bank.rules.keep([rule.id for rule in bank.rules.proposed()], Door(name="terminal", is_user=True))

    def lessons(self, namespace: str = NAMESPACE) -> list[str]:
        """Everything that is known there, a text each."""
        if not self.bank_path.exists():
            return []
        with self.bank(namespace) as bank:
            return [f"{memory.title}\n{memory.description}\n{memory.content}" for memory in bank.list()]

    def confidence(self, words: str) -> float:
        """Of the lesson that holds these words; 0 where there is none."""
        with self.bank() as bank:
            return max((memory.confidence.mean for memory in bank.list() if words in memory.content), default=0.0)

    def steps(self) -> list[str]:
        """Every step of every session that was kept, with what came of it."""
        if not self.bank_path.exists():
            return []
        with self.bank() as bank:
            kept = [bank.trajectory(session.id)[1] for session in bank.sessions()]
            return [f"{step.action}\n{step.result}" for steps in kept for step in steps]

    def all_bytes(self) -> str:
        files = (path for path in self.bank_path.parent.rglob("*") if path.is_file())
        return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


class Session:
    """What became of a session: the requests that the model got, and what each hook was sent and said."""

    def __init__(self, script: Script, hooks: list[HookCall], printed: str) -> None:
        self.script = script
        self.hooks = hooks
        self.printed = printed

    @property
    def first(self) -> str:
        """What the model read before its first word."""
        return self.script.main[0].said

    @property
    def advice(self) -> str:
        """All that the bank said to the model, to the end of the session."""
        return self.script.main[-1].advice

    @property
    def said(self) -> str:
        return self.script.main[-1].said

    def commands(self) -> list[str]:
        """The commands that the client was about to run, as the hooks saw them."""
        given = (call.sent.get("tool_input") for call in self.hooks if call.event == "PreToolUse")
        return [str(one["command"]) for one in given if isinstance(one, dict) and "command" in one]

    def results(self) -> str:
        """What tools returned in the user's own conversation, without what the bank said there."""
        told = dict.fromkeys(result for request in self.script.main for result in request.results)
        return without_advice("\n".join(told))

    def calls(self, event: str) -> list[HookCall]:
        return [call for call in self.hooks if call.event == event]
