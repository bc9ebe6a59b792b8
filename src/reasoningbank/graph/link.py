"""Makes and removes edges between memories and nodes.

An edge needs two ends that exist, and there is one per pair and kind. An edge made again takes the new strength.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reasoningbank.context import BankContext, full_id
from reasoningbank.core.drafts import MAX_DESCRIPTION_CHARS, clean_fraction, clean_tags, clean_text, one_of
from reasoningbank.core.errors import InvalidInput, NotFound
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.origins import clean_origin, level_of
from reasoningbank.core.types import Edge, EdgeKind, Memory, Node
from reasoningbank.graph.vertices import find_records
from reasoningbank.guard.trust import check_may_revise
from reasoningbank.ports import Reader, Writer

DEFAULT_WEIGHT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSaying:
    """A statement about two linked records, and who makes it."""

    weight: float
    text: str
    evidence: str
    tags: Sequence[str]
    origin: str


def link(context: BankContext, source: str, target: str, kind: str, statement: LinkSaying) -> Edge:
    edge_kind = one_of(EdgeKind, kind, "kind")
    strength = clean_fraction(statement.weight, "weight")
    sentence = clean_text(statement.text, "text", MAX_DESCRIPTION_CHARS)
    proof = clean_text(statement.evidence, "evidence", MAX_DESCRIPTION_CHARS)
    labels = clean_tags(statement.tags)
    speaker = clean_origin(statement.origin)

    def change(writer: Writer) -> Edge:
        ends = tuple(_end(context, writer, end) for end in (source, target))
        if ends[0] == ends[1]:
            raise InvalidInput("A memory or node cannot be linked to itself.")
        existing = writer.select(
            Edge, {"source_id": ends[0], "target_id": ends[1], "kind": edge_kind.value, "name": ""}, limit=1
        )
        if existing:
            if existing[0].origin:
                check_may_revise(existing[0], level_of(existing[0].origin), speaker)
            changes: dict[str, Any] = {"weight": strength, "text": sentence, "evidence": proof, "tags": labels}
            changes["origin"] = speaker
            edge = replace(existing[0], revision=existing[0].revision + 1, **changes)
            writer.revise(edge)
            return context.scrub_for_output(edge)
        edge = Edge(
            id=context.ids.new("edg"),
            tenant=context.tenant,
            source_id=ends[0],
            target_id=ends[1],
            kind=edge_kind,
            text=sentence,
            weight=strength,
            tags=labels,
            evidence=proof,
            created_at=context.clock(),
            origin=speaker,
        )
        writer.add(edge)
        return context.scrub_for_output(edge)

    return context.store.write(context.tenant, change)


def _end(context: BankContext, reader: Reader, reference: str) -> str:
    """The id of a node, by its name or id; else of a memory."""
    records = find_records(context, reader, [reference], context.namespace) if isinstance(reference, str) else {}
    return records[reference].id if reference in records else context.memory(reader, reference).id


def unlink(context: BankContext, reference: str) -> Edge:
    """Removes an edge by its id, its name, or a piece of its id."""

    def change(writer: Writer) -> Edge:
        edge = writer.get(Edge, [reference]).get(reference) or _edge_named(context, writer, reference)
        if edge is None and (whole := full_id(writer, Edge, reference)) is not None:
            edge = writer.get(Edge, [whole]).get(whole)
        if edge is None:
            raise NotFound(f"There is no edge {reference!r} here: `graph edges` lists them with their ids.")
        writer.remove(Edge, edge.id)
        return context.scrub_for_output(edge)

    return context.store.write(context.tenant, change)


def _edge_named(context: BankContext, reader: Reader, name: str) -> Edge | None:
    """The edge of that name in the namespace here; else the only one of that name."""
    safe_name = context.scrubber.scrub(name).text if isinstance(name, str) else ""
    edges = reader.select(Edge, {"name": safe_name}) if safe_name else []
    ends = sorted({edge.source_id for edge in edges})
    sources: dict[str, Node | Memory] = {**reader.get(Node, ends), **reader.get(Memory, ends)} if ends else {}
    here = [
        edge for edge in edges if edge.source_id in sources and sources[edge.source_id].namespace == context.namespace
    ]
    matches = here or edges
    if len(matches) > 1:
        raise InvalidInput(f"Several edges are named {name!r}: name one of {', '.join(edge.id for edge in matches)}.")
    return matches[0] if matches else None
