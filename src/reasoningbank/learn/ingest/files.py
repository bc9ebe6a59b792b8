"""Loads the JSON values of a transcript's file, or its text, and finds the parts of them that a reader knows.

A file is JSON Lines, one JSON document, or text. A session may lie anywhere in a document: the reader is asked level by
level, so that the outermost value it knows is what it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected
from reasoningbank.learn.ingest.text import parse_json, raw_lines, whole

SUFFIXES = frozenset({".jsonl", ".ndjson", ".json", ".traj", ".txt", ".md", ".log"})
DEEPEST = 5
_LINES_TRIED = 50
_MOST_PARTS = 200_000
"""Most parts of one level of a document; what is wider is no transcript."""


def files_in(path: Path) -> list[Path]:
    """The file itself, or the transcripts below a folder in a steady order."""
    if not path.exists():
        raise ImportRejected(f"{path} does not exist. Name a transcript, or a folder of them.")
    if path.is_file():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix.lower() in SUFFIXES)
    if not files:
        raise ImportRejected(f"{path} holds no transcripts: no file in it ends in {', '.join(sorted(SUFFIXES))}.")
    return files


def values_in(path: Path) -> Iterable[Any]:
    """The values of a JSON Lines file, the one value of a JSON document, or the text of any other; each time anew."""
    lines = raw_lines(path)
    first = next(lines, None)
    if first is None:
        raise ImportRejected(f"{path} is empty: there is nothing to learn from.")
    if "\x00" in first:
        raise ImportRejected(f"{path} is a binary file, not a transcript.")
    if _holds(first):
        return _JsonLines(path)
    head = [first, *islice(lines, _LINES_TRIED - 1)]
    text = whole(path)
    if first[0] in "[{":
        value = parse_json(text)
        if value is not None:
            return [value]
        if any(map(_holds, head)):
            return _JsonLines(path)
        # A text that is no JSON may have begun as one; a line such as `[12:04] started` did not.
        if text.lstrip()[1:].lstrip()[:1] in ('"', "{", "["):
            raise ImportRejected(f"{path} is JSON that breaks off or is damaged. Write it again as a whole.")
    return [text]


class _JsonLines:
    """The values of a JSON Lines file, read again each time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Any]:
        return (value for value in map(parse_json, raw_lines(self._path)) if isinstance(value, list | dict))


def _holds(line: str) -> bool:
    return isinstance(parse_json(line), list | dict)


def parts_known(value: object, knows: Callable[[object], bool]) -> list[Any]:
    """The outermost parts of a value that are known, in order; all of one level."""
    level: list[object] = [value]
    for _ in range(DEEPEST):
        parts = [part for part in level if knows(part)]
        if parts or not level:
            return parts
        level = list(islice(chain.from_iterable(map(_inner, level)), _MOST_PARTS))
    return []


def _inner(value: object) -> Iterable[object]:
    parts: Iterable[object] = ()
    if isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, list):
        parts = value
    for part in parts:
        if isinstance(part, list | dict):
            yield part
        elif isinstance(part, str) and part[:1] in ("[", "{") and isinstance(inner := parse_json(part), list | dict):
            yield inner
