"""Session files of Codex: JSON Lines of items, each with a payload; calls and their outputs are joined by `call_id`.

Each thing that the user asks for is an episode of its own; what only corrects it or says "go on" belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.replies import goes_on
from reasoningbank.learn.ingest.text import (
    action_of,
    digest_of,
    goal_of_call,
    injected_out,
    is_own,
    moment_of,
    own_words_out,
    parse_json,
    plain,
    words_of,
)
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

AGENT = "codex"
_TYPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_NOT_SAID = re.compile(r"\s*<(?:environment_context|user_instructions|permissions|turn_aborted|ENVIRONMENT)")
_EXIT_CODE = re.compile(r"(?i)\b(?:exit code|exited with code)[: ]+(-?\d+)")


def is_record(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("type") in _TYPES and isinstance(value.get("payload"), Mapping)


def sessions_in(records: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[Episode]:
    items = [record for record in records if isinstance(record.get("payload"), Mapping)]
    session = next((name for name in map(session_of, items) if name), None)
    for task in tasks_in(items):
        episode = episode_of(session, task, namespace)
        if episode is not None:
            yield episode


def session_of(item: Mapping[str, Any]) -> str | None:
    """The name of the session, where an item tells it."""
    payload = item.get("payload")
    if item.get("type") != "session_meta" or not isinstance(payload, Mapping):
        return None
    return str(payload.get("id") or payload.get("session_id") or "") or None


def tasks_in(records: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The items of a session, cut where the user asks for something new."""
    items = [record for record in records if isinstance(record.get("payload"), Mapping)]
    # What was said is there twice, as an item for the model and as an event for the screen; old files have only one.
    spoken = any(item.get("type") == "response_item" and prompt_of(item) for item in items)
    tasks: list[list[Mapping[str, Any]]] = []
    for item in items:
        prompt = prompt_of(item) if (item.get("type") == "response_item") is spoken else ""
        if not tasks or (prompt and not goes_on(prompt) and any(map(prompt_of, tasks[-1]))):
            tasks.append([])
        tasks[-1].append(item)
    return tasks


def prompt_of(item: Mapping[str, Any]) -> str:
    """What the user said in person, or nothing."""
    payload = item.get("payload")
    if not isinstance(payload, Mapping):
        return ""
    if item.get("type") == "response_item" and payload.get("type") == "message" and payload.get("role") == "user":
        text = own_words_out(plain(payload.get("content")))
    elif item.get("type") == "event_msg" and payload.get("type") == "user_message":
        text = own_words_out(plain(payload.get("message")))
    else:
        return ""
    return "" if _NOT_SAID.match(text) else text


def episode_of(session: str | None, items: Sequence[Mapping[str, Any]], namespace: str) -> Episode | None:
    """One task; None when nobody asks for anything in it."""
    said: list[dict[str, str]] = []
    heard: list[dict[str, str]] = []
    calls: dict[str, tuple[str, str, dict[str, str]]] = {}
    results: dict[str, tuple[str, bool | None]] = {}
    interrupted = calls_then = 0
    for item in items:
        payload = item["payload"]
        calls_then = len(calls) if prompt_of(item) else calls_then
        if item.get("type") == "response_item":
            _take_item(payload, said, calls, results)
        elif item.get("type") == "event_msg":
            interrupted += payload.get("type") == "turn_aborted"
            _take_event(payload, heard)
    told = said or heard
    task = next((entry["content"] for entry in told if entry["role"] == "user"), "")
    if not task:
        return None
    first = next((item for item in items if prompt_of(item)), {})
    return Episode(
        task=task,
        namespace=namespace,
        steps=tuple(_steps(calls, results)),
        agent=AGENT,
        messages=tuple(told),
        metadata={
            **({"session": session} if session else {}),
            "calls_since_words": len(calls) - calls_then,
            **({"interrupted": interrupted} if interrupted else {}),
        },
        source=f"{AGENT}:{session}#{digest_of(str(first.get('timestamp', '')), task)}" if session else None,
        started_at=moment_of(first),
    )


def _take_item(
    payload: Mapping[str, Any],
    said: list[dict[str, str]],
    calls: dict[str, tuple[str, str, dict[str, str]]],
    results: dict[str, tuple[str, bool | None]],
) -> None:
    kind = payload.get("type")
    if kind == "message" and payload.get("role") in ("user", "assistant"):
        text = words_of(str(payload["role"]), plain(payload.get("content")))
        if text and not _NOT_SAID.match(text):
            said.append({"role": str(payload["role"]), "content": text})
    elif kind in _CALLS:
        tool = str(payload.get("name") or "shell")
        given = payload.get("arguments") or payload.get("input") or payload.get("action")
        calls[str(payload.get("call_id"))] = (tool, action_of(tool, given), goal_of_call(given))
    elif kind in _OUTPUTS:
        results[str(payload.get("call_id"))] = _output(payload.get("output"))


def _take_event(payload: Mapping[str, Any], heard: list[dict[str, str]]) -> None:
    role = {"user_message": "user", "agent_message": "assistant"}.get(str(payload.get("type")))
    text = words_of(role or "", plain(payload.get("message")))
    if role and text and not _NOT_SAID.match(text):
        heard.append({"role": role, "content": text})


def _output(value: object) -> tuple[str, bool | None]:
    """The text, and whether it says that the command ended well."""
    inner = parse_json(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
    code: object = None
    if isinstance(inner, Mapping):
        metadata = inner.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, Mapping) else None
        inner = inner.get("output") if "output" in inner else value
    text = plain(inner)
    if not isinstance(code, int):
        match = _EXIT_CODE.search(text[:400])
        code = int(match.group(1)) if match else None
    return injected_out(text), None if code is None else code == 0


def _steps(
    calls: Mapping[str, tuple[str, str, dict[str, str]]], results: Mapping[str, tuple[str, bool | None]]
) -> Iterator[EpisodeStep]:
    for call_id, (tool, action, goal) in calls.items():
        if call_id in results and not is_own(tool, action):
            result, ok = results[call_id]
            yield EpisodeStep(action=action, result=result, ok=ok, metadata={"tool": tool, "call": call_id, **goal})


FORMAT = TranscriptFormat(
    name=AGENT, about="session files of Codex (JSON Lines)", knows=is_record, episodes=sessions_in
)
