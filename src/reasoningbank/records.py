"""Keep, change, list and remove memories.

Knows what a caller may say about a memory and which of it makes a new revision. Knows nothing of searching.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from reasoningbank.core.confidence import INITIAL_EXPLICIT, INITIAL_RAW
from reasoningbank.core.drafts import (
    EDITABLE_FIELDS,
    MAX_TITLE_CHARS,
    clean_namespace,
    edited,
    memory_from,
    required_text,
)
from reasoningbank.core.errors import Conflict, InvalidInput
from reasoningbank.core.ids import is_own
from reasoningbank.core.origins import USER, clean_origin
from reasoningbank.core.types import EVERY_NAMESPACE, Draft, EmbedderIdentity, Memory, Remembered, Trajectory
from reasoningbank.core.values import fields, replace
from reasoningbank.desk import LIVE_STATES, Desk, full_id
from reasoningbank.guard.admission import Admitted, admit, readmit
from reasoningbank.guard.fields import scrubbed_json
from reasoningbank.ports import Writer

DRAFTS_PER_UNIT = 500
MOST_LISTED = 1 << 40
LISTABLE = frozenset({"tags", "outcome", "scope", "agent", "task_type", "origin", "key"})
_REVISABLE = frozenset(EDITABLE_FIELDS) - {"namespace", "state"}
_DRAFT_FIELDS = frozenset(f.name for f in fields(Draft))


def draft_of(given: Draft | Mapping[str, Any] | None, options: Mapping[str, Any]) -> Draft:
    values = options if given is None or isinstance(given, Draft) else {**given, **options}
    unknown = values.keys() - _DRAFT_FIELDS
    if unknown:
        listed = ", ".join(sorted(map(str, unknown)))
        raise InvalidInput(f"A memory has no field {listed}: use {', '.join(sorted(_DRAFT_FIELDS))}.")
    if isinstance(given, Draft):
        return replace(given, **values) if values else given
    missing = [name for name in ("title", "content") if name not in values]
    if missing:
        raise InvalidInput(f"A memory needs {' and '.join(missing)}.")
    return Draft(**values)


def record(
    desk: Desk, draft: Draft, *, identity: EmbedderIdentity | None = None, vectors: Mapping[str, bytes] | None = None
) -> Remembered:
    memory, scrubbed = desk.clean(_memory(desk, draft, INITIAL_EXPLICIT))

    def change(writer: Writer) -> Admitted:
        admitted = admit(writer, memory)
        if identity is not None and vectors:
            writer.keep_vectors(identity, memory.id, vectors)
        return admitted

    kept = desk.store.write(desk.tenant, change)
    return desk.fresh(kept.memory, scrubbed, kept.trust)


def record_many(
    desk: Desk, drafts: Iterable[Draft | Mapping[str, Any]], progress: Callable[[int], None] | None = None
) -> list[str]:
    """A few hundred to a commit. What was kept before an error stays kept."""
    ids: list[str] = []
    iterator = iter(drafts)
    while chunk := list(islice(iterator, DRAFTS_PER_UNIT)):
        memories = [desk.clean(_memory(desk, draft_of(given, {}), INITIAL_EXPLICIT))[0] for given in chunk]
        desk.store.write(desk.tenant, partial(_add_all, memories))
        ids.extend(memory.id for memory in memories)
        if progress is not None:
            progress(len(ids))
    return ids


def _add_all(memories: Sequence[Memory], writer: Writer) -> None:
    for memory in memories:
        admit(writer, memory)


def store_under_key(desk: Desk, key: str, value: str, options: Mapping[str, Any]) -> Remembered:
    """A key that is there already gets a new revision; what the caller does not name stays as it was."""
    titled = options.get("title") or None
    named = {name: given for name, given in options.items() if name != "title"}
    title = titled or required_text(key, "key", MAX_TITLE_CHARS)
    draft = draft_of(None, {**named, "key": key, "title": title, "content": value})
    coming, scrubbed = desk.clean(_memory(desk, draft, INITIAL_RAW))
    revisable = _REVISABLE.intersection({"content", *named} if titled is None else {"content", "title", *named})

    def change(writer: Writer) -> Remembered:
        where = {"namespace": coming.namespace, "key": coming.key, "state": LIVE_STATES}
        there = writer.select(Memory, where, limit=1)
        if not there:
            kept = admit(writer, coming)
            return desk.fresh(kept.memory, scrubbed, kept.trust)
        changes = {name: getattr(coming, name) for name in revisable}
        revised = _revise(desk, writer, there[0], changes, coming.origin)
        return replace(revised, scrubbed=scrubbed)

    return desk.store.write(desk.tenant, change)


def edit(
    desk: Desk, reference: str, changes: Mapping[str, Any], expected_revision: int | None = None, editor: str = USER
) -> Remembered:
    by = clean_origin(editor)

    def change(writer: Writer) -> Remembered:
        memory = desk.memory(writer, reference)
        if expected_revision is not None and memory.revision != expected_revision:
            raise Conflict(
                f"{memory.id} is at revision {memory.revision}, not {expected_revision}: read it again first."
            )
        return _revise(desk, writer, memory, changes, by)

    return desk.store.write(desk.tenant, change)


def _revise(desk: Desk, writer: Writer, memory: Memory, changes: Mapping[str, Any], editor: str) -> Remembered:
    revised = edited(memory, changes, desk.clock())
    if revised is memory:
        return desk.remembered(writer, [memory])[0]
    revised, scrubbed = desk.clean(revised)
    if replace(revised, revision=memory.revision, updated_at=memory.updated_at) == memory:
        # All that was new in it was a secret.
        revised = memory
    else:
        revised = readmit(writer, memory, revised, editor).memory
    return replace(desk.remembered(writer, [revised])[0], scrubbed=scrubbed)


def erase(desk: Desk, reference: str) -> None:
    desk.store.write(desk.tenant, lambda writer: writer.remove(Memory, desk.memory(writer, reference).id))


def get(desk: Desk, reference: str, namespace: str | None = None) -> Remembered:
    with desk.store.read(desk.tenant) as reader:
        return desk.remembered(reader, [desk.memory(reader, reference, namespace)])[0]


def listed(
    desk: Desk, where: Mapping[str, Any], *, namespace: str | None, state: str | None, limit: int, before: str | None
) -> list[Remembered]:
    """Newest first."""
    unknown = sorted(set(where) - LISTABLE)
    if unknown:
        raise InvalidInput(f"{', '.join(unknown)} cannot be listed by: use one of {', '.join(sorted(LISTABLE))}.")
    conditions = {**_cleaned(desk, where), **in_namespace(desk, namespace)}
    if state is not None:
        conditions["state"] = state
    with desk.store.read(desk.tenant) as reader:
        if before is not None and not is_own(before) and (whole := full_id(reader, Memory, "mem", before)) is not None:
            before = whole
        memories = reader.select(Memory, conditions, newest_first=True, after=before, limit=checked_limit(limit))
        return desk.remembered(reader, memories)


def listed_sessions(desk: Desk, *, namespace: str | None, limit: int, before: str | None) -> list[Trajectory]:
    """Newest first."""
    where, most = in_namespace(desk, namespace), checked_limit(limit)
    with desk.store.read(desk.tenant) as reader:
        found = reader.select(Trajectory, where, newest_first=True, after=before, limit=most)
    return [desk.shown(trajectory) for trajectory in found]


def checked_limit(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidInput(f"limit must be a whole number from 1 on, not {limit!r}.")
    return min(limit, MOST_LISTED)


def in_namespace(desk: Desk, namespace: str | None) -> dict[str, str]:
    """As a condition: None is the bank's own, "*" is no condition at all."""
    if namespace == EVERY_NAMESPACE:
        return {}
    return {"namespace": desk.namespace if namespace is None else desk.scrubber.scrub(clean_namespace(namespace)).text}


def _cleaned(desk: Desk, where: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept without secrets is found without them."""
    return {name: scrubbed_json(desk.scrubber, value)[0] for name, value in where.items()}


def _memory(desk: Desk, draft: Draft, initial_confidence: float) -> Memory:
    return memory_from(
        draft,
        memory_id=desk.ids.new("mem"),
        tenant=desk.tenant,
        namespace=desk.namespace,
        initial_confidence=initial_confidence,
        now=desk.clock(),
    )
