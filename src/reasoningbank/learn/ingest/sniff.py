"""Detects the format of a transcript, from what is in it, and reads its episodes.

Knows one sign for every format. A folder is every file in it that may be a transcript.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest import benchmarks, chat, claude_code, codex, plain
from reasoningbank.learn.ingest.text import json_lines, parse_json, raw_lines, whole

FORMATS = ("claude-code", "codex", "openai-chat", "tau-bench", "intercode", "text")
SUFFIXES = frozenset({".jsonl", ".json", ".txt", ".md", ".log"})
_LINES_TRIED = 50


def files_in(path: Path) -> list[Path]:
    """The file itself, or the transcripts below a folder in a steady order."""
    if not path.exists():
        raise ImportRejected(f"{path} does not exist. Name a transcript, or a folder of them.")
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix.lower() in SUFFIXES)
    if not found:
        raise ImportRejected(f"{path} holds no transcripts: no file in it ends in {', '.join(sorted(SUFFIXES))}.")
    return found


def format_of(path: Path) -> str:
    head = list(islice(raw_lines(path), _LINES_TRIED))
    if not head:
        raise ImportRejected(f"{path} is empty: there is nothing to learn from.")
    if "\x00" in head[0]:
        raise ImportRejected(f"{path} is a binary file, not a transcript.")
    for value in map(parse_json, head):
        known = _sign(value)
        if known:
            return known
    if head[0][0] in "[{":
        known = next(filter(None, map(_sign, _values(parse_json(whole(path))))), None)
        if known:
            return known
        raise ImportRejected(f"{path} is JSON in no known format. Known are: {', '.join(FORMATS)}.")
    return "text"


def _sign(value: object) -> str | None:
    if claude_code.is_record(value):
        return "claude-code"
    if codex.is_record(value):
        return "codex"
    if benchmarks.is_tau_run(value):
        return "tau-bench"
    if benchmarks.is_intercode(value):
        return "intercode"
    spoken = isinstance(value, list) and any(map(chat.is_message, value))
    return "openai-chat" if spoken or chat.is_chat(value) or chat.is_message(value) else None


def episodes_in(path: Path, namespace: str, named: str | None = None) -> Iterator[Episode]:
    """The episodes of one file; `named` is its format, where the caller knows better."""
    match named or format_of(path):
        case "claude-code":
            yield from claude_code.sessions_in(json_lines(path), namespace)
        case "codex":
            yield from codex.sessions_in(json_lines(path), namespace)
        case "openai-chat":
            yield from chat.chats_in(_all_values(path), namespace)
        case "tau-bench":
            yield from benchmarks.tau_runs_in(_all_values(path), namespace)
        case "intercode":
            yield from benchmarks.intercode_in(_all_values(path), namespace)
        case "text":
            yield from plain.notes_in(whole(path), namespace)
        case other:
            raise InvalidInput(f"The format {other!r} is unknown: use one of {', '.join(FORMATS)}.")


def _all_values(path: Path) -> Iterable[Any]:
    """Of a JSON Lines file or of one JSON text."""
    value = parse_json(whole(path))
    return json_lines(path) if value is None else _values(value)


def _values(value: object) -> list[Any]:
    """What may be an episode: the value itself, or what a list or a mapping of them holds."""
    if isinstance(value, list):
        return [value] if any(map(chat.is_message, value)) else value
    if isinstance(value, Mapping):
        return [value] if _sign(value) else list(value.values())
    return []
