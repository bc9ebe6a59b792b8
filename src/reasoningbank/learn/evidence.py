"""Feedback and outcomes about a memory: adds signals, and gives the curve they draw.

A report becomes a signal here; what signals are worth is the confidence policy's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from reasoningbank.context import BankContext
from reasoningbank.core.confidence import ConfidencePolicy, Context, copies_among, evidence_for, fold, policy_named
from reasoningbank.core.drafts import MAX_DESCRIPTION_CHARS, clean_fraction, clean_name, clean_text, optional_name
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.types import Confidence, Edge, EdgeKind, Memory, Remembered, Signal, SignalKind, State
from reasoningbank.ports import Reader, Writer

_STANDING = (State.ACTIVE, State.SUPERSEDED)
LONGEST_CHAIN = 8
"""Longest chain that is followed of merges into what was merged itself later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Feedback or outcome that somebody reports about a memory."""

    kind: SignalKind
    positive: bool
    weight: float = 1.0
    used: bool = True
    source: str = "user"
    trajectory_id: str | None = None
    comment: str = ""
    advice_id: str | None = None
    """The text that it is about; None for what the memory advises now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    confidence: Confidence
    at: float
    signal: Signal | None = None
    """None at the start, and where an edit changed what the evidence is about."""
    revision: int = 1
    """Revision of the text that it was about, or with which it began."""
    counts: bool = True
    """True if it is about what the memory advises now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    remembered: Remembered
    revisions: tuple[Memory, ...]
    """Oldest first, the current one last."""
    points: tuple[Point, ...]
    """The confidence at the start, then after each signal and each change to other advice."""
    policy: str


def give(context: BankContext, reference: str, evidence: Evidence) -> Remembered:
    """Write a signal down and return the memory with its new confidence."""

    def change(writer: Writer) -> Remembered:
        memory = standing_for(writer, context.memory(writer, reference))
        writer.add(signal_for(context, memory, evidence))
        return context.weigh_memories(writer, [memory])[0]

    return context.store.write(context.tenant, change)


def standing_for(reader: Reader, memory: Memory) -> Memory:
    """The memory that took a merged one in, at any remove, since evidence that comes late is evidence for that one."""
    for _ in range(LONGEST_CHAIN):
        if memory.state is not State.SUPERSEDED:
            break
        edges = reader.select(Edge, {"target_id": memory.id, "kind": EdgeKind.SUPERSEDES.value})
        there = reader.get(Memory, [edge.source_id for edge in edges]) if edges else {}
        # An edge alone is soon made; what really took a memory in has it among its parents.
        heirs = [m for m in there.values() if m.state in _STANDING and memory.id in m.parents]
        above = heirs[0] if heirs else None
        if above is None:
            break
        memory = above
    return memory


def subject_of(reader: Reader, memory: Memory, advice_id: str) -> tuple[Memory, str]:
    """Whom evidence concerns that arose while a memory said what `advice_id` names, and what it is about there.

    What is said of an earlier text stays with the memory that had it, and does not count.
    """
    if advice_id != memory.advice_id:
        return memory, advice_id
    standing = standing_for(reader, memory)
    return standing, standing.advice_id


def advice_at(reader: Reader, memory: Memory, at: float) -> str:
    """Name of what a memory advised at a time."""
    if memory.updated_at <= at:
        return memory.advice_id
    earlier = reader.revisions(Memory, memory.id)
    before = [revision for revision in earlier if revision.updated_at <= at] or earlier[:1]
    return before[-1].advice_id if before else memory.advice_id


def signal_for(context: BankContext, memory: Memory, evidence: Evidence) -> Signal:
    if not isinstance(evidence.positive, bool):
        raise InvalidInput(f"Evidence is for or against: say true or false, not {evidence.positive!r}.")
    signal = Signal(
        id=context.ids.new("sig"),
        tenant=context.tenant,
        memory_id=memory.id,
        kind=evidence.kind,
        positive=evidence.positive,
        weight=evidence.weight,
        used=evidence.used,
        source=clean_name(evidence.source, "source"),
        trajectory_id=optional_name(evidence.trajectory_id, "session"),
        comment=clean_text(evidence.comment, "comment", MAX_DESCRIPTION_CHARS),
        at=context.clock(),
        advice_id=memory.advice_id if evidence.advice_id is None else evidence.advice_id,
    )
    return context.clean(signal)[0]


def history(context: BankContext, reference: str, *, policy: str | None = None, context_match: float = 1.0) -> History:
    """Confidence of a memory as time went by, by the policy in force or by another."""
    context = context if policy is None else replace(context, policy=policy_named(policy))
    fits = clean_fraction(context_match, "context_match")
    with context.read_for_output() as reader:
        memory = context.memory(reader, reference)
        signals = reader.select(Signal, {"memory_id": memory.id})
        revisions = [*reader.revisions(Memory, memory.id), memory]
        weighed_by = Context(total_uses=context.uses(reader).get(memory.namespace, 0), context_match=fits)
        current = context.weigh_memories(reader, [memory])[0]
        evidence = evidence_for(memory, signals)
        now = fold(context.policy, memory.initial_confidence, memory.created_at, evidence, context.clock(), weighed_by)
        return History(
            remembered=replace(current, confidence=now),
            revisions=tuple(revisions),
            points=tuple(_points(context.policy, revisions, signals, weighed_by)),
            policy=context.policy.name,
        )


def _points(
    policy: ConfidencePolicy, revisions: Sequence[Memory], signals: Sequence[Signal], context: Context
) -> Iterator[Point]:
    """Confidence of a memory as time went by: an edit to other advice begins anew, an edit back goes on.

    Folds all there was at each point, so it costs the square of the number of signals: for showing one memory.
    """
    first, last = revisions[0], revisions[-1]
    turns = [later for before, later in pairwise(revisions) if later.advice_id != before.advice_id]
    copies = copies_among(signals)
    taken_over = {copies[signal.id].id for signal in evidence_for(last, signals) if signal.id in copies}
    began = {revision.advice_id: revision.revision for revision in reversed(revisions)}
    events: list[tuple[float, int, str, Memory | Signal]] = [(turn.updated_at, 0, turn.id, turn) for turn in turns]
    events += [(signal.at, 1, signal.id, signal) for signal in signals]
    # Evidence counts for the text it was about, whenever it came in: the very first may be older than the memory.
    now, advice_ids = first, dict.fromkeys(signal.advice_id for signal in signals)
    by_advice: dict[str, list[Signal]] = {advice_id: [] for advice_id in advice_ids}

    def believed(at: float) -> Confidence:
        relevant = by_advice.get(now.advice_id, ())
        return fold(policy, first.initial_confidence, first.created_at, relevant, at, context)

    yield Point(confidence=believed(first.created_at), at=first.created_at)
    for at, _, _, event in sorted(events, key=lambda event: event[:3]):
        if isinstance(event, Memory):
            now = event
            yield Point(confidence=believed(at), at=at, revision=event.revision)
        else:
            by_advice[event.advice_id].append(event)
            if event.id in copies:
                continue
            counts = event.advice_id == last.advice_id or event.id in taken_over
            revision = began.get(event.advice_id, 0)
            yield Point(confidence=believed(at), at=at, signal=event, revision=revision, counts=counts)
