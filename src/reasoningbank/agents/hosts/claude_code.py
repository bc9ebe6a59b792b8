"""Claude Code: `~/.claude/settings.json` and `~/.claude.json`; in a project `.claude/settings.json` and `.mcp.json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reasoningbank.agents.hosts.host import Host, TranscriptReader

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank.agents.install.program import Program
    from reasoningbank.agents.install.targets import Places, Target

_FOLDER = "CLAUDE_CONFIG_DIR"
_CHANGING = "Bash|Edit|MultiEdit|Write|NotebookEdit"


class ClaudeCode(Host):
    name = "claude-code"
    title = "Claude Code"

    def targets(self, places: Places, program: Program) -> list[Target]:
        from reasoningbank.agents.install.hooks import Hook
        from reasoningbank.agents.install.targets import ANSWER_S, NOTE_S, hook_groups, json_server, server_entry

        named = places.named(_FOLDER)
        folder = places.project / ".claude" if places.project else named or places.home / ".claude"
        server = places.project / ".mcp.json" if places.project else (named or places.home) / ".claude.json"
        line = program.line("hook", self.name)
        # None is `async`: what runs in the background dies with the agent, and a headless one ends after its turn.
        wanted = [
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
        added = hook_groups(folder / "settings.json", wanted)
        if not places.server:
            return [added]
        entry = {"type": "stdio", **server_entry(program)}
        return [added, json_server(server, entry, guarded=places.project is None)]

    @property
    def reader(self) -> TranscriptReader:
        from reasoningbank.learn.ingest import claude_code

        return claude_code

    def transcripts(self, places: Places) -> Iterable[Path]:
        root = (places.named(_FOLDER) or places.home / ".claude") / "projects"
        return (path for path in root.glob("*/*.jsonl") if not path.name.startswith("agent-"))


HOST = ClaudeCode()
