"""Reads a transcript from where it was last read, as the tasks that the user set.

The cursor stands at the beginning of the task that may still go on: that one is read again whole, so nothing has to be
remembered of half a task. A file that was cut, replaced or rewritten before the cursor is read from its beginning; what
it tells is known by the ids of its prompts and calls, so nothing is kept twice. A last line without its end waits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reasoningbank.core.digest import blake2b
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.patterns import pattern
from reasoningbank.files import open_plain
from reasoningbank.learn.ingest import claude_code
from reasoningbank.learn.ingest.text import LONGEST_LINE_BYTES, parse_json
from reasoningbank.learn.prompting import prompt
from reasoningbank_coding_agents.hosts import host_named
from reasoningbank_coding_agents.hosts.host import TranscriptReader
from reasoningbank_coding_agents.private_words import hiding, private_values

MARK_BYTES = 512
MOST_BYTES = 256_000_000
"""Size of a transcript; what is longer is read from that far before its end."""
_OTHER_MARK = "kept-back"
_MARK = pattern(r"(</?)private\b", re.IGNORECASE)
_SPAN = pattern(rf"<{_OTHER_MARK}\b[^>]*>(.*?)(?:</{_OTHER_MARK}\s*>|\Z)", re.DOTALL)
_OUR_PROMPTS = ("judge", "success", "failure", "unknown", "contrast", "best")
_OUR_OPENING_CHARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptCursor:
    offset: int = 0
    mark: str = ""
    """A digest of the bytes before the offset, to tell this file from another one."""
    prompt: str = ""
    """The uuid of the record at the offset, where it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    episode: Episode
    next_words: str | None
    """The user's words after it; None while it may go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    tasks: tuple[Task, ...]
    cursor: TranscriptCursor


def read_transcript(
    path: Path, cursor: TranscriptCursor, *, agent: str, session: str, namespace: str, parent: Path | None = None
) -> Read:
    """Raises OSError when the file cannot be read. `parent` is the transcript of the session that a subagent ran in."""
    host = host_named(agent)
    with open_plain(path) as file:
        whole = host.records_of(path)
        # A text that is written anew each time is read whole each time.
        start = _start(file, cursor) if whole is None else 0
        lines = (
            list(_lines(file, start, sidechain=parent is not None))
            if whole is None
            else [(0, record) for record in whole]
        )
    records = [record for _, record in lines]
    places = {id(record): offset for offset, record in lines}
    # What hooks wrote down themselves is in the form of Claude Code, whoever the agent was.
    reader: TranscriptReader = host.reader if any(map(host.reader.is_record, records)) else claude_code
    hide = hiding(_hidden(parent if parent is not None and parent.is_file() else path, reader, whole))
    groups = [group for group in reader.tasks_in(records) if any(map(reader.prompt_of, group))]
    tasks: list[Task] = []
    for number, group in enumerate(groups):
        episode = reader.episode_of(session, group, namespace)
        if episode is None or is_ours(episode.task):
            continue
        following = groups[number + 1] if number + 1 < len(groups) else None
        next_words = None if following is None else next(filter(None, map(reader.prompt_of, following)))
        source = None if episode.source is None else f"{agent}:{episode.source.partition(':')[2]}"
        episode = replace(episode, agent=agent, source=source)
        task = Task(episode=episode if parent is None else _in_nobodys_words(episode), next_words=next_words)
        tasks.append(_without(task, hide))
    if not groups:
        return Read(tasks=(), cursor=replace(cursor, offset=start))
    first = groups[-1][0]
    with open_plain(path) as file:
        mark = _mark(file, places[id(first)])
    end = TranscriptCursor(offset=places[id(first)], mark=mark, prompt=str(first.get("uuid") or ""))
    return Read(tasks=tuple(tasks), cursor=end)


def _start(file: Any, cursor: TranscriptCursor) -> int:
    size: int = file.seek(0, 2)
    if 0 < cursor.offset < size and _mark(file, cursor.offset) == cursor.mark:
        file.seek(cursor.offset)
        record = _record(file.readline(LONGEST_LINE_BYTES))
        if not cursor.prompt or (record is not None and record.get("uuid") == cursor.prompt):
            return cursor.offset
    return max(0, size - MOST_BYTES)


def _mark(file: Any, offset: int) -> str:
    start = max(0, offset - MARK_BYTES)
    file.seek(start)
    return blake2b(file.read(offset - start), digest_size=8).hexdigest()


def _lines(file: Any, start: int, *, sidechain: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    """Whole lines that hold an object, with where they begin; those of a subagent's run only in its own file."""
    file.seek(start)
    offset = start
    while raw := file.readline(LONGEST_LINE_BYTES):
        if not raw.endswith(b"\n"):
            # Either it is being written, or it is longer than anything worth reading.
            if len(raw) < LONGEST_LINE_BYTES:
                return
            while raw and not raw.endswith(b"\n"):
                raw = file.readline(LONGEST_LINE_BYTES)
            offset = file.tell()
            continue
        record = _record(raw)
        if record is not None and (sidechain or not record.get("isSidechain")):
            record.pop("isSidechain", None)
            # What a tool returned, told a second time: it would double what a long session takes in memory.
            record.pop("toolUseResult", None)
            yield offset, record
        offset = file.tell()


