"""Session files of Codex: JSON Lines of items, each with a payload; calls and their outputs are joined by `call_id`.

A patch is read as the edits of files that it makes, in the form of other agents. A call that a hook refused was never
made, and one that only waits for another adds nothing to it. Each thing that the user asks for is an episode of its
own; what only corrects it or says "go on" belongs to it.

How a call ended is read from the text that the model gets, which has a head of its own (`Chunk ID`, `Wall time`,
`Process exited with code 1`) above what the command printed, and from the item that the program completes: a command
that outlives its call ("running with session ID") ends in an item of its own, under the id of the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest.patches import edits_in, patch_in
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
_PIPE = re.compile(r"(?<!\|)\|(?!\|)")
_WAITS = "write_stdin"
"""The tool that reads on from a command that is still running, and may send it something."""
_HEAD = pattern(
    r"(?:(?:Chunk ID|Wall time|Process exited with code|Process running with session ID|Exit code"
    r"|Original token count|Total output lines|Warning):? [^\n]*\n)+(?:Output:\n)?"
)
_EXIT_CODE = pattern(r"(?im)^(?:Process exited with code|Exit code:?|exited with code) (-?\d+)")
_ANY_EXIT_CODE = pattern(r"(?i)\b(?:exit code|exited with code)[: ]+(-?\d+)")
_RUNNING = pattern(r"(?m)^Process running with session ID ")
_REFUSED = pattern(r"(?:Command|Tool call|\w+) blocked by PreToolUse hook\b")
_BAD_PATCH = pattern(
    r"(?:apply_?patch verification failed|error: ?|invalid patch|Failed to (?:find|apply))", re.IGNORECASE
)
_LOOKED_AT_CHARS = 400


class CodexCall(NamedTuple):
    tool: str
    given: Any


class CallResult(NamedTuple):
    text: str
    ok: bool | None
    """None where nothing says so."""
    running: bool = False
    refused: bool = False
    """A hook refused the call: it was never made."""


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
    has_items = any(item.get("type") == "response_item" and prompt_of(item) for item in items)
    tasks: list[list[Mapping[str, Any]]] = []
    for item in items:
        prompt = prompt_of(item) if (item.get("type") == "response_item") is has_items else ""
        if not tasks or (prompt and not goes_on(prompt) and any(map(prompt_of, tasks[-1]))):
            tasks.append([])
        tasks[-1].append(item)
    return tasks


def prompt_of(item: Mapping[str, Any]) -> str:
    """The words that the user wrote in person; "" where there are none."""
    payload = item.get("payload")
    if not isinstance(payload, Mapping):
        return ""
    if item.get("type") == "response_item" and payload.get("type") == "message" and payload.get("role") == "user":
        if _is_by_program(payload):
            return ""
        return own_words_out(plain(payload.get("content")))
    if item.get("type") == "event_msg" and payload.get("type") == "user_message":
        return own_words_out(plain(payload.get("message")))
    return ""


def _is_by_program(payload: Mapping[str, Any]) -> bool:
    """True if a message in the user's name says of itself that a program made it: a hook, a tool, a subagent."""
    passthrough = payload.get("internal_chat_message_metadata_passthrough")
    parts = passthrough.get("content_item_metadata") if isinstance(passthrough, Mapping) else None
    makers = [
        part["provenance"].get("type")
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, Mapping) and isinstance(part.get("provenance"), Mapping)
    ]
    return bool(makers) and "user" not in makers


def episode_of(session: str | None, items: Sequence[Mapping[str, Any]], namespace: str) -> Episode | None:
    """One task; None when nobody asks for anything in it."""
    messages: list[dict[str, str]] = []
    event_messages: list[dict[str, str]] = []
    calls: dict[str, CodexCall] = {}
    results: dict[str, CallResult] = {}
    interruptions = calls_then = 0
    for item in items:
        payload = item["payload"]
        calls_then = len(calls) if prompt_of(item) else calls_then
        completion = _completed_call(item)
        if completion is not None:
            # What the program says of a command is whole; the model may have been told that it goes on.
            results[completion[0]] = completion[1]
        elif item.get("type") == "response_item":
            _take_item(payload, messages, calls, results)
        elif item.get("type") == "event_msg":
            interruptions += payload.get("type") == "turn_aborted"
            role = {"user_message": "user", "agent_message": "assistant"}.get(str(payload.get("type")))
            text = words_of(role or "", plain(payload.get("message")))
            if role and text:
                event_messages.append({"role": role, "content": text})
    transcript = messages or event_messages
    task = next((entry["content"] for entry in transcript if entry["role"] == "user"), "")
    if not task:
        return None
    first = next((item for item in items if prompt_of(item)), {})
    # A subagent's run has a file of its own, whose id is the part after the session that started it.
    own = session.rpartition("/agent-")[2] if session else None
    return Episode(
        task=task,
        namespace=namespace,
        steps=tuple(_steps(calls, results)),
        agent=AGENT,
        messages=tuple(transcript),
        metadata={
            **({"session": session} if session else {}),
            "calls_since_words": len(calls) - calls_then,
            **({"interrupted": interruptions} if interruptions else {}),
        },
        source=f"{AGENT}:{own}#{digest_of(str(first.get('timestamp', '')), task)}" if own else None,
        started_at=moment_of(first),
    )


