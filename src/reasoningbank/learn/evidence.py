"""Signals about a memory and the curve they draw.

Knows how a report becomes a signal. What signals are worth is the confidence policy's business.
"""

from __future__ import annotations

from dataclasses import dataclass

from reasoningbank.core.confidence import curve
from reasoningbank.core.drafts import MAX_DESCRIPTION_CHARS, clean_name, clean_text, optional_name
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.types import Confidence, Edge, EdgeKind, Memory, Remembered, Signal, SignalKind, State
from reasoningbank.desk import Desk
from reasoningbank.ports import Reader, Writer

_STANDING = (State.ACTIVE, State.SUPERSEDED)
LONGEST_CHAIN = 8
"""Of merges into what was merged itself later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What somebody reports about a memory."""

    kind: SignalKind
    positive: bool
    weight: float = 1.0
    used: bool = True
    source: str = "user"
    trajectory_id: str | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    remembered: Remembered
    revisions: tuple[Memory, ...]
    """Oldest first, the current one last."""
    points: tuple[tuple[Signal | None, Confidence], ...]
    """The confidence at the start (with None), then after each signal."""
    policy: str


def give(desk: Desk, reference: str, evidence: Evidence) -> Remembered:
    """Write a signal down and return the memory with its new confidence."""

    def change(writer: Writer) -> Remembered:
        memory = standing_for(writer, desk.memory(writer, reference))
        writer.add(signal_for(desk, memory, evidence))
        return desk.remembered(writer, [memory])[0]

    return desk.store.write(desk.tenant, change)


def standing_for(reader: Reader, memory: Memory) -> Memory:
    """The memory that took a merged one in, at any remove, since evidence that comes late is evidence for that one."""
    for _ in range(LONGEST_CHAIN):
        if memory.state is not State.SUPERSEDED:
            break
        edges = reader.select(Edge, {"target_id": memory.id, "kind": EdgeKind.SUPERSEDES.value})
        there = reader.get(Memory, [edge.source_id for edge in edges]) if edges else {}
        # An edge alone is soon made; what really took a memory in has it among its parents.
        kept = [m for m in there.values() if m.state in _STANDING and memory.id in m.parents]
        above = kept[0] if kept else None
        if above is None:
            break
        memory = above
    return memory


def signal_for(desk: Desk, memory: Memory, evidence: Evidence) -> Signal:
    if not isinstance(evidence.positive, bool):
        raise InvalidInput(f"Evidence is for or against: say true or false, not {evidence.positive!r}.")
    signal = Signal(
        id=desk.ids.new("sig"),
        tenant=desk.tenant,
        memory_id=memory.id,
        kind=evidence.kind,
        positive=evidence.positive,
        weight=evidence.weight,
        used=evidence.used,
        source=clean_name(evidence.source, "source"),
        trajectory_id=optional_name(evidence.trajectory_id, "session"),
        comment=clean_text(evidence.comment, "comment", MAX_DESCRIPTION_CHARS),
        at=desk.clock(),
    )
    return desk.clean(signal)[0]


def history(desk: Desk, reference: str) -> History:
    with desk.store.read(desk.tenant) as reader:
        memory = desk.memory(reader, reference)
        signals = [desk.shown(signal) for signal in reader.select(Signal, {"memory_id": memory.id})]
        return History(
            remembered=desk.remembered(reader, [memory])[0],
            revisions=tuple(desk.shown(revision) for revision in (*reader.revisions(memory.id), memory)),
            points=tuple(curve(desk.policy, memory.initial_confidence, memory.created_at, signals)),
            policy=desk.policy.name,
        )
