"""Transcripts of Claude Code: JSON Lines, one record a message or a part of one.

Tool results come as records of the user; a message may be split over several lines. Sidechains, recaps after a
compaction, meta records and the words that programs put into the user's mouth are passed over. Each thing that the
user asks for is an episode of its own; what only corrects it or says "go on" belongs to it.
"""

from __future__ import annotations

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
    is_refusal,
    moment_of,
    own_words_out,
    plain,
    words_of,
)
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

AGENT = "claude-code"
_QUIET_TOOLS = ("Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite")
"""Tools that return text that was asked for; an error in it is not theirs."""
_PASSED_OVER = ("isSidechain", "isMeta", "isCompactSummary", "isVirtual", "isVisibleInTranscriptOnly", "wakeupSource")
_BY_PERSONS = {
    "promptSource": ("typed", "queued", "suggestion_accepted", "sdk"),
    "turnOrigin": ("human", "sdk", "unknown"),
}
"""Where a record says who made its prompt, these are people; a record that does not say is taken at its word."""


def is_record(value: object) -> bool:
    return isinstance(value, Mapping) and "sessionId" in value and value.get("type") in _TYPES


_TYPES = (
    "user",
    "assistant",
    "system",
    "summary",
    "progress",
    "attachment",
    "file-history-snapshot",
    "queue-operation",
)


def sessions_in(records: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[Episode]:
    by_session: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        if isinstance(record.get("sessionId"), str):
            by_session.setdefault(record["sessionId"], []).append(record)
    for session, turns in by_session.items():
        for task in tasks_in(turns):
            episode = episode_of(session, task, namespace)
            if episode is not None:
                yield episode


def tasks_in(records: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The turns of a session, cut where the user asks for something new."""
    tasks: list[list[Mapping[str, Any]]] = []
    ids: set[str] = set()
    for record in records:
        own_id = record.get("uuid")
        if not is_turn(record) or (isinstance(own_id, str) and own_id in ids):
            continue
        if isinstance(own_id, str):
            ids.add(own_id)
        prompt = prompt_of(record)
        if not tasks or (prompt and not goes_on(prompt)):
            tasks.append([])
        tasks[-1].append(record)
    return tasks


def is_turn(record: Mapping[str, Any]) -> bool:
    passed_over = any(record.get(mark) for mark in _PASSED_OVER)
    return (
        record.get("type") in ("user", "assistant") and isinstance(record.get("message"), Mapping) and not passed_over
    )


def _is_by_program(record: Mapping[str, Any]) -> bool:
    """True if a record of the user was made by the program around the agent: a task that ended, a timer, a peer."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, Mapping) else None
    marks = ((record.get(mark), persons) for mark, persons in _BY_PERSONS.items())
    return kind not in (None, "human") or any(value is not None and value not in persons for value, persons in marks)


def prompt_of(turn: Mapping[str, Any]) -> str:
    """The words that the user wrote in person; "" where there are none."""
    if turn.get("type") != "user" or not isinstance(turn.get("message"), Mapping) or _is_by_program(turn):
        return ""
    return own_words_out(plain(turn["message"].get("content")))


def episode_of(session: str, turns: Sequence[Mapping[str, Any]], namespace: str) -> Episode | None:
    """One task; None when nobody asks for anything in it."""
    messages: list[dict[str, str]] = []
    calls: dict[str, tuple[str, str, dict[str, str]]] = {}
    results: dict[str, tuple[str, bool | None]] = {}
    first: Mapping[str, Any] | None = None
    interruptions = calls_then = 0
    for turn in turns:
        content = turn["message"].get("content")
        message = "" if _is_by_program(turn) else plain(content)
        interruptions += turn["type"] == "user" and injected_out(message).startswith("[Request interrupted")
        text = words_of(turn["type"], message)
        if text:
            messages.append({"role": turn["type"], "content": text})
            if turn["type"] == "user":
                first, calls_then = first or turn, len(calls)
        for block in content if isinstance(content, list) else ():
            _take_block(block, calls, results)
    if first is None:
        return None
    return Episode(
        task=prompt_of(first),
        namespace=namespace,
        steps=tuple(_steps(calls, results)),
        agent=AGENT,
        messages=tuple(messages),
        metadata={
            "session": session,
            "calls_since_words": len(calls) - calls_then,
            **({"interrupted": interruptions} if interruptions else {}),
        },
        # Of the prompt, not of the session: a session that is resumed under another name begins with the same records.
        source=f"{AGENT}:{first.get('uuid') or digest_of(session, prompt_of(first))}",
        started_at=moment_of(first),
    )


def _take_block(
    block: object, calls: dict[str, tuple[str, str, dict[str, str]]], results: dict[str, tuple[str, bool | None]]
) -> None:
    if not isinstance(block, Mapping):
        return
    if block.get("type") == "tool_use":
        tool = str(block.get("name") or "tool")
        calls[str(block.get("id"))] = (tool, action_of(tool, block.get("input")), goal_of_call(block.get("input")))
    elif block.get("type") == "tool_result":
        text, ok = plain(block.get("content")), False if block.get("is_error") else None
        if not is_refusal(text):
            results[str(block.get("tool_use_id"))] = (injected_out(text), ok)


def _steps(
    calls: Mapping[str, tuple[str, str, dict[str, str]]], results: Mapping[str, tuple[str, bool | None]]
) -> Iterator[EpisodeStep]:
    """Calls in the order in which they were made; one that is still running has no result yet and is left out."""
    for call_id, (tool, action, goal) in calls.items():
        if call_id not in results or is_own(tool, action):
            continue
        result, ok = results[call_id]
        quiet = True if tool in _QUIET_TOOLS and ok is None else ok
        yield EpisodeStep(action=action, result=result, ok=quiet, metadata={"tool": tool, "call": call_id, **goal})


FORMAT = TranscriptFormat(
    name=AGENT, about="transcripts of Claude Code (JSON Lines)", knows=is_record, episodes=sessions_in
)
