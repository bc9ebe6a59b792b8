"""Session files of Codex: JSON Lines of items, each with a payload; calls and their outputs are joined by `call_id`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.text import action_of, is_own, own_words_out, parsed, plain

AGENT = "codex"
_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_NOT_SAID = re.compile(r"\s*<(?:environment_context|user_instructions|permissions|turn_aborted|ENVIRONMENT)")
_EXIT_CODE = re.compile(r"(?i)\b(?:exit code|exited with code)[: ]+(-?\d+)")


def is_record(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("type") in _TYPES and isinstance(value.get("payload"), Mapping)


def sessions_in(records: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[Episode]:
    session: str | None = None
    said: list[dict[str, str]] = []
    heard: list[dict[str, str]] = []
    calls: dict[str, tuple[str, str]] = {}
    results: dict[str, tuple[str, bool | None]] = {}
    for record in records:
        payload = record.get("payload")
        if not isinstance(payload, Mapping):
            continue
        if record.get("type") == "session_meta" and session is None:
            session = str(payload.get("id") or payload.get("session_id") or "") or None
        elif record.get("type") == "response_item":
            _take_item(payload, said, calls, results)
        elif record.get("type") == "event_msg":
            _take_event(payload, heard)
    told = said or heard
    task = next((entry["content"] for entry in told if entry["role"] == "user"), "")
    if task:
        steps = tuple(_steps(calls, results))
        source = f"{AGENT}:{session}" if session else None
        yield Episode(task=task, namespace=namespace, steps=steps, agent=AGENT, messages=tuple(told), source=source)


def _take_item(
    payload: Mapping[str, Any],
    said: list[dict[str, str]],
    calls: dict[str, tuple[str, str]],
    results: dict[str, tuple[str, bool | None]],
) -> None:
    kind = payload.get("type")
    if kind == "message" and payload.get("role") in ("user", "assistant"):
        text = own_words_out(plain(payload.get("content")))
        if text and not _NOT_SAID.match(text):
            said.append({"role": str(payload["role"]), "content": text})
    elif kind in _CALLS:
        tool = str(payload.get("name") or "shell")
        given = payload.get("arguments") or payload.get("input") or payload.get("action")
        calls[str(payload.get("call_id"))] = (tool, action_of(tool, given))
    elif kind in _OUTPUTS:
        results[str(payload.get("call_id"))] = _output(payload.get("output"))


def _take_event(payload: Mapping[str, Any], heard: list[dict[str, str]]) -> None:
    role = {"user_message": "user", "agent_message": "assistant"}.get(str(payload.get("type")))
    text = own_words_out(plain(payload.get("message")))
    if role and text and not _NOT_SAID.match(text):
        heard.append({"role": role, "content": text})


def _output(value: object) -> tuple[str, bool | None]:
    """The text, and whether it says that the command ended well."""
    inner = parsed(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
    code: object = None
    if isinstance(inner, Mapping):
        metadata = inner.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, Mapping) else None
        inner = inner.get("output") if "output" in inner else value
    text = plain(inner)
    if not isinstance(code, int):
        match = _EXIT_CODE.search(text[:400])
        code = int(match.group(1)) if match else None
    return own_words_out(text), None if code is None else code == 0


def _steps(
    calls: Mapping[str, tuple[str, str]], results: Mapping[str, tuple[str, bool | None]]
) -> Iterator[EpisodeStep]:
    for call_id, (tool, action) in calls.items():
        if call_id in results and not is_own(tool, action):
            result, ok = results[call_id]
            yield EpisodeStep(action=action, result=result, ok=ok, metadata={"tool": tool})
