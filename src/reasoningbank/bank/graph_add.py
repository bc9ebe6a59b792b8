"""`bank.graph.add`: nodes, edges and lessons in the field names of the memory graph, kept in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reasoningbank.bank import memories
from reasoningbank.bank.transaction import TransactionStore
from reasoningbank.context import LIVE_STATES, BankContext
from reasoningbank.core.drafts import clean_namespace, optional_name
from reasoningbank.core.frozen import replace
from reasoningbank.core.origins import USER, clean_origin
from reasoningbank.core.types import Memory
from reasoningbank.graph.add import Added, Additions, Pointer, add
from reasoningbank.graph.drafts import read_edges, read_nodes
from reasoningbank.graph.lesson_drafts import LessonDraft, read_lessons
from reasoningbank.graph.vertices import find_records
from reasoningbank.ports import Writer

Entries = Sequence[Mapping[str, Any]]


def add_to_graph(
    context: BankContext,
    nodes: Entries,
    edges: Entries,
    lessons: Entries = (),
    *,
    namespace: str | None = None,
    origin: str = USER,
    source: str | None = None,
) -> Added:
    where = context.namespace if namespace is None else context.scrubber.scrub(clean_namespace(namespace)).text
    drafts = read_lessons(lessons)
    additions = Additions(
        nodes=read_nodes(nodes),
        edges=read_edges(edges),
        pointers=(),
        namespace=where,
        origin=clean_origin(origin),
        source=optional_name(source, "source"),
    )
    if not drafts:
        return add(context, additions)

    def change(writer: Writer) -> Added:
        within = replace(context, bare_store=TransactionStore(context.bare_store, writer))
        records = [_keep_lesson(within, draft, additions) for draft in drafts]
        pointers = [
            Pointer(place=f"{draft.place}.link_nodes", node=node, lesson=memory.id)
            for draft, (memory, _) in zip(drafts, records, strict=True)
            for node in draft.links
        ]
        addition = add(within, replace(additions, pointers=pointers))
        counts = dict(addition.counts)
        for _, what in records:
            counts[f"lessons {what}"] = counts.get(f"lessons {what}", 0) + 1
        return replace(addition, lessons=tuple(memory.id for memory, _ in records), counts=counts)

    return context.bare_store.write(context.tenant, change)


def _keep_lesson(context: BankContext, draft: LessonDraft, additions: Additions) -> tuple[Memory, str]:
    """A lesson as a memory under its key, and what became of it."""
    fields: dict[str, Any] = {
        "title": draft.title,
        "description": draft.description,
        "outcome": draft.outcome,
        "tags": draft.tags,
        "namespace": additions.namespace,
        "origin": additions.origin,
        "source": additions.source,
    }
    before = _lesson_there(context, draft, additions)
    if before is None:
        memory_draft = memories.draft_of(None, {**fields, "content": draft.content, "key": draft.name or None})
        return memories.record(context, memory_draft).memory, "added"
    changes = {name: fields[name] for name in ("title", "description", "outcome", "tags")}
    editor = additions.origin
    after = memories.edit(context, before.id, {**changes, "content": draft.content}, editor=editor).memory
    return after, "revised" if after.revision > before.revision else "unchanged"


def _lesson_there(context: BankContext, draft: LessonDraft, additions: Additions) -> Memory | None:
    """The lesson of that key; without one, what the same origin said in the same words."""
    with context.store.read(context.tenant) as reader:
        if draft.name:
            record = find_records(context, reader, [draft.name], additions.namespace).get(draft.name)
            return record if isinstance(record, Memory) else None
        texts = {name: context.scrubber.scrub(getattr(draft, name)).text for name in ("content", "description")}
        where = {"namespace": additions.namespace, "origin": additions.origin, "state": LIVE_STATES}
        alike = reader.select(Memory, {**where, **texts}, limit=1)
    return alike[0] if alike else None
