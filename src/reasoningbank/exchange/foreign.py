"""Converts items of other systems into our records.

The id of each comes from where it stood in the other system, so that importing it again finds it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.confidence import INITIAL_RAW
from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    MAX_DESCRIPTION_CHARS,
    clean_metadata,
    clean_namespace,
    clean_text,
    clean_time,
    memory_from,
    one_of,
    optional_name,
    required_text,
)
from reasoningbank.core.ids import derived_id
from reasoningbank.core.types import Edge, EdgeKind, Memory, Record, Signal, SignalKind, Step, Trajectory
from reasoningbank.exchange.items import IncomingEdge, IncomingMemory, IncomingTrajectory


def records_of(context: BankContext, item: IncomingMemory | IncomingEdge | IncomingTrajectory) -> list[Record]:
    """The record itself, then those that are about it."""
    match item:
        case IncomingMemory():
            memory = _memory(context, item)
            return [memory, *_signals(memory, item)]
        case IncomingEdge():
            return [_edge(context, item)]
        case IncomingTrajectory():
            trajectory = _trajectory(context, item)
            return [trajectory, *_steps(trajectory, item)]


def _id(context: BankContext, prefix: str, identity: str) -> str:
    return derived_id(prefix, f"{context.tenant}\x1f{identity}")


def _memory(context: BankContext, item: IncomingMemory) -> Memory:
    return memory_from(
        item.draft,
        memory_id=_id(context, "mem", item.identity),
        tenant=context.tenant,
        namespace=context.namespace,
        initial_confidence=INITIAL_RAW,
        now=context.clock(),
    )


def _signals(memory: Memory, item: IncomingMemory) -> list[Signal]:
    at = memory.created_at if item.used_at is None else clean_time(item.used_at, "used_at")
    return [
        Signal(
            id=derived_id("sig", f"{memory.id}\x1f{positive}\x1f{number}"),
            tenant=memory.tenant,
            memory_id=memory.id,
            kind=SignalKind.COMPLETION,
            positive=positive,
            weight=1.0,
            used=True,
            source=memory.origin,
            trajectory_id=None,
            comment="",
            at=at,
        )
        for positive, times in ((True, item.successes), (False, item.failures))
        for number in range(times)
    ]


def _edge(context: BankContext, item: IncomingEdge) -> Edge:
    source, target = (_id(context, "mem", identity) for identity in (item.source_identity, item.target_identity))
    return Edge(
        id=derived_id("edg", f"{source}\x1f{target}\x1f{item.kind}"),
        tenant=context.tenant,
        source_id=source,
        target_id=target,
        kind=one_of(EdgeKind, item.kind, "kind"),
        text=clean_text(item.text, "text", MAX_DESCRIPTION_CHARS),
        weight=min(max(float(item.weight), 0.0), 1.0),
        tags=(),
        evidence=clean_text(item.evidence, "evidence", MAX_DESCRIPTION_CHARS),
        created_at=_time(context.clock() if item.created_at is None else item.created_at),
    )


def _trajectory(context: BankContext, item: IncomingTrajectory) -> Trajectory:
    started_at = _time(context.clock() if item.started_at is None else item.started_at)
    return Trajectory(
        id=_id(context, "trj", item.identity),
        tenant=context.tenant,
        namespace=clean_namespace(item.namespace or context.namespace),
        task=required_text(item.task, "task", MAX_CONTENT_CHARS),
        agent=optional_name(item.agent, "agent"),
        outcome=item.outcome or "unknown",
        metadata=clean_metadata(item.metadata),
        started_at=started_at,
        ended_at=started_at if item.ended_at is None else _time(item.ended_at),
    )


def _steps(trajectory: Trajectory, item: IncomingTrajectory) -> list[Step]:
    return [
        Step(
            id=derived_id("stp", f"{trajectory.id}\x1f{number}"),
            tenant=trajectory.tenant,
            trajectory_id=trajectory.id,
            number=number,
            action=clean_text(step.action, "action", MAX_CONTENT_CHARS),
            result=clean_text(step.result, "result", MAX_CONTENT_CHARS),
            metadata=_metadata(step.metadata),
            at=trajectory.started_at if step.at is None else _time(step.at),
        )
        for number, step in enumerate(item.steps, start=1)
    ]


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return clean_metadata(metadata) if metadata else {}


def _time(value: float) -> float:
    return clean_time(value, "a time")
