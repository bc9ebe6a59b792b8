"""Transcript written by hooks themselves, for agents whose own transcripts leave out tool results (Cursor).

In the form of Claude Code's transcripts, so that one reader reads both. What is private is left out and secrets are
scrubbed before a word is on disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reasoningbank.files import hold
from reasoningbank.learn.ingest.text import words_of
from reasoningbank_coding_agents import events
from reasoningbank_coding_agents.payload import Event
from reasoningbank_coding_agents.state_dir import make_room

LONGEST_WAIT_S = 0.25
LONGEST_TEXT_CHARS = 20_000
MOST_BYTES = 20_000_000
INTERRUPTED = "[Request interrupted by user]"


def write_down(path: Path, event: Event, clean: Callable[[str], str], now: float) -> None:
    """Append what an event tells, as one write; a session that tells too much is not listened to any more."""
    make_room(path)
    descriptor = hold(path, LONGEST_WAIT_S)
    if descriptor is None:
        return
    try:
        size = os.fstat(descriptor).st_size
        speaker = "user" if event.kind == events.PROMPT else "tool"
        records = list(_records(event, lambda text: clean(words_of(speaker, text))[:LONGEST_TEXT_CHARS], f"{size}"))
        if not records or size > MOST_BYTES:
            return
        lines = "".join(
            json.dumps({"uuid": f"{event.session}-{size}-{n}", "sessionId": event.session, "at": now, **record}) + "\n"
            for n, record in enumerate(records)
        )
        os.lseek(descriptor, 0, os.SEEK_END)
        os.write(descriptor, lines.encode())
    finally:
        os.close(descriptor)


def _records(event: Event, clean: Callable[[str], str], number: str) -> Iterator[dict[str, Any]]:
    match event.kind:
        case events.PROMPT if event.prompt:
            yield _message("user", clean(event.prompt))
        case events.AFTER_TOOL | events.AFTER_FAILURE if event.tool:
            call = event.call or f"call-{number}"
            tool_input = {name: clean(value) for name, value in event.tool_input.items() if isinstance(value, str)}
            yield _message("assistant", [{"type": "tool_use", "id": call, "name": event.tool, "input": tool_input}])
            is_error = event.kind == events.AFTER_FAILURE
            text = clean(event.failure or event.output)
            yield _message(
                "user", [{"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error}]
            )
        case events.STOP if event.interrupted:
            yield _message("user", INTERRUPTED)


def _message(role: str, content: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": content}}
