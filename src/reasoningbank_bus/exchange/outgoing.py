"""Records as bodies of entries, on their way out: without secrets, and with names that every bank knows."""

from __future__ import annotations

from collections.abc import Callable

from reasoningbank.core.confidence import MAX_WEIGHT
from reasoningbank.core.types import Edge, Memory, Node, Record, Signal
from reasoningbank.guard.trust import WARNINGS
from reasoningbank_bus.exchange.bodies import MAX_PARENTS, Body, EdgeBody, EndName, MemoryBody, NodeBody, SignalBody
from reasoningbank_bus.wire.entry import MAX_RECORD_ID_CHARS, RecordName

NameOf = Callable[[str], RecordName]
"""The name everywhere of what has this id here."""
EndOf = Callable[[str], EndName]


def body_of(record: Record, name_of: NameOf, end_of: EndOf) -> Body:
    """The body of an entry: what is said of a record over the bus. `record` has been scrubbed for output."""
    match record:
        case Memory():
            return _memory_body(record, name_of)
        case Node():
            return _node_body(record)
        case Edge():
            return EdgeBody(
                source=end_of(record.source_id),
                target=end_of(record.target_id),
                kind=record.kind.value,
                text=record.text,
                weight=record.weight,
                tags=record.tags,
                evidence=record.evidence,
                name=record.name,
                origin=record.origin,
                created_at=max(0.0, record.created_at),
            )
        case Signal():
            return SignalBody(
                memory=name_of(record.memory_id),
                kind=record.kind.value,
                positive=record.positive,
                weight=min(record.weight, MAX_WEIGHT),
                used=record.used,
                source=record.source,
                at=max(0.0, record.at),
                advice_id=record.advice_id,
            )
    raise TypeError(f"A {type(record).__name__} is not shared.")


def _memory_body(memory: Memory, name_of: NameOf) -> MemoryBody:
    return MemoryBody(
        title=memory.title,
        content=memory.content,
        description=memory.description,
        outcome=memory.outcome.value,
        key=memory.key,
        tags=memory.tags,
        agent=memory.agent,
        task_type=memory.task_type,
        cognitive_pattern=memory.cognitive_pattern,
        origin=memory.origin,
        parents=tuple(
            [name_of(parent) for parent in memory.parents if len(parent) <= MAX_RECORD_ID_CHARS][:MAX_PARENTS]
        ),
        metadata={name: value for name, value in memory.metadata.items() if name != WARNINGS},
        initial_confidence=memory.initial_confidence,
        created_at=max(0.0, memory.created_at),
        updated_at=max(0.0, memory.updated_at),
        state=memory.state.value,
        advice_id=memory.advice_id,
    )


def _node_body(node: Node) -> NodeBody:
    return NodeBody(
        label=node.label.value,
        text=node.text,
        conv_id=node.conv_id,
        name="" if node.name == node.id else node.name,
        tags=node.tags,
        fields=dict(node.fields),
        start_at=node.start_at,
        end_at=node.end_at,
        origin=node.origin,
        created_at=max(0.0, node.created_at),
        updated_at=max(0.0, node.updated_at),
    )
