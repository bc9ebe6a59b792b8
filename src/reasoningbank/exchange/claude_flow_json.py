"""Memories from claude-flow's basic mode: memory/memory-store.json, an object of namespaces and entries.

It is one JSON document, so it is read whole, up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.wording import clip_title
from reasoningbank.exchange.claude_flow_fields import Reading, Unreadable, read_memory
from reasoningbank.exchange.coerce import digest, parse_json, text_of
from reasoningbank.exchange.items import IncomingMemory, Item, SkippedItem
from reasoningbank.files import read_plain

STORE_BYTES = 256_000_000
_SHAPE = "claude-flow-basic"


def is_store(value: object) -> bool:
    """{"default": [{"key": …, "value": …}, …], …}; one good entry is enough, the rest is reported."""
    return isinstance(value, dict) and any(
        isinstance(entry, dict) and "key" in entry and "value" in entry
        for entries in value.values()
        if isinstance(entries, list)
        for entry in entries
    )


def read_claude_flow_json(path: Path) -> Iterator[Item]:
    store = load_store(path)
    newest = _newest(store)
    for namespace, number, entry in _entries(store):
        what = f"{namespace} entry {number}"
        if not isinstance(entry, dict):
            yield SkippedItem(what=what, why="it is not an object")
            continue
        reading = _reading(namespace, entry)
        if isinstance(reading, Unreadable):
            yield SkippedItem(what=what, why=reading.why)
            continue
        draft = reading.draft
        if draft.key is not None and newest[(draft.namespace, draft.key)] != (
            reading.changed_at,
            number,
            namespace,
        ):
            yield SkippedItem(what=what, why=f"older duplicate of key '{clip_title(draft.key)}'")
            continue
        name = f"{draft.namespace or ''}/{draft.title}"
        identity = f"claude-flow:memory-store:{name}:{digest(draft.content)}"
        yield IncomingMemory(identity=identity, draft=replace(draft, source=name))
    for namespace, entries in store.items():
        if not isinstance(entries, list):
            yield SkippedItem(what=f"namespace {clip_title(text_of(namespace))}", why="it is not a list of entries")


def load_store(path: Path) -> Mapping[str, Any]:
    try:
        if path.is_dir():
            raise ImportRejected(f"{path} is a folder. Name the file in it, for example memory/memory-store.json.")
        if path.stat().st_size > STORE_BYTES:
            raise ImportRejected(f"{path} is larger than {STORE_BYTES:,} bytes. Split it by namespace and import each.")
        value = parse_json(read_plain(path, STORE_BYTES).decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise ImportRejected(f"{path} does not exist. Basic mode keeps memory/memory-store.json.") from error
    except OSError as error:
        raise ImportRejected(f"{path} cannot be read ({error.strerror}). Check its permissions.") from error
    except ValueError as error:
        raise ImportRejected(f"{path} is not valid JSON. Name claude-flow's memory-store.json.") from error
    if not isinstance(value, dict) or not is_store(value):
        raise ImportRejected(
            f"{path} is JSON, but not claude-flow's memory store: that is an object of namespaces, "
            "each a list of entries with key and value."
        )
    return value


def _entries(store: Mapping[str, Any]) -> Iterator[tuple[str, int, Any]]:
    for namespace, entries in store.items():
        for number, entry in enumerate(entries if isinstance(entries, list) else (), 1):
            yield text_of(namespace), number, entry


def _newest(store: Mapping[str, Any]) -> dict[tuple[str | None, str], tuple[float, int, str]]:
    best: dict[tuple[str | None, str], tuple[float, int, str]] = {}
    for namespace, number, entry in _entries(store):
        reading = _reading(namespace, entry) if isinstance(entry, dict) else None
        if isinstance(reading, Reading) and reading.draft.key is not None:
            slot = (reading.draft.namespace, reading.draft.key)
            rank = (reading.changed_at, number, namespace)
            best[slot] = max(rank, best.get(slot, rank))
    return best


def _reading(namespace: str, entry: Mapping[str, Any]) -> Reading | Unreadable:
    # Basic mode knows no expiry, so the time does not matter.
    return read_memory({"namespace": namespace, **entry}, _SHAPE, now=0.0)
