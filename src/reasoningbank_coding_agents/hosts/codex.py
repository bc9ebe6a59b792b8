"""Codex: `~/.codex/hooks.json` and `~/.codex/config.toml`; in a project the same names under `.codex`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reasoningbank_coding_agents.hosts.host import Host, SessionOrigin, TranscriptReader

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank_coding_agents.install.program import Program
    from reasoningbank_coding_agents.install.targets import Places, Target

SWITCH = "codex_hooks"
"""The feature that had to be switched on for hooks to run, under its old name."""
_CHANGING = "Bash|apply_patch"
_PROGRAM_WAIT_S = 10.0
_LONGEST_META_BYTES = 1_000_000
_ATTENDED = (None, "cli", "vscode")
"""Sources of a session, as its first record names them, at which a person may sit; `exec` and `mcp` are programs."""


class Codex(Host):
    name = "codex"
    title = "Codex"
    can_ask = False
    note_after_install = (
        "Codex runs none of these hooks until you have trusted them: start it, type /hooks and look at each. "
        "`reasoningbank doctor` says which are trusted."
    )

    def unattended(self, transcript: str | None, environment: Mapping[str, str]) -> str:
        from reasoningbank.files import open_plain
        from reasoningbank.learn.ingest.text import parse_json

        del environment
        try:
            with open_plain(transcript or "") as file:
                first = parse_json(file.readline(_LONGEST_META_BYTES).decode("utf-8", "replace"))
        except OSError:
            return ""
        meta = first.get("payload") if isinstance(first, dict) else None
        if not isinstance(meta, dict) or (meta.get("source") in _ATTENDED and meta.get("originator") != "codex_exec"):
            return ""
        return "nobody sits at this session"

    def has_failed(self, data: Mapping[str, Any], output: str) -> bool:
        from reasoningbank_coding_agents.hosts.codex_exit import has_failed

        return has_failed(data, output)

    def ask_program(self, places: Places) -> Places:
        from reasoningbank.core.frozen import replace

        return replace(places, codex_switch=_needed_switch())

    def targets(self, places: Places, program: Program) -> list[Target]:
        from functools import partial

        from reasoningbank.core.frozen import replace
        from reasoningbank_coding_agents.install.hooks import Hook
        from reasoningbank_coding_agents.install.targets import ANSWER_S, NOTE_S, hook_groups

        folder = places.project / ".codex" if places.project else _home(places)
        line = program.line("hook", self.name)
        our_hooks = [
            Hook(event="SessionStart", command=line, timeout_s=ANSWER_S),
            Hook(event="UserPromptSubmit", command=line, timeout_s=ANSWER_S),
            Hook(event="PreToolUse", command=line, timeout_s=ANSWER_S, matcher=_CHANGING),
            # There is no event of its own for a tool that fails.
            Hook(event="PostToolUse", command=line, timeout_s=ANSWER_S, matcher=_CHANGING),
            Hook(event="PreCompact", command=line, timeout_s=ANSWER_S),
            Hook(event="Stop", command=line, timeout_s=ANSWER_S),
            Hook(event="SubagentStart", command=line, timeout_s=ANSWER_S),
            Hook(event="SubagentStop", command=line, timeout_s=ANSWER_S),
            # It allows no more at the end of a session.
            Hook(event="SessionEnd", command=line, timeout_s=NOTE_S),
        ]
        own = _home(places)
        hooks = replace(
            hook_groups(folder / "hooks.json", our_hooks), trust=partial(_trust, folder / "hooks.json", own)
        )
        return [hooks, _settings(folder / "config.toml", program, places)]

    @property
    def reader(self) -> TranscriptReader:
        from reasoningbank.learn.ingest import codex

        return codex

    def transcripts(self, places: Places) -> Iterable[Path]:
        return (_home(places) / "sessions").rglob("*.jsonl")

    def origin_of(self, path: Path, records: list[dict[str, Any]]) -> SessionOrigin:
        from reasoningbank.learn.ingest import codex

        payloads = [record["payload"] for record in records if record.get("type") in ("session_meta", "turn_context")]
        remotes = (git.get("repository_url") for payload in payloads if isinstance(git := payload.get("git"), Mapping))
        return SessionOrigin(
            session=next(filter(None, map(codex.session_of, records)), path.stem),
            folder=next((payload["cwd"] for payload in payloads if isinstance(payload.get("cwd"), str)), None),
            remote=next((address for address in remotes if isinstance(address, str)), None),
        )


def _home(places: Places) -> Path:
    return places.named("CODEX_HOME") or places.home / ".codex"


def _trust(path: Path, folder: Path, text: str) -> tuple[bool, str] | None:
    """True if Codex runs our hooks in the file `path`, and what to say of it. What its user trusts stands in the
    settings in `folder`.
    """
    from reasoningbank_coding_agents.hosts.codex_trust import hook_trust
    from reasoningbank_coding_agents.install import json_text, toml_text
    from reasoningbank_coding_agents.install.writing import read_seen

    hooks = toml_text.parse(read_seen(folder / "config.toml").text).get("hooks", {})
    trust = hook_trust(path, json_text.parse(text), hooks.get("state", {}) if isinstance(hooks, dict) else {})
    return None if trust is None else (trust.is_whole, trust.says)


def _needed_switch() -> str | None:
    """As the Codex on this machine says: its hooks needed a switch once, and complain about that switch now."""
    import subprocess
    from shutil import which

    program = which("codex")
    if program is None:
        return SWITCH
    try:
        output = subprocess.run(  # noqa: S603 - the agent that is being set up
            [program, "features", "list"], capture_output=True, text=True, timeout=_PROGRAM_WAIT_S, check=False,
            stdin=subprocess.DEVNULL,
        ).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return SWITCH
    features = {words[0]: words[-1] for line in output.splitlines() if (words := line.split())}
    if features.get("hooks") == "true":
        return None
    return "hooks" if "hooks" in features else SWITCH


def _settings(path: Path, program: Program, places: Places) -> Target:
    from reasoningbank_coding_agents.install import toml_text
    from reasoningbank_coding_agents.install.program import NAME
    from reasoningbank_coding_agents.install.targets import Target, server_entry

    server = server_entry(program)

    def add(text: str) -> str:
        there = toml_text.parse(text)
        features = there.get("features", {})
        # Whoever has decided about hooks, under the old name or the new, has decided.
        is_decided = isinstance(features, dict) and bool(features.keys() & {"hooks", SWITCH})
        if places.codex_switch is not None and not is_decided:
            text = toml_text.with_key(text, "features", places.codex_switch, value=True)
        existing = there.get("mcp_servers", {}).get(NAME)
        if not places.server or (isinstance(existing, dict) and server.items() <= existing.items()):
            return text
        return toml_text.with_table(text, ["mcp_servers", NAME], {**_plain(existing), **server})

    def remove(text: str) -> str:
        there = toml_text.parse(text)
        return toml_text.without_table(text, ["mcp_servers", NAME]) if NAME in there.get("mcp_servers", {}) else text

    def server_call(text: str) -> list[str] | None:
        entry = toml_text.parse(text).get("mcp_servers", {}).get(NAME)
        return [str(entry.get("command", "")), *map(str, entry.get("args", ()))] if isinstance(entry, dict) else None

    return Target(path=path, holds="MCP server", blank="", add=add, remove=remove, server_call=server_call)


def _plain(entry: object) -> dict[str, object]:
    if not isinstance(entry, dict):
        return {}
    return {name: value for name, value in entry.items() if not isinstance(value, dict)}


HOST = Codex()
