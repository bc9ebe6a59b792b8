"""Cline: a script for each event in `~/.cline/hooks`, and `cline_mcp_settings.json`; in a project `.cline/hooks`.

It runs every script whose name without its ending is an event, so ours stand beside the user's. Told before or after a
tool, the model reads what a hook says; at the start and with the prompt nobody waits for it, so what the prompt asks
for is said at the first calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reasoningbank.files import read_plain
from reasoningbank_coding_agents.events import (
    AFTER_FAILURE,
    AFTER_TOOL,
    BEFORE_TOOL,
    SESSION_END,
    SESSION_START,
    STOP,
)
from reasoningbank_coding_agents.hosts.host import Host, SessionOrigin, TranscriptReader

if TYPE_CHECKING:
    from pathlib import Path

    from reasoningbank_coding_agents.install.hooks import HookCall
    from reasoningbank_coding_agents.install.program import Program
    from reasoningbank_coding_agents.install.targets import Places, Target

_FOLDER = "CLINE_DIR"
_EVENTS = {
    "TaskStart": SESSION_START,
    "TaskResume": SESSION_START,
    "PreToolUse": BEFORE_TOOL,
    "PostToolUse": AFTER_TOOL,
    "TaskComplete": STOP,
    "TaskCancel": STOP,
    "SessionShutdown": SESSION_END,
}
_OWN_NAMES = {
    "agent_start": SESSION_START,
    "agent_resume": SESSION_START,
    "tool_call": BEFORE_TOOL,
    "tool_result": AFTER_TOOL,
    "agent_end": STOP,
    "agent_abort": STOP,
    "session_shutdown": SESSION_END,
}
_ENDING = ".bash"
"""Ending of the scripts: a name that somebody writes by hand has another one, or none."""
_CALL = "exec "
_FIRST_ROUNDS = (1, 2, 3)
"""Rounds of a task in which it may be told what its prompt asks for, which it could not be told with the prompt."""
_MOST_READ_BYTES = 4_000_000


class Cline(Host):
    name = "cline"
    title = "Cline"
    event_names = _OWN_NAMES
    # Whoever refuses a call there ends the whole task.
    can_deny = False
    can_ask = False
    shows_notices = False
    reads_context_at = (BEFORE_TOOL, AFTER_TOOL, AFTER_FAILURE)

    def in_common_terms(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        context = data.get("sessionContext")
        root = context.get("rootSessionId") if isinstance(context, Mapping) else None
        session = str(root or data.get("taskId") or "")
        fields: dict[str, Any] = {
            "hook_event_name": data.get("hookName"),
            "session_id": session,
            "workspace_roots": data.get("workspaceRoots"),
            "agent_id": data.get("agent_id") if data.get("parent_agent_id") else "",
            "is_interrupt": data.get("hookName") == "agent_abort",
        }
        if session:
            fields["transcript_path"] = _transcript(session)
        if session and data.get("iteration") in _FIRST_ROUNDS:
            fields["prompt"] = _last_words(fields["transcript_path"])
        for field in ("tool_call", "tool_result"):
            call = data.get(field)
            if isinstance(call, Mapping):
                fields |= _call_told(call)
        return fields

    def answer(self, event: str, context: str, notice: str = "") -> dict[str, Any]:
        del notice
        return {"contextModification": context} if context and event in self.reads_context_at else {}

    def withheld_prompt(self, reason: str) -> dict[str, Any]:
        # Whoever refuses a prompt there ends the whole task.
        del reason
        return {}

    def first_event(self, session: str, cwd: str) -> dict[str, Any]:
        return {"hookName": "agent_start", "taskId": session, "workspaceRoots": [cwd], "parent_agent_id": None}

    def targets(self, places: Places, program: Program) -> list[Target]:
        from reasoningbank_coding_agents.install.targets import PROGRAM_MODE, json_server, own_file, server_entry

        folder = places.project / ".cline" if places.project else _home(places)
        scripts = [
            own_file(
                folder / "hooks" / f"{event}{_ENDING}",
                f"#!/bin/sh\n{_CALL}{program.line('hook', self.name, '--event', kind)}\n",
                start_call=_start_call if event == "TaskStart" else None,
                mode=PROGRAM_MODE,
            )
            for event, kind in _EVENTS.items()
        ]
        if not places.server or places.project:
            # A project has no MCP servers of its own there.
            return scripts
        entry = {"transport": {"type": "stdio", **server_entry(program)}}
        return [*scripts, json_server(folder / "data" / "settings" / "cline_mcp_settings.json", entry)]

    @property
    def reader(self) -> TranscriptReader:
        from reasoningbank.learn.ingest import cline

        return cline

    def transcripts(self, places: Places) -> Iterable[Path]:
        return (_home(places) / "data" / "sessions").glob("*/*.messages.json")

    def records_of(self, path: Path) -> list[dict[str, Any]]:
        from reasoningbank.learn.ingest.cline import messages_of
        from reasoningbank.learn.ingest.text import whole

        return messages_of(whole(path))

    def origin_of(self, path: Path, records: list[dict[str, Any]]) -> SessionOrigin:
        from reasoningbank.learn.ingest.text import parse_json, whole

        del records
        session = path.name.partition(".")[0]
        beside = path.with_name(f"{session}.json")
        about = parse_json(whole(beside)) if beside.is_file() else None
        folder = about.get("cwd") if isinstance(about, Mapping) else None
        return SessionOrigin(session=session, folder=folder if isinstance(folder, str) else None)


def _call_told(call: Mapping[str, Any]) -> dict[str, Any]:
    from reasoningbank.learn.ingest.cline import calls_in, result_of

    inputs = [item for item in calls_in(call.get("input")) if isinstance(item, Mapping)]
    tool_input = (
        inputs[0] if len(inputs) == 1 else {"command": "\n".join(str(item.get("command", "")) for item in inputs)}
    )
    if call.get("name") == "apply_patch" and "input" in tool_input:
        tool_input = {"command": tool_input["input"]}
    fields: dict[str, Any] = {"tool_name": call.get("name"), "tool_input": tool_input, "tool_use_id": call.get("id")}
    if "output" in call or "error" in call:
        output = call.get("output")
        results = [result_of(part) for part in (output if isinstance(output, list) else [output])]
        is_error = bool(call.get("error")) or any(ok is False for _, ok in results)
        text = "\n".join(text for text, _ in results if text)
        fields["tool_response"] = {"output": text or str(call.get("error") or ""), "is_error": is_error}
    return fields


def _last_words(transcript: str) -> str:
    """The user's last words, as the session's file tells them."""
    from pathlib import Path

    from reasoningbank.learn.ingest.cline import messages_of, prompt_of

    path = Path(transcript)
    try:
        text = read_plain(path, _MOST_READ_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return next(filter(None, map(prompt_of, reversed(messages_of(text)))), "")


def _start_call(text: str) -> HookCall | None:
    from reasoningbank_coding_agents.install.hooks import HookCall
    from reasoningbank_coding_agents.install.targets import ANSWER_S

    line = next((line for line in text.splitlines() if line.startswith(_CALL)), None)
    return None if line is None else HookCall(line.removeprefix(_CALL), ANSWER_S)


def _transcript(session: str) -> str:
    from pathlib import Path

    from reasoningbank.config.environment import folder_named

    data = folder_named("CLINE_DATA_DIR") or (folder_named(_FOLDER) or Path.home() / ".cline") / "data"
    name = Path(session).name
    return str(data / "sessions" / name / f"{name}.messages.json")


def _home(places: Places) -> Path:
    return places.named(_FOLDER) or places.home / ".cline"


HOST = Cline()
