"""Captures one session: reads its transcript and those of its subagents, and keeps the tasks that they tell.

A subagent's run is a session of its own: with its own cursor, its own log of what it was shown, and no user in it, for
what it was asked is the agent's wording. What the user marked as private is private there too.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.core.errors import InvalidInput
from reasoningbank_coding_agents import session_writer
from reasoningbank_coding_agents.capture_queue import CaptureNote
from reasoningbank_coding_agents.reading import TranscriptCursor, read_transcript
from reasoningbank_coding_agents.session_log import entries_in
from reasoningbank_coding_agents.state_dir import StateDir, write_whole
from reasoningbank_coding_agents.transcripts import subagent_transcripts


def read_session(bank: Bank, place: StateDir, note: CaptureNote, *, now: float, eager: bool | None = None) -> int:
    """Keep what a session's transcripts tell since they were last read; says how many tasks that were.

    `eager` queues a task before it is over, by default where distilling costs nothing.
    """
    if note.transcript is None:
        return 0
    eager = not bank.learning.patient if eager is None else eager
    count = _read_run(bank, place, note, now=now, eager=eager)
    for path in subagent_transcripts(Path(note.transcript)) if note.parent is None else ():
        run = replace(note, session=f"{note.session}/{path.stem}", transcript=str(path), parent=note.transcript)
        # One that ended by itself is not opened again by the session that goes on around it.
        with suppress(OSError, InvalidInput):
            if note.ended or not _is_over(place, run, path):
                count += _read_run(bank, place, run, now=now, eager=eager)
    return count


def _is_over(place: StateDir, run: CaptureNote, path: Path) -> bool:
    state = _state_in(place.cursor(run.agent, run.session))
    return state.get("open") is False and float(state.get("at", 0.0)) >= path.stat().st_mtime


def _read_run(bank: Bank, place: StateDir, note: CaptureNote, *, now: float, eager: bool) -> int:
    assert note.transcript is not None
    cursor_file = place.cursor(note.agent, note.session)
    read = read_transcript(
        Path(note.transcript),
        _cursor_in(cursor_file),
        agent=note.agent,
        session=note.session,
        namespace=note.namespace,
        parent=None if note.parent is None else Path(note.parent),
    )
    entries = entries_in(place.session_log(note.agent, note.session))
    groups = session_writer.shown_by_prompt(entries)
    context = bank.context
    for task in read.tasks:
        exposures = session_writer.shown_for(task.episode, groups)
        if not session_writer.is_worth_keeping(task.episode) and not exposures:
            continue
        # One task that cannot be kept costs itself and not the others.
        with suppress(InvalidInput):
            trajectory_id = session_writer.keep(context, task, eager=eager, by_hook=note.captured)
            over = note.ended or task.next_words is not None
            session_writer.charge(context, trajectory_id, exposures, over=over)
            if over:
                session_writer.end(context, trajectory_id, task, exposures)
    state = {
        **asdict(read.cursor),
        "agent": note.agent,
        "session": note.session,
        "transcript": note.transcript,
        "namespace": note.namespace,
        "parent": note.parent,
        "captured": note.captured,
        "open": bool(read.tasks) and not note.ended,
        "at": now,
    }
    write_whole(cursor_file, json.dumps(state))
    return len(read.tasks)


def _cursor_in(path: Path) -> TranscriptCursor:
    try:
        state = _state_in(path)
        return TranscriptCursor(offset=int(state["offset"]), mark=str(state["mark"]), prompt=str(state["prompt"]))
    except (ValueError, TypeError, KeyError):
        return TranscriptCursor()


def _state_in(path: Path) -> dict[str, Any]:
    try:
        state = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}
