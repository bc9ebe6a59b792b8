"""Qwen Code, which came from Gemini CLI and took over the events of Claude Code: `~/.qwen/settings.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from reasoningbank_coding_agents.events import (
    AFTER_FAILURE,
    AFTER_TOOL,
    BEFORE_COMPACTION,
    BEFORE_TOOL,
    PROMPT,
    SESSION_END,
    SESSION_START,
    STOP,
)
from reasoningbank_coding_agents.hosts.gemini_cli import GeminiCli
from reasoningbank_coding_agents.hosts.host import Host, SessionOrigin, TranscriptReader

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank_coding_agents.install.targets import Places


class QwenCode(GeminiCli):
    name = "qwen-code"
    title = "Qwen Code"
    settings_folder = ".qwen"
    changing_tools = "run_shell_command|edit|write_file"
    events: ClassVar[Mapping[str, str]] = {
        kind: kind
        for kind in (
            SESSION_START,
            PROMPT,
            BEFORE_TOOL,
            # A command that fails is a tool that worked; a tool that fails has an event of its own.
            AFTER_TOOL,
            AFTER_FAILURE,
            BEFORE_COMPACTION,
            STOP,
            SESSION_END,
        )
    }
    event_names: ClassVar[Mapping[str, str]] = {}
    can_ask = True
    reads_context_at = (SESSION_START, PROMPT, AFTER_TOOL, AFTER_FAILURE)

    def refusal(self, event: str, reason: str, *, asks_user: bool = False) -> dict[str, Any]:
        return Host.refusal(self, event, reason, asks_user=asks_user)

    def withheld_prompt(self, reason: str) -> dict[str, Any]:
        return Host.withheld_prompt(self, reason)

    @property
    def reader(self) -> TranscriptReader:
        from reasoningbank.learn.ingest import qwen_code

        return qwen_code

    def transcripts(self, places: Places) -> Iterable[Path]:
        return (places.home / self.settings_folder / "projects").glob("*/chats/*.jsonl")

    def origin_of(self, path: Path, records: list[dict[str, Any]]) -> SessionOrigin:
        return Host.origin_of(self, path, records)


HOST = QwenCode()
