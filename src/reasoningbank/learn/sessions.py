"""Sessions: starts, steps, ends, and the credit for the memories that were shown.

Works across processes: a session is a trajectory in the store, so one process may start it and another end it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reasoningbank.context import BankContext, full_id
from reasoningbank.core.drafts import (
    MAX_CONTENT_CHARS,
    clean_metadata,
    clean_namespace,
    clean_text,
    optional_name,
    required_text,
)
from reasoningbank.core.errors import Conflict, InvalidInput, NotFound, Refused
from reasoningbank.core.ids import derived_id
from reasoningbank.core.learning import OF_A_SESSION, Verdict, VerdictOutcome
from reasoningbank.core.origins import AGENT, HOOK, kind_of
from reasoningbank.core.types import Memory, Showing, Signal, SignalKind, State, Step, Trajectory
from reasoningbank.guard.speakers import speaker_in_session
from reasoningbank.learn.credit import describe, surprise_of, usual_before, weight_of
from reasoningbank.learn.episodes import verdict_metadata
from reasoningbank.learn.evidence import Evidence, signal_for, standing_for, subject_of
from reasoningbank.learn.queue import enqueue
from reasoningbank.ports import Reader, Writer

OUTCOMES = ("success", "failure", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    trajectory: Trajectory
    steps: int
    signals: tuple[Signal, ...]
    """Signals of the outcome about the memories of this session."""
    job_id: str | None
    """The job that will distil it, accepted in the same transaction; None when somebody else sees to that."""


def start(
    context: BankContext,
    task: str,
    *,
    namespace: str | None = None,
    agent: str | None = None,
    metadata: Mapping[str, Any],
    speaker: str = AGENT,
) -> Trajectory:
    """`speaker` is the origin of whoever begins it, as its door knows."""
    trajectory = Trajectory(
        id=context.ids.new("trj"),
        tenant=context.tenant,
        namespace=clean_namespace(namespace or context.namespace),
        task=required_text(task, "task", MAX_CONTENT_CHARS),
        agent=optional_name(agent, "agent"),
        outcome=None,
        metadata=clean_metadata(metadata),
        started_at=context.clock(),
        ended_at=None,
        origin=speaker_in_session(speaker, metadata.get("origin")),
    )
    clean = context.clean(trajectory)[0]
    context.store.write(context.tenant, lambda writer: writer.add(clean))
    return clean


def session_named(reader: Reader, reference: str) -> Trajectory:
    """A session by its id, or by a beginning or ending of it that only one session has."""
    trajectory = reader.get(Trajectory, [reference]).get(reference)
    if trajectory is None and (whole_id := full_id(reader, Trajectory, reference)) is not None:
        trajectory = reader.get(Trajectory, [whole_id]).get(whole_id)
    if trajectory is None:
        raise NotFound(f"There is no session {reference!r} here.")
    return trajectory


def running(reader: Reader, reference: str, *, by_hook: bool = False) -> Trajectory:
    """A session that may be added to and ended; one that our own hooks captured, by them alone."""
    trajectory = session_named(reader, reference)
    if kind_of(trajectory.origin) == HOOK and not by_hook:
        raise Refused(
            f"The hooks of {trajectory.agent or 'an agent'} write the session {reference!r}: start one of your own."
        )
    if trajectory.ended_at is not None:
        raise Conflict(f"The session {reference!r} has ended already, as {trajectory.outcome}.")
    return trajectory


def whole(reader: Reader, reference: str) -> tuple[Trajectory, list[Step]]:
    trajectory = session_named(reader, reference)
    steps = reader.select(Step, {"trajectory_id": trajectory.id})
    return trajectory, sorted(steps, key=lambda s: s.number)


def step(context: BankContext, session: str, action: str, result: str, metadata: Mapping[str, Any]) -> Step:
    clean_action = required_text(action, "action", MAX_CONTENT_CHARS)
    got = clean_text(result, "result", MAX_CONTENT_CHARS)
    extra = clean_metadata(metadata)

    def change(writer: Writer) -> Step:
        return _add_step(context, writer, running(writer, session).id, (clean_action, got, extra))

    return context.store.write(context.tenant, change)


def track(context: BankContext, reference: str, action: str, result: str, metadata: Mapping[str, Any]) -> Step:
    """Note what was done under a memory, outside of any session: a step whose trajectory is the memory itself."""
    clean_action = required_text(action, "action", MAX_CONTENT_CHARS)
    got = clean_text(result, "result", MAX_CONTENT_CHARS)
    extra = clean_metadata(metadata)

    def change(writer: Writer) -> Step:
        return _add_step(context, writer, context.memory(writer, reference).id, (clean_action, got, extra))

    return context.store.write(context.tenant, change)


def track_of(context: BankContext, reference: str) -> list[Step]:
    """The steps that were taken under a memory, in order."""
    with context.read_for_output() as reader:
        steps = reader.select(Step, {"trajectory_id": context.memory(reader, reference).id})
    return sorted(steps, key=lambda s: s.number)


def _add_step(context: BankContext, writer: Writer, under: str, fields: tuple[str, str, Mapping[str, Any]]) -> Step:
    action, result, metadata = fields
    record, _ = context.clean(
        Step(
            id=context.ids.new("stp"),
            tenant=context.tenant,
            trajectory_id=under,
            number=writer.count(Step, {"trajectory_id": under}) + 1,
            action=action,
            result=result,
            metadata=metadata,
            at=context.clock(),
        )
    )
    writer.add(record)
    return record


def end(
    context: BankContext,
    session: str,
    outcome: str,
    *,
    used: Sequence[str],
    verdict: Verdict | None,
    distil: bool = True,
    ignored: Sequence[str] = (),
    by_hook: bool = False,
) -> Ended:
    """Close a session, credit the memories that were shown in it (an unknown outcome credits nobody) and queue it.

    `verdict` says how a judge came to the outcome; the credit is worth as much as the judge is certain. What was shown
    and visibly `ignored` had no part in it.
    """
    if outcome not in OUTCOMES:
        raise InvalidInput(f"outcome {outcome!r} is unknown: use one of {', '.join(OUTCOMES)}.")

    def change(writer: Writer) -> Ended:
        there = running(writer, session, by_hook=by_hook)
        metadata = there.metadata if verdict is None else {**there.metadata, "verdict": verdict_metadata(verdict)}
        # A verdict may quote what was done.
        changes: dict[str, Any] = {"outcome": outcome, "ended_at": context.clock(), "metadata": metadata}
        trajectory, _ = context.clean(replace(there, revision=there.revision + 1, **changes))
        certainty = 1.0 if verdict is None else verdict.certainty
        signals = () if outcome == "unknown" else _credit(context, writer, trajectory, (used, ignored), certainty)
        steps = writer.count(Step, {"trajectory_id": trajectory.id})
        writer.revise(trajectory)
        for signal in signals:
            writer.add(signal)
        job = enqueue(context, writer, namespace=trajectory.namespace, subject=trajectory.id) if distil else None
        return Ended(trajectory=trajectory, steps=steps, signals=signals, job_id=job.id if job else None)

    return context.store.write(context.tenant, change)


def judge_again(
    context: BankContext, session: str, verdict: Verdict, *, used: Sequence[str], ignored: Sequence[str]
) -> None:
    """Give a session that ended as unknown the outcome that is known now, and the credit for it."""

    def change(writer: Writer) -> None:
        there = session_named(writer, session)
        if there.outcome != "unknown":
            return
        metadata = {**there.metadata, "verdict": verdict_metadata(verdict)}
        changes: dict[str, Any] = {"outcome": verdict.outcome.value, "metadata": metadata}
        trajectory, _ = context.clean(replace(there, revision=there.revision + 1, **changes))
        writer.revise(trajectory)
        for signal in _credit(context, writer, trajectory, (used, ignored), verdict.certainty):
            writer.add(signal)

    context.store.write(context.tenant, change)


def credit_taught(context: BankContext, session: str, verdict: Verdict) -> None:
    """Let what the user said of a session reach the lessons that it had taught before, each once."""

    def change(writer: Writer) -> None:
        for memory in writer.select(Memory, {"source": session, "state": State.ACTIVE}):
            evidence = Evidence(
                kind=SignalKind.COMPLETION,
                positive=verdict.outcome is VerdictOutcome.SUCCESS,
                weight=verdict.certainty,
                used=False,
                source=OF_A_SESSION,
                trajectory_id=session,
                comment=f"{verdict.reason} It was learned from that work.",
            )
            signal_id = derived_id("sig", f"{memory.id}\n{session}\n{verdict.outcome}")
            # What was distilled with these words in it has begun with what they are worth.
            is_known = memory.metadata.get("verdict") == f"{verdict.outcome} by {verdict.source}"
            if not is_known and not writer.get(Signal, [signal_id]):
                writer.add(replace(signal_for(context, memory, evidence), id=signal_id))

    context.store.write(context.tenant, change)


def _credit(
    context: BankContext,
    reader: Reader,
    trajectory: Trajectory,
    parts: tuple[Sequence[str], Sequence[str]],
    certainty: float,
) -> tuple[Signal, ...]:
    """For the memories that were used, and for those shown of which nobody knows that they were ignored."""
    used, ignored = parts
    showings = {
        memory_id: showing for memory_id, showing in reader.shown_in(trajectory.id).items() if memory_id not in ignored
    }
    there = reader.get(Memory, list(dict.fromkeys((*showings, *used))))
    mentions = [there.get(reference) or context.memory(reader, reference, trajectory.namespace) for reference in used]
    used_memories = {memory.id: memory for memory in (standing_for(reader, mention) for mention in mentions)}
    memories, ranks, advice = _shown_memories(reader, showings, there)
    memories |= used_memories
    if not memories:
        return ()
    usual, positive = usual_before(reader, trajectory), trajectory.outcome == "success"
    surprise = surprise_of(usual, positive=positive)
    source = HOOK if kind_of(trajectory.origin) == HOOK else OF_A_SESSION
    return tuple(
        signal_for(
            context,
            memory,
            Evidence(
                kind=SignalKind.COMPLETION,
                positive=positive,
                weight=certainty * weight_of(memory.id, used_memories, ranks, surprise),
                used=memory.id in used_memories,
                source=source,
                trajectory_id=trajectory.id,
                comment=describe(usual),
                advice_id=advice.get(memory.id),
            ),
        )
        for memory in memories.values()
        if memory.state is not State.FORGOTTEN
    )


def _shown_memories(
    reader: Reader, showings: Mapping[str, Showing], there: Mapping[str, Memory]
) -> tuple[dict[str, Memory], dict[str, int], dict[str, str]]:
    """Memories that were shown, or what stands for them since, with the best rank of each and the advice that it
    gave.
    """
    memories: dict[str, Memory] = {}
    ranks: dict[str, int] = {}
    advice: dict[str, str] = {}
    for memory_id, showing in showings.items():
        if memory_id not in there:
            continue
        subject, advice_id = subject_of(reader, there[memory_id], showing.advice_id)
        memories[subject.id] = subject
        ranks[subject.id] = min(showing.rank, ranks.get(subject.id, showing.rank))
        advice[subject.id] = advice_id
    return memories, ranks, advice
