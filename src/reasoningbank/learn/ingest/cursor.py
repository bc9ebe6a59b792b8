"""Transcripts of Cursor's agent: JSON Lines of `{role, message: {content: […]}}`, without ids, times or folders.

A result, where it is told at all, belongs to the earliest call that has none yet. What the user said stands between
`<user_query>` marks, with what the editor added around them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.learn.ingest.replies import goes_on
from reasoningbank.learn.ingest.text import action_of, digest_of, injected_out, is_own, own_words_out, plain

AGENT = "cursor"
_ASKED = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)


def is_record(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and value.get("role") in ("user", "assistant")
        and isinstance(value.get("message"), Mapping)
        and "content" in value["message"]
    )


def tasks_in(records: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The turns of a session, cut where the user asks for something new."""
    tasks: list[list[Mapping[str, Any]]] = []
    for record in filter(is_record, records):
        prompt = prompt_of(record)
        if not tasks or (prompt and not goes_on(prompt)):
            tasks.append([])
        tasks[-1].append(record)
    return tasks


def prompt_of(record: Mapping[str, Any]) -> str:
    """The words that the user wrote in person; "" where there are none."""
    if record.get("role") != "user" or not is_record(record):
        return ""
    text = plain(record["message"]["content"])
    match = _ASKED.search(text)
    return own_words_out(match[1] if match else text)


def episode_of(session: str, turns: Sequence[Mapping[str, Any]], namespace: str) -> Episode | None:
    """One task; None when nobody asks for anything in it."""
    messages: list[dict[str, str]] = []
    calls: list[tuple[str, str]] = []
    results: dict[int, tuple[str, bool | None]] = {}
    pending: deque[int] = deque()
    calls_then = 0
    for turn in turns:
        text = prompt_of(turn) if turn["role"] == "user" else injected_out(plain(turn["message"]["content"]))
        if text:
            messages.append({"role": str(turn["role"]), "content": text})
            calls_then = len(calls) if turn["role"] == "user" else calls_then
        for block in _blocks(turn):
            if block.get("type") == "tool_use":
                pending.append(len(calls))
                tool = str(block.get("name") or "tool")
                calls.append((tool, action_of(tool, block.get("input"))))
            elif block.get("type") == "tool_result" and pending:
                ok = False if block.get("is_error") else None
                results[pending.popleft()] = (injected_out(plain(block.get("content"))), ok)
    task = next((entry["content"] for entry in messages if entry["role"] == "user"), "")
    if not task:
        return None
    return Episode(
        task=task,
        namespace=namespace,
        steps=tuple(_steps(calls, results)),
        agent=AGENT,
        messages=tuple(messages),
        metadata={"session": session, "calls_since_words": len(calls) - calls_then},
        source=f"{AGENT}:{session}#{digest_of(task)}",
    )


def _blocks(turn: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = turn["message"]["content"]
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _steps(calls: Sequence[tuple[str, str]], results: Mapping[int, tuple[str, bool | None]]) -> Iterator[EpisodeStep]:
    for number, (tool, action) in enumerate(calls):
        if is_own(tool, action):
            continue
        result, ok = results.get(number, ("", None))
        # Named by its place, since the agent gives it no name.
        call = digest_of(str(number), action)
        yield EpisodeStep(action=action, result=result, ok=ok, metadata={"tool": tool, "call": call})
