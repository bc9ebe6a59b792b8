"""Exports active memories in the field names of other systems.

    lessons    rb_id key_lesson context_to_prefer tags link_nodes …
    memories   id project_id tenant_id title … confidence usage_count source_session created_at last_used …

The other way round from `plain_memory`: what came in under these names goes out under them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.digest import blake2b
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Memory, Outcome, Remembered, Scope, State
from reasoningbank.core.wording import clip_title
from reasoningbank.exchange.plain_memory import LESSON, LESSON_ID, LESSON_TITLE_CHARS, LINKS, WHEN
from reasoningbank.graph.seed_view import pointers_of
from reasoningbank.guard.trust import WARNINGS

ROWS_PER_PAGE = 1_000
_INT64_BITS = 63


def seed_lines(context: BankContext, layout: str, namespace: str | None = None) -> Generator[str, None, None]:
    """The active memories of the tenant, or of one namespace, by age."""
    if layout not in LAYOUTS:
        raise InvalidInput(f"There is no layout {layout!r} to export as: use one of {', '.join(LAYOUTS)}.")
    fields_of = LAYOUTS[layout]
    for item, nodes in _active(context, namespace):
        values = fields_of(item)
        if layout == "lessons" and nodes:
            values[LINKS] = list(dict.fromkeys([*values.get(LINKS, ()), *nodes]))
        yield json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _active(context: BankContext, namespace: str | None) -> Iterator[tuple[Remembered, Sequence[str]]]:
    """Memories, each with the names of the nodes that taught it."""
    where = {"state": State.ACTIVE.value, **({} if namespace is None else {"namespace": namespace})}
    with context.store.read(context.tenant) as reader:
        after: str | None = None
        while page := reader.select(Memory, where, after=after, limit=ROWS_PER_PAGE):
            pointers = pointers_of(reader, [memory.id for memory in page])
            yield from ((item, pointers.get(item.id, ())) for item in context.weigh_memories(reader, page))
            after = page[-1].id


def _extra(memory: Memory) -> Mapping[str, Any]:
    return {name: value for name, value in memory.metadata.items() if name != WARNINGS}


def _lesson(item: Remembered) -> dict[str, Any]:
    memory = item.memory
    extra = dict(_extra(memory))
    values: dict[str, Any] = {
        LESSON_ID: _lesson_id(memory, extra.pop(LESSON_ID, None)),
        LESSON: memory.content,
        WHEN: memory.description,
        "tags": list(memory.tags),
    }
    if memory.title != clip_title(memory.content, LESSON_TITLE_CHARS):
        values["title"] = memory.title
    if memory.key is not None and str(values[LESSON_ID]) != memory.key:
        values["key"] = memory.key
    if memory.outcome is Outcome.FAILURE:
        values["outcome"] = memory.outcome.value
    if memory.scope is not Scope.PROJECT:
        values["scope"] = memory.scope.value
    return {**values, **extra}


def _lesson_id(memory: Memory, original: Any) -> Any:
    if original is not None:
        return original
    if memory.key is not None and memory.key.isascii() and memory.key.isdigit() and memory.key == str(int(memory.key)):
        return int(memory.key)
    # A number that is always the same, for those that were never a lesson elsewhere.
    return int.from_bytes(blake2b(memory.id.encode(), digest_size=8).digest()) >> (64 - _INT64_BITS)


def _contextd(item: Remembered) -> dict[str, Any]:
    memory = item.memory
    extra = dict(_extra(memory))
    uses = extra.pop("usage_count", 0)
    tenant, updated_at, used = (extra.pop(name, None) for name in ("tenant_id", "updated_at", "last_used"))
    is_original = memory.revision == 1
    confidence = item.confidence.mean if item.usage_count else memory.initial_confidence
    return {
        "id": memory.key or memory.id,
        "tenant_id": tenant or memory.tenant,
        "project_id": memory.namespace,
        "title": memory.title,
        "description": memory.description,
        "content": memory.content,
        "outcome": memory.outcome.value,
        "scope": memory.scope.value,
        "confidence": round(confidence, 6),
        "usage_count": item.usage_count + (uses if isinstance(uses, int) else 0),
        "tags": list(memory.tags),
        "source_session": memory.source,
        "created_at": _iso(memory.created_at),
        "updated_at": updated_at if is_original and updated_at else _iso(memory.updated_at),
        "last_used": used if item.last_used_at is None else _iso(item.last_used_at),
        **extra,
    }


def _iso(at: float) -> str | None:
    try:
        moment = datetime.fromtimestamp(at, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    whole = "seconds" if moment.microsecond == 0 else "milliseconds"
    return moment.isoformat(timespec=whole).replace("+00:00", "Z")


LAYOUTS: Mapping[str, Callable[[Remembered], dict[str, Any]]] = {"lessons": _lesson, "memories": _contextd}
