"""Detects the format of a transcript from what is in it, and reads its episodes.

The readers stand in one table, the most particular first: a file belongs to the first that knows a value of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.learning import Episode
from reasoningbank.learn.ingest import (
    claude_code,
    cline,
    codex,
    copilot_cli,
    gemini_cli,
    intercode,
    messages,
    otel_spans,
    plain,
    qwen_code,
    react,
    swe_agent,
    tau,
)
from reasoningbank.learn.ingest.files import parts_known, values_in
from reasoningbank.learn.ingest.transcript_format import TranscriptFormat

TABLE: tuple[TranscriptFormat, ...] = (
    # It has the envelope of Claude Code, which would take it for its own.
    qwen_code.FORMAT,
    claude_code.FORMAT,
    gemini_cli.FORMAT,
    copilot_cli.FORMAT,
    cline.FORMAT,
    codex.FORMAT,
    *tau.FORMATS,
    intercode.FORMAT,
    swe_agent.FORMAT,
    otel_spans.FORMAT,
    *messages.FORMATS,
    react.FORMAT,
    plain.FORMAT,
)
FORMATS = tuple(reader.name for reader in TABLE)
_HOLD_MESSAGES = ("messages", "conversation", "history", "events", "turns")


def transcript_in(
    path: Path, namespace: str, format_name: str | None = None
) -> tuple[TranscriptFormat, Iterator[Episode]]:
    """The format of a file, and its episodes; `format_name` is its format, where the caller knows better."""
    values = values_in(path)
    reader = _reader_for(path, values) if format_name is None else _reader_named(format_name)
    parts = chain.from_iterable(parts_known(value, reader.takes or reader.knows) for value in values)
    return reader, reader.episodes(parts, namespace)


def _reader_named(name: str) -> TranscriptFormat:
    for reader in TABLE:
        if reader.name == name:
            return reader
    raise InvalidInput(f"The format {name!r} is unknown: use one of {', '.join(FORMATS)}.")


def _reader_for(path: Path, values: Iterable[Any]) -> TranscriptFormat:
    sample = list(islice(values, 50))
    for reader in TABLE:
        if any(map(reader.knows, sample)):
            return reader
    for reader in TABLE:
        if any(parts_known(value, reader.knows) for value in sample):
            return reader
    if sample and all(map(_is_empty, sample)):
        raise ImportRejected(f"{path}: the conversation is empty, it has no messages.")
    raise ImportRejected(f"{path} is JSON in no known format. Known are: {', '.join(FORMATS)}.")


def _is_empty(value: Any) -> bool:
    """True for a conversation without a message."""
    return value == [] or (isinstance(value, dict) and any(value.get(name) == [] for name in _HOLD_MESSAGES))
