"""Transcripts of Claude Code: JSON Lines, one record a message or a part of one.

Tool results come as records of the user; a message may be split over several lines. Sidechains, recaps after a
compaction, meta records and the words that programs put into the user's mouth are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.text import action_of, is_own, own_words_out, plain

AGENT = "claude-code"
_QUIET_TOOLS = ("Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite")
"""What these return is text that was asked for; an error in it is not theirs."""
_NOT_SAID = re.compile(
    r"\s*(?:<(?:command-|local-command|bash-|user-prompt-submit-hook)|\[Request interrupted|Caveat: )"
)


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
        if isinstance(record.get("sessionId"), str) and _is_turn(record):
            by_session.setdefault(record["sessionId"], []).append(record)
    for session, turns in by_session.items():
        yield from _episode(session, turns, namespace)


def _is_turn(record: Mapping[str, Any]) -> bool:
    passed_over = any(record.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary"))
    return (
        record.get("type") in ("user", "assistant") and isinstance(record.get("message"), Mapping) and not passed_over
    )


def _episode(session: str, turns: list[Mapping[str, Any]], namespace: str) -> Iterator[Episode]:
    said: list[dict[str, str]] = []
    calls: dict[str, tuple[str, str]] = {}
    results: dict[str, tuple[str, bool | None]] = {}
    seen: set[str] = set()
    for turn in turns:
        own_id = turn.get("uuid")
        if isinstance(own_id, str):
            if own_id in seen:
                continue
            seen.add(own_id)
        content = turn["message"].get("content")
        text = own_words_out(plain(content))
        if text and not _NOT_SAID.match(text):
            said.append({"role": turn["type"], "content": text})
        for block in content if isinstance(content, list) else ():
            _take_block(block, calls, results)
    task = next((entry["content"] for entry in said if entry["role"] == "user"), "")
    if not task:
        return
    yield Episode(
        task=task,
        namespace=namespace,
        steps=tuple(_steps(calls, results)),
        agent=AGENT,
        messages=tuple(said),
        source=f"{AGENT}:{session}",
    )


def _take_block(block: object, calls: dict[str, tuple[str, str]], results: dict[str, tuple[str, bool | None]]) -> None:
    if not isinstance(block, Mapping):
        return
    if block.get("type") == "tool_use":
        tool = str(block.get("name") or "tool")
        calls[str(block.get("id"))] = (tool, action_of(tool, block.get("input")))
    elif block.get("type") == "tool_result":
        ok = False if block.get("is_error") else None
        results[str(block.get("tool_use_id"))] = (own_words_out(plain(block.get("content"))), ok)


def _steps(
    calls: Mapping[str, tuple[str, str]], results: Mapping[str, tuple[str, bool | None]]
) -> Iterator[EpisodeStep]:
    """Calls in the order in which they were made; one that is still running has no result yet and is left out."""
    for call_id, (tool, action) in calls.items():
        if call_id not in results or is_own(tool, action):
            continue
        result, ok = results[call_id]
        quiet = True if tool in _QUIET_TOOLS and ok is None else ok
        yield EpisodeStep(action=action, result=result, ok=quiet, metadata={"tool": tool})
