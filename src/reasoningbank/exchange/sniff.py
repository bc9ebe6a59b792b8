"""Detects which layout a path holds, from what is in it and not from its name.

One sign for every layout, and the reader that belongs to it. Reads a little and decides; it never imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected
from reasoningbank.exchange.claude_flow import layouts, read_claude_flow
from reasoningbank.exchange.claude_flow_json import is_store, load_store, read_claude_flow_json
from reasoningbank.exchange.claude_flow_tables import is_sqlite
from reasoningbank.exchange.coerce import lines_of, object_of
from reasoningbank.exchange.items import Item
from reasoningbank.exchange.jsonl import KINDS
from reasoningbank.exchange.lessons import document_entries, read_lessons
from reasoningbank.exchange.markdown import SUFFIXES, notes_in, read_markdown
from reasoningbank.exchange.paper import is_task, read_paper
from reasoningbank.exchange.plain_memory import is_lesson, is_memory
from reasoningbank.files import open_plain

REASONINGBANK_JSONL = "reasoningbank-jsonl"
CLAUDE_FLOW_SQLITE = "claude-flow-sqlite"
CLAUDE_FLOW_JSON = "claude-flow-json"
PAPER_JSONL = "paper-jsonl"
MARKDOWN_FOLDER = "markdown-folder"
LESSONS = "lessons"
MEMORIES_JSON = "memories-json"

_LINES_TRIED = 100
_HEAD_BYTES = 8_192
_OWN_TYPES = frozenset({"header", *KINDS})

Reader = Callable[[Path], Iterator[Item]]


def readers() -> dict[str, Reader]:
    """The reader of every foreign layout; our own lines have theirs in `exchange.jsonl`."""
    return {
        CLAUDE_FLOW_SQLITE: read_claude_flow,
        CLAUDE_FLOW_JSON: read_claude_flow_json,
        PAPER_JSONL: read_paper,
        MARKDOWN_FOLDER: read_markdown,
        LESSONS: read_lessons,
        MEMORIES_JSON: read_lessons,
    }


def detect(path: Path) -> str:
    try:
        if path.is_dir():
            return _folder(path)
        if not path.is_file():
            reason = "is not a regular file" if path.exists() else "does not exist"
            raise ImportRejected(f"{path} {reason}. Name a file to import, or a folder with Markdown files.")
        with open_plain(path) as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise ImportRejected(f"{path} cannot be read ({error.strerror}). Check its permissions.") from error
    if not head.strip():
        raise ImportRejected(f"{path} is empty: there is nothing to import.")
    if is_sqlite(path):
        return _sqlite(path)
    if b"\x00" in head:
        raise ImportRejected(f"{path} is a binary file of an unknown kind. {_KNOWN}")
    if path.suffix.lower() in SUFFIXES:
        return MARKDOWN_FOLDER
    return _text(path)


_KNOWN = (
    "Known are: ReasoningBank's own export (.jsonl), claude-flow's memory.db and memory-store.json, "
    "the paper's memories (.jsonl), lessons or memories as JSON (.json, .jsonl), and Markdown files or folders."
)


def _folder(path: Path) -> str:
    store = path / ".swarm" / "memory.db"
    if any(True for _ in notes_in(path)):
        return MARKDOWN_FOLDER
    hint = f"Did you mean {store}?" if store.is_file() else "Name a file to import, or a folder with .md files."
    raise ImportRejected(f"{path} is a folder without Markdown files. {hint}")


def _sqlite(path: Path) -> str:
    if layouts(path):
        return CLAUDE_FLOW_SQLITE
    raise ImportRejected(
        f"{path} is an SQLite file, but not one of claude-flow's. "
        "If it is a ReasoningBank bank, run 'reasoningbank export' on it and import the result."
    )


def _text(path: Path) -> str:
    embeddings = False
    for record, _ in map(object_of, islice(lines_of(path), _LINES_TRIED)):
        if record is None:
            continue
        layout = _line(record)
        if layout is not None:
            return layout
        embeddings = embeddings or {"id", "text", "embedding"} <= record.keys()
    if embeddings:
        raise ImportRejected(f"{path} holds vectors only. Name the file beside it, without '_embeddings' in its name.")
    entries = document_entries(path)
    if entries is not None:
        return LESSONS if any(isinstance(entry, dict) and is_lesson(entry) for entry in entries) else MEMORIES_JSON
    try:
        load_store(path)
    except ImportRejected as error:
        raise ImportRejected(f"{path} is in no known layout. {_KNOWN}") from error
    return CLAUDE_FLOW_JSON


def _line(record: dict[str, Any]) -> str | None:
    if record.get("type") == "header":
        return REASONINGBANK_JSONL if record.get("format") == "reasoningbank" else None
    if is_task(record):
        return PAPER_JSONL
    if is_store(record):
        return CLAUDE_FLOW_JSON
    if isinstance(record.get("type"), str) and record["type"] in _OWN_TYPES:
        return REASONINGBANK_JSONL
    if is_lesson(record):
        return LESSONS
    return REASONINGBANK_JSONL if is_memory(record) else None
