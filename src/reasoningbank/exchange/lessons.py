"""Memories from JSON that is no export of ours: a list, an object that holds a list, or a line for each.

What an entry means is `plain_memory`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected
from reasoningbank.exchange.coerce import lines_of, object_of, parse_json
from reasoningbank.exchange.items import Item, SkippedItem
from reasoningbank.exchange.plain_memory import is_lesson, is_memory, item_from, make_storable
from reasoningbank.files import read_plain

DOCUMENT_BYTES = 256_000_000
_LIST_NAMES = ("lessons", "memories", "reasoning_bank", "reasoningbank", "data", "items", "entries", "results")


def read_lessons(path: Path) -> Iterator[Item]:
    entries = document_entries(path)
    if entries is not None:
        for number, entry in enumerate(entries, 1):
            what = f"entry {number}"
            yield (
                item_from(what, make_storable(entry))
                if isinstance(entry, dict)
                else SkippedItem(what=what, why="it is not an object")
            )
        return
    for line in lines_of(path):
        record, fault = object_of(line)
        what = f"line {line.number}"
        yield SkippedItem(what=what, why=fault) if record is None else item_from(what, make_storable(record))


def document_entries(path: Path) -> list[Any] | None:
    """The entries of a file that is one JSON document with lessons or memories in it, or None."""
    try:
        if path.stat().st_size > DOCUMENT_BYTES:
            return None
        value = parse_json(read_plain(path, DOCUMENT_BYTES).decode("utf-8-sig"))
    except ValueError:
        return None
    except OSError as error:
        raise ImportRejected(f"{path} cannot be read ({error.strerror}). Check its permissions.") from error
    return next((entries for entries in _lists_in(value) if any(map(_is_entry, entries))), None)


def _lists_in(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    elif isinstance(value, dict):
        by_name: Mapping[str, Any] = {name.lower(): inner for name, inner in value.items() if isinstance(name, str)}
        yield from (by_name[name] for name in _LIST_NAMES if isinstance(by_name.get(name), list))
        if is_lesson(value):
            yield [value]


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and (is_lesson(entry) or is_memory(entry))
