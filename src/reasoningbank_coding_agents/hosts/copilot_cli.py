"""Copilot CLI: a file of our own in `~/.copilot/hooks`, and `mcp-config.json`; in a project under `.github`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

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
from reasoningbank_coding_agents.hosts.host import Host, SessionOrigin, TranscriptReader

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank_coding_agents.install.program import Program
    from reasoningbank_coding_agents.install.targets import Places, Target

_FOLDER = "COPILOT_HOME"
_EVENTS = {
    "sessionStart": SESSION_START,
    "userPromptSubmitted": PROMPT,
    "preToolUse": BEFORE_TOOL,
    "postToolUse": AFTER_TOOL,
    "postToolUseFailure": AFTER_FAILURE,
    "preCompact": BEFORE_COMPACTION,
    "agentStop": STOP,
    "sessionEnd": SESSION_END,
}
_FIELDS = {
    "sessionId": "session_id",
    "transcriptPath": "transcript_path",
    "toolName": "tool_name",
    "toolArgs": "tool_input",
    "toolResult": "tool_response",
}


class CopilotCli(Host):
    name = "copilot-cli"
    title = "Copilot CLI"
    event_names = {own.lower(): kind for own, kind in _EVENTS.items()}  # noqa: RUF012 - never changed
    shows_notices = False

    def in_common_terms(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        fields = {_FIELDS.get(name, name): value for name, value in data.items()}
        session = fields.get("session_id")
        if isinstance(session, str) and not fields.get("transcript_path"):
            # Only some events name it.
            from pathlib import Path

            from reasoningbank.config.environment import folder_named

            folder = folder_named(_FOLDER) or Path.home() / ".copilot"
            fields["transcript_path"] = str(folder / "session-state" / Path(session).name / "events.jsonl")
        if isinstance(fields.get("tool_input"), str):
            # A patch comes as it is.
            fields["tool_input"] = {"command": fields["tool_input"]}
        result = fields.get("tool_response")
        if isinstance(result, Mapping):
            from reasoningbank.learn.ingest.shell_report import shell_report

            text = result.get("textResultForLlm")
            output, code = shell_report(text if isinstance(text, str) else "")
            is_error = result.get("resultType") not in ("success", None)
            fields["tool_response"] = {
                "output": output,
                "is_error": is_error,
                **({} if code is None else {"code": code}),
            }
        return fields

    def answer(self, event: str, context: str, notice: str = "") -> dict[str, Any]:
        del notice
        return {"additionalContext": context} if context and event in self.reads_context_at else {}

    def refusal(self, event: str, reason: str, *, asks_user: bool = False) -> dict[str, Any]:
        del event
        return {"permissionDecision": "ask" if asks_user else "deny", "permissionDecisionReason": reason}

    def withheld_prompt(self, reason: str) -> dict[str, Any]:
        # What its hook at a prompt says is passed over.
        del reason
        return {}

    def first_event(self, session: str, cwd: str) -> dict[str, Any]:
        return {"sessionId": session, "cwd": cwd, "source": "new", "timestamp": 0}

    def targets(self, places: Places, program: Program) -> list[Target]:
        from reasoningbank_coding_agents.install.hooks import Hook
        from reasoningbank_coding_agents.install.targets import ANSWER_S, hook_entries, json_server, server_entry

        home = places.project / ".github" if places.project else _home(places)
        server = home / ("mcp.json" if places.project else "mcp-config.json")
        # It refuses every tool whose hook cannot be started: a program that is gone must not stop its user.
        shell, in_any_case = ("powershell", "; exit 0") if program.windows else ("bash", " || true")

        def entry(hook: Hook) -> dict[str, object]:
            return {"type": "command", shell: hook.command + in_any_case, "timeoutSec": hook.timeout_s}

        our_hooks = [
            Hook(event=event, command=program.line("hook", self.name, "--event", kind), timeout_s=ANSWER_S)
            for event, kind in _EVENTS.items()
        ]
        hooks_file = hook_entries(home / "hooks" / "reasoningbank.json", our_hooks, entry)
        if not places.server:
            return [hooks_file]
        return [hooks_file, json_server(server, {"type": "local", **server_entry(program), "tools": ["*"]})]

    @property
    def reader(self) -> TranscriptReader:
        from reasoningbank.learn.ingest import copilot_cli

        return copilot_cli

    def transcripts(self, places: Places) -> Iterable[Path]:
        return (_home(places) / "session-state").glob("*/events.jsonl")

    def origin_of(self, path: Path, records: list[dict[str, Any]]) -> SessionOrigin:
        from reasoningbank.learn.ingest.copilot_cli import START

        starts = (record["data"].get("context") for record in records if record["type"] == START)
        start = next((context for context in starts if isinstance(context, Mapping)), {})
        folder = start.get("cwd")
        return SessionOrigin(session=path.parent.name, folder=folder if isinstance(folder, str) else None)


def _home(places: Places) -> Path:
    return places.named(_FOLDER) or places.home / ".copilot"


HOST = CopilotCli()