def _record(raw: bytes) -> dict[str, Any] | None:
    value = parse_json(raw.decode("utf-8", "replace").lstrip("\ufeff"))
    return value if isinstance(value, dict) else None


# ---------------------------------------------------------------- what must not be kept


def is_ours(task: str) -> bool:
    """A session in which somebody judges or distils for this bank: learning from it would feed the bank to itself."""
    return any(task.startswith(prompt(name).text.strip()[:_OUR_OPENING_CHARS]) for name in _OUR_PROMPTS)


def _in_nobodys_words(episode: Episode) -> Episode:
    """The run of a subagent: what it was asked is the agent's wording, from which nothing follows about the user."""
    roles = {"user": "caller"}
    return replace(
        episode,
        messages=tuple(
            {**message, "role": roles.get(message["role"], message["role"])} for message in episode.messages
        ),
    )


def _hidden(path: Path, reader: TranscriptReader, whole: Sequence[Mapping[str, Any]] | None) -> list[str]:
    """Every value that the user marked as private so far: the agent may have used it anywhere since."""
    spans: list[str] = []
    for raw in _raw_lines(path) if whole is None else (json.dumps(record).encode() for record in whole):
        lower = raw.lower()
        if b"<private" in lower or b"u003cprivate" in lower:
            spans += _SPAN.findall("\n".join(_typed_texts(raw, reader)))
    return private_values(spans)


def _raw_lines(path: Path) -> Iterator[bytes]:
    with open_plain(path) as file:
        while raw := file.readline(LONGEST_LINE_BYTES):
            yield raw


def _typed_texts(raw: bytes, reader: TranscriptReader) -> Iterator[str]:
    """The user's words in a line, private ones too: under another mark, so that the reader leaves them in."""
    record = _record(raw)
    copy = None if record is None else parse_json(_MARK.sub(rf"\1{_OTHER_MARK}", json.dumps(record)))
    if copy is not None and reader.is_record(copy):
        yield from (reader.prompt_of(turn) or "" for task in reader.tasks_in([copy]) for turn in task)


def _without(task: Task, hide: Callable[[str], str]) -> Task:
    def cleaned(step: EpisodeStep) -> EpisodeStep:
        return replace(step, action=hide(step.action), result=hide(step.result))

    episode = task.episode
    messages = tuple({**entry, "content": hide(str(entry.get("content", "")))} for entry in episode.messages)
    clean = replace(episode, task=hide(episode.task), steps=tuple(map(cleaned, episode.steps)), messages=messages)
    return replace(task, episode=clean, next_words=None if task.next_words is None else hide(task.next_words))
