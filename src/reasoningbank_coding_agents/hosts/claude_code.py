"""Claude Code: `~/.claude/settings.json` and `~/.claude.json`; in a project `.claude/settings.json` and `.mcp.json`."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from reasoningbank.core.patterns import pattern
from reasoningbank_coding_agents.hosts.host import Host, TranscriptReader

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank_coding_agents.install.program import Program
    from reasoningbank_coding_agents.install.targets import Places, Target

_FOLDER = "CLAUDE_CONFIG_DIR"
_CHANGING = "Bash|Edit|MultiEdit|Write|NotebookEdit"
_MARK_WINDOW_BYTES = 262_144
"""Bytes of a transcript in which the record of a prompt must be found."""
_MOST_SCANNED_BYTES = 128_000_000
_TYPED = {"promptSource": (None, "typed", "queued"), "turnOrigin": (None, "human")}
"""Marks in the record of a prompt that a person typed; a suggestion that was taken is the model's sentence."""
_SCHEDULING = pattern(rb'"name": ?"[^"]*(?i:cron|schedul|wake_?up)')
"""A tool by which an agent gives itself a prompt at a later time."""
_LONGEST_SCHEDULED_S = 7 * 86_400.0


class ClaudeCode(Host):
    name = "claude-code"
    title = "Claude Code"

    def own_marks(self, environment: Mapping[str, str]) -> Collection[str]:
        # What it runs for itself, hooks among them, is marked as what it runs for the model is, but for this ending; in
        # earlier versions only hooks are told this folder.
        mark = environment.get("AI_AGENT")
        is_own = mark.endswith("_harness") if mark else "CLAUDE_PROJECT_DIR" in environment
        return ("CLAUDECODE", "AI_AGENT") if is_own else ()

    def unattended(self, transcript: str | None, environment: Mapping[str, str]) -> str:
        del transcript
        is_printing = environment.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk-")
        nobody = is_printing or environment.get("CLAUDE_CODE_SESSION_ATTENDED") == "0"
        return "nobody sits at this session" if nobody else ""

    def is_typed(self, transcript: str, start: int, prompt_id: str) -> bool | None:
        from reasoningbank.files import open_plain
        from reasoningbank.learn.ingest.claude_code import is_turn, prompt_of
        from reasoningbank.learn.ingest.text import parse_json

        try:
            with open_plain(transcript) as file:
                size = file.seek(0, 2)
                file.seek(start if start <= size else max(0, size - _MARK_WINDOW_BYTES))
                lines = file.read(_MARK_WINDOW_BYTES).decode("utf-8", "replace").split("\n")
        except OSError:
            return None
        values = (parse_json(line) for line in lines if prompt_id in line)
        records = [value for value in values if isinstance(value, dict) and value.get("promptId") == prompt_id]
        # The results of its calls have the id of the prompt too, and no marks.
        with_marks = [record for record in records if any(record.get(mark) is not None for mark in _TYPED)]
        if not with_marks:
            return True if any(is_turn(record) and prompt_of(record) for record in records) else None
        return all(
            is_turn(record) and all(record.get(mark) in persons for mark, persons in _TYPED.items())
            for record in with_marks
        )

    def can_type(self, transcript: str | None, folders: Collection[str]) -> bool:
        from pathlib import Path

        from reasoningbank_coding_agents.transcripts import changed_at

        if any(Path(folder, ".claude", "scheduled_tasks.json").exists() for folder in folders):
            return True
        # What one session schedules is typed into the one that follows it after `/clear`, too.
        paths = [] if transcript is None else Path(transcript).parent.rglob("*.jsonl")
        recent = [path for path in paths if time.time() - changed_at(path) < _LONGEST_SCHEDULED_S]
        too_much = sum(path.stat().st_size for path in recent) > _MOST_SCANNED_BYTES
        return too_much or any(map(_schedules, recent))

    def targets(self, places: Places, program: Program) -> list[Target]:
        from reasoningbank_coding_agents.install.hooks import Hook
        from reasoningbank_coding_agents.install.targets import ANSWER_S, NOTE_S, hook_groups, json_server, server_entry

        config_folder = places.named(_FOLDER)
        folder = places.project / ".claude" if places.project else config_folder or places.home / ".claude"
        server = places.project / ".mcp.json" if places.project else (config_folder or places.home) / ".claude.json"
        line = program.line("hook", self.name)
        # None is `async`: what runs in the background dies with the agent, and a headless one ends after its turn.
        our_hooks = [
            Hook(event="SessionStart", command=line, timeout_s=ANSWER_S),
            Hook(event="UserPromptSubmit", command=line, timeout_s=ANSWER_S),
            Hook(event="PreToolUse", command=line, timeout_s=ANSWER_S, matcher=_CHANGING),
            Hook(event="PostToolUseFailure", command=line, timeout_s=ANSWER_S, matcher=_CHANGING),
            Hook(event="SubagentStart", command=line, timeout_s=ANSWER_S),
            Hook(event="SubagentStop", command=line, timeout_s=ANSWER_S),
            Hook(event="PreCompact", command=line, timeout_s=ANSWER_S),
            Hook(event="Stop", command=line, timeout_s=ANSWER_S),
            Hook(event="SessionEnd", command=line, timeout_s=NOTE_S),
        ]
        settings = hook_groups(folder / "settings.json", our_hooks)
        if not places.server:
            return [settings]
        entry = {"type": "stdio", **server_entry(program)}
        return [settings, json_server(server, entry, has_lock=places.project is None)]

    @property
    def reader(self) -> TranscriptReader:
        from reasoningbank.learn.ingest import claude_code

        return claude_code

    def transcripts(self, places: Places) -> Iterable[Path]:
        root = (places.named(_FOLDER) or places.home / ".claude") / "projects"
        return (path for path in root.glob("*/*.jsonl") if not path.name.startswith("agent-"))


def _schedules(transcript: Path) -> bool:
    """True if a transcript holds the call of a tool that schedules, or cannot be looked through."""
    from reasoningbank.files import read_plain
    from reasoningbank.learn.ingest.text import parse_json

    try:
        data = read_plain(transcript, _MOST_SCANNED_BYTES)
    except OSError:
        return True
    lines = data.split(b"\n") if _SCHEDULING.search(data) else []
    records = (parse_json(line.decode("utf-8", "replace")) for line in lines if _SCHEDULING.search(line))
    messages = (record.get("message") for record in records if isinstance(record, dict))
    contents = (message.get("content") for message in messages if isinstance(message, dict))
    blocks = (block for content in contents if isinstance(content, list) for block in content)
    return any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks)


HOST = ClaudeCode()
