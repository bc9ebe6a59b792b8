"""Gemini CLI: `~/.gemini/settings.json`, or `.gemini/settings.json` in a project, for hooks and MCP server alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from reasoningbank.files import read_plain
from reasoningbank_coding_agents.events import (
    AFTER_FAILURE,
    AFTER_TOOL,
    BEFORE_TOOL,
    PROMPT,
    SESSION_END,
    SESSION_START,
    STOP,
)
from reasoningbank_coding_agents.hosts.host import Host, SessionOrigin, TranscriptReader

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank_coding_agents.install.program import Program
    from reasoningbank_coding_agents.install.targets import Places, Target

MILLISECONDS = 1_000
"""In which it counts the time that a hook has."""


class GeminiCli(Host):
    name = "gemini-cli"
    title = "Gemini CLI"
    settings_folder: ClassVar[str] = ".gemini"
    changing_tools: ClassVar[str] = "run_shell_command|replace|write_file"
    # Not `PreCompress`: it comes with every request, whether anything is compressed or not.
    events: ClassVar[Mapping[str, str]] = {
        "SessionStart": SESSION_START,
        "BeforeAgent": PROMPT,
        "BeforeTool": BEFORE_TOOL,
        "AfterTool": AFTER_TOOL,
        "AfterAgent": STOP,
        "SessionEnd": SESSION_END,
    }
    event_names: ClassVar[Mapping[str, str]] = {name.lower(): kind for name, kind in events.items()}
    can_ask = False
    reads_context_at: ClassVar[Sequence[str]] = (SESSION_START, PROMPT, AFTER_TOOL)

    def in_common_terms(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        response = data.get("tool_response")
        if not isinstance(response, Mapping) or "llmContent" not in response:
            return data
        from reasoningbank.learn.ingest.shell_report import shell_report
        from reasoningbank.learn.ingest.text import plain

        content = response["llmContent"]
        output, code = shell_report(content if isinstance(content, str) else plain(content))
        # Of a tool that could not run it passes nothing on but the error, so that is no failure to speak at.
        return {**data, "tool_response": {"output": output, **({} if code is None else {"exit_code": code})}}

    def answer(self, event: str, context: str, notice: str = "") -> dict[str, Any]:
        fields = super().answer(event, context, notice)
        inner = fields.get("hookSpecificOutput")
        if inner is not None:
            own = next((name for name, kind in self.events.items() if kind == event), event)
            fields["hookSpecificOutput"] = {**inner, "hookEventName": own}
        return fields

    def refusal(self, event: str, reason: str, *, asks_user: bool = False) -> dict[str, Any]:
        del event, asks_user
        return {"decision": "deny", "reason": reason}

    def withheld_prompt(self, reason: str) -> dict[str, Any]:
        # As a tool is refused: the turn is given up and the prompt is not kept.
        return {"decision": "deny", "reason": reason}

    def targets(self, places: Places, program: Program) -> list[Target]:
        from reasoningbank_coding_agents.install.hooks import Hook
        from reasoningbank_coding_agents.install.targets import (
            ANSWER_S,
            both_in_one,
            hook_groups,
            json_server,
            server_entry,
        )

        path = (places.project or places.home) / self.settings_folder / "settings.json"
        about_tools = (BEFORE_TOOL, AFTER_TOOL, AFTER_FAILURE)
        our_hooks = [
            Hook(
                event=event,
                command=program.line("hook", self.name, "--event", kind),
                timeout_s=ANSWER_S,
                matcher=self.changing_tools if kind in about_tools else None,
            )
            for event, kind in self.events.items()
        ]
        hooks_file = hook_groups(path, our_hooks, per_second=MILLISECONDS)
        return [both_in_one(hooks_file, json_server(path, server_entry(program))) if places.server else hooks_file]

    @property
    def reader(self) -> TranscriptReader:
        from reasoningbank.learn.ingest import gemini_cli

        return gemini_cli

    def transcripts(self, places: Places) -> Iterable[Path]:
        return (places.home / self.settings_folder / "tmp").glob("*/chats/*.jsonl")

    def origin_of(self, path: Path, records: list[dict[str, Any]]) -> SessionOrigin:
        sessions = (record["sessionId"] for record in records if isinstance(record.get("sessionId"), str))
        root = path.parent.parent / ".project_root"
        folder = read_plain(root).decode("utf-8", "replace").strip() if root.is_file() else ""
        return SessionOrigin(session=next(sessions, path.stem), folder=folder or None)


HOST = GeminiCli()
