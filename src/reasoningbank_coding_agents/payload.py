"""Parses what a coding agent sends to a hook, into one shape for all agents.

The fields are those of Claude Code, Codex and Cursor as their documents name them; the files of other agents say theirs
in these terms. Whatever is missing or of another type is as good as absent: a hook must never fail over its input.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern
from reasoningbank_coding_agents.events import AFTER_FAILURE, AFTER_TOOL, PROMPT
from reasoningbank_coding_agents.hosts import host_named
from reasoningbank_coding_agents.hosts.host import Host

_LONGEST_CHARS = 100_000
_EXIT_CODE = pattern(r"(?i)\b(?:exit code|exited with code|exit status)[: ]+(-?\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    agent: str
    kind: str
    """One of `EVENTS`: what it amounts to."""
    named: str
    """As the agent calls it, which an answer must repeat: a tool that failed may come as one that was used."""
    session: str
    """Session of the event; of a subagent its own, which names that of the agent that started it."""
    cwd: str
    transcript: str | None = None
    prompt: str = ""
    tool: str = ""
    tool_input: Mapping[str, Any]
    call: str = ""
    """The id of the tool call, where the agent gives one."""
    output: str = ""
    """Output of the tool."""
    failure: str | None = None
    """Error of the tool call, when something went wrong."""
    interrupted: bool = False
    prompt_id: str = ""
    """The id of the prompt that is worked on, where the agent gives one."""
    source: str = ""
    """Why a session starts: startup, resume, clear, compact."""
    parent_transcript: str | None = None
    """Inside a subagent, the transcript of the agent that started it."""
    is_subagent: bool = False


def event_from(agent: str, data: object, *, event_name: str | None, cwd: str) -> Event | None:
    """None for events that are nothing to us. `event_name` is the event as the command line names it, where it does."""
    if not isinstance(data, Mapping):
        return None
    host = host_named(agent)
    data = host.in_common_terms(data)
    kind = host.event_kind(event_name or _text(data, "hook_event_name"))
    if kind is None or (kind == PROMPT and not _text(data, "prompt").strip()):
        return None
    agent_kind, output, inside = kind, _output(data), _subagent_name(_text(data, "agent_id"))
    session = _text(data, "session_id") or _text(data, "conversation_id")
    transcript = _path(_text(data, "transcript_path")) or None
    failure = _failure(host, kind, data, output)
    if kind == AFTER_TOOL and failure is not None:
        kind = AFTER_FAILURE
    roots = data.get("workspace_roots")
    first_root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return Event(
        agent=agent,
        kind=kind,
        named=agent_kind,
        session=f"{session}/{inside}" if inside else session,
        cwd=_path(_text(data, "cwd") or first_root) or cwd,
        transcript=(_path(_text(data, "agent_transcript_path")) or None) if inside else transcript,
        prompt=_text(data, "prompt"),
        tool=_text(data, "tool_name") or ("Shell" if _text(data, "command") else ""),
        tool_input=_tool_input(data),
        call=_text(data, "tool_use_id"),
        output=output,
        failure=failure,
        interrupted=data.get("is_interrupt") is True or data.get("status") == "aborted",
        prompt_id=_text(data, "prompt_id"),
        source=_text(data, "source"),
        parent_transcript=transcript if inside else None,
        is_subagent=bool(inside),
    )


def _subagent_name(agent_id: str) -> str:
    """As the transcript of a subagent's run is called; "" for no subagent."""
    return f"agent-{agent_id}" if agent_id else ""


def _path(text: str) -> str:
    """A path as this process names it: an agent writes UTF-8, and the locale may be another."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return os.fsdecode(text.encode("utf-8", "surrogatepass"))
    return text


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value[:_LONGEST_CHARS] if isinstance(value, str) else ""


def _tool_input(data: Mapping[str, Any]) -> Mapping[str, Any]:
    tool_input = data.get("tool_input")
    if isinstance(tool_input, str):
        tool_input = _read(tool_input)
    if isinstance(tool_input, Mapping):
        return _edits(tool_input.get("command")) or tool_input
    return {name: data[name] for name in ("command", "file_path") if isinstance(data.get(name), str)}


def _edits(command: object) -> Mapping[str, Any]:
    """A patch as the files that it edits, which is what is known about files; nothing for any other command."""
    if not isinstance(command, str) or "*** Begin Patch" not in command:
        return {}
    from reasoningbank.learn.ingest.patches import edits_in, patch_in

    paths = [edit.path for edit in edits_in(patch_in(command))]
    return {"file_path": paths[0], "file_paths": paths} if paths else {}


def _output(data: Mapping[str, Any]) -> str:
    for name in ("tool_response", "tool_output", "output", "result_json"):
        if name in data:
            return _plain(data[name])[:_LONGEST_CHARS]
    return ""


def _plain(value: object) -> str:
    if isinstance(value, str):
        inner = _read(value) if value.lstrip().startswith(("{", "[")) else None
        return _plain(inner) if isinstance(inner, (Mapping, list)) else value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_plain, value)))
    if isinstance(value, Mapping):
        parts = [value.get(name) for name in ("stdout", "stderr", "output", "error", "content", "text", "message")]
        return "\n".join(filter(None, (_plain(part) for part in parts if part)))
    return ""


def _failure(host: Host, kind: str, data: Mapping[str, Any], output: str) -> str | None:
    if kind == AFTER_FAILURE:
        return _text(data, "error") or _text(data, "error_message") or output
    if kind != AFTER_TOOL:
        return None
    verdict = _says_failed(data.get("tool_response", data.get("tool_output")), output)
    is_failure = host.has_failed(data, output) if verdict is None else verdict
    return output if is_failure else None


def _says_failed(response: object, output: str) -> bool | None:
    """True if an exit code or a mark of the tool says that it failed; None where there is neither. Words alone are
    not enough, since a file that is read may say anything.
    """
    value = _read(response) if isinstance(response, str) and response.lstrip().startswith("{") else response
    if isinstance(value, Mapping):
        inner = value.get("metadata")
        for fields in (value, inner if isinstance(inner, Mapping) else {}):
            for name in ("exit_code", "exitCode", "code", "returncode"):
                code = fields.get(name)
                if isinstance(code, int) and not isinstance(code, bool):
                    return code != 0
        if value.get("is_error") is True or value.get("success") is False:
            return True
    match = _EXIT_CODE.search(output[:400])
    return None if match is None else match[1] != "0"


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