def _take_item(
    payload: Mapping[str, Any],
    messages: list[dict[str, str]],
    calls: dict[str, CodexCall],
    results: dict[str, CallResult],
) -> None:
    kind = payload.get("type")
    if kind == "message" and payload.get("role") in ("user", "assistant") and not _is_by_program(payload):
        text = words_of(str(payload["role"]), plain(payload.get("content")))
        if text:
            messages.append({"role": str(payload["role"]), "content": text})
    elif kind in _CALLS:
        tool = str(payload.get("name") or "shell")
        arguments = payload.get("arguments") or payload.get("input") or payload.get("action")
        calls[str(payload.get("call_id"))] = CodexCall(tool, arguments)
    elif kind in _OUTPUTS:
        results.setdefault(str(payload.get("call_id")), result_of(payload.get("output")))


def _steps(calls: Mapping[str, CodexCall], results: Mapping[str, CallResult]) -> Iterator[EpisodeStep]:
    for call_id, call in calls.items():
        result = results.get(call_id)
        action = action_of(call.tool, call.given)
        if result is None or result.refused or is_own(call.tool, action) or _only_waits(call):
            continue
        patch = patch_in(call.given) or patch_in(action)
        edits = edits_in(patch) if patch else []
        if not edits:
            yield _step(action, result, call.tool, call_id, goal_of_call(call.given))
        for number, edit in enumerate(edits):
            own_id = f"{call_id}#{number}" if number else call_id
            yield _step(edit.action, _patch_result_of(result.text, result.ok), edit.tool, own_id)


def _step(
    action: str, result: CallResult, tool: str, call_id: str, goal: Mapping[str, str] | None = None
) -> EpisodeStep:
    # The code of a pipe is that of its end: `make | tail` ends well whatever `make` did.
    ok = None if result.ok and _PIPE.search(action) else result.ok
    metadata = {"tool": tool, "call": call_id, **(goal or {})}
    return EpisodeStep(action=action, result=injected_out(result.text), ok=ok, metadata=metadata)


def _only_waits(call: CodexCall) -> bool:
    arguments = parse_json(call.given) if isinstance(call.given, str) else call.given
    return call.tool == _WAITS and isinstance(arguments, Mapping) and not str(arguments.get("chars") or "").strip()


def result_of(output: object) -> CallResult:
    """The result of a call, from what the model was told."""
    inner = parse_json(output) if isinstance(output, str) and output.lstrip().startswith("{") else output
    code: object = None
    if isinstance(inner, Mapping):
        metadata = inner.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, Mapping) else None
        inner = inner.get("output") if "output" in inner else output
    text = plain(inner)
    head = _HEAD.match(text)
    report, rest = (text[: head.end()], text[head.end() :]) if head else (text[:_LOOKED_AT_CHARS], text)
    if not isinstance(code, int):
        match = (_EXIT_CODE if head else _ANY_EXIT_CODE).search(report)
        code = int(match[1]) if match else None
    failure = f"Exit code {code}" if isinstance(code, int) and code and not rest.strip() else ""
    return CallResult(
        text=failure or rest,
        ok=None if code is None else code == 0,
        running=bool(head and _RUNNING.search(report)),
        refused=_REFUSED.match(text) is not None,
    )


def _patch_result_of(text: str, ok: bool | None) -> CallResult:
    """The result of a patch, which tells its failure in words, and inside a shell call has a head of its own."""
    result = result_of(text)
    well = ok if result.ok is None else result.ok
    return result._replace(ok=False if well is None and _BAD_PATCH.match(result.text) else well)


def _completed_call(item: Mapping[str, Any]) -> tuple[str, CallResult] | None:
    """The call that an item of the program completes, and how it ended; None for any other record."""
    payload = item.get("payload")
    completion = (
        payload.get("item") if isinstance(payload, Mapping) and payload.get("type") == "item_completed" else None
    )
    if not isinstance(completion, Mapping):
        completion = payload if isinstance(payload, Mapping) and payload.get("type") == "exec_command_end" else None
    if completion is None or not isinstance(completion.get("exit_code"), int):
        return None
    code, output = completion["exit_code"], plain(completion.get("aggregated_output"))
    text = output if output.strip() or not code else f"Exit code {code}"
    return str(completion.get("call_id") or completion.get("id") or ""), CallResult(text=text, ok=code == 0)


FORMAT = TranscriptFormat(
    name=AGENT, about="session files of Codex (JSON Lines)", knows=is_record, episodes=sessions_in
)
