"""Account of a session: memories shown in it, evidence that came of it, lessons drawn from it; and of a memory, the
sessions that it was shown in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Job, Memory, Remembered, Signal, Trajectory
from reasoningbank.learn.sessions import session_named
from reasoningbank.ports import Reader

MOST_LISTED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMemory:
    remembered: Remembered
    rank: int
    at: float
    signals: tuple[Signal, ...]
    """Signals that the session gave about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAccount:
    trajectory: Trajectory
    verdict: Mapping[str, Any] | None
    """outcome, reason, evidence, source and certainty, as the judge gave them; None where nobody judged."""
    shown: tuple[ShownMemory, ...]
    lessons: tuple[Remembered, ...]
    """Memories that were learned from it, and known ones that it was evidence for."""
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Appearance:
    """A session in which a memory was shown."""

    trajectory: Trajectory
    at: float
    signals: tuple[Signal, ...]


def account(context: BankContext, session: str) -> SessionAccount:
    with context.read_for_output() as reader:
        trajectory = session_named(reader, session)
        jobs = reader.select(Job, {"subject": trajectory.id})
        showings = reader.shown_in(trajectory.id)
        own = reader.select(Memory, {"source": trajectory.id}, limit=MOST_LISTED)
        result_ids = {memory_id for job in jobs for memory_id in job.results} - {memory.id for memory in own}
        results = reader.get(Memory, sorted(result_ids)) if result_ids else {}
        there = reader.get(Memory, list(showings)) if showings else {}
        memories = {
            memory.id: memory for memory in context.weigh_memories(reader, [*own, *results.values(), *there.values()])
        }
        signals = _signals(reader, {"trajectory_id": trajectory.id}, "memory_id")
    return SessionAccount(
        trajectory=trajectory,
        verdict=_verdict(trajectory, jobs),
        shown=tuple(
            ShownMemory(
                remembered=memories[memory_id],
                rank=showing.rank,
                at=showing.first_at,
                signals=tuple(signals.get(memory_id, ())),
            )
            for memory_id, showing in showings.items()
            if memory_id in memories
        ),
        lessons=tuple(memories[memory.id] for memory in (*own, *results.values())),
        jobs=tuple(jobs),
    )


def appearances(context: BankContext, reference: str, limit: int) -> list[Appearance]:
    """The sessions in which a memory was shown, the latest first."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LISTED:
        raise InvalidInput(f"limit must be a whole number from 1 to {MOST_LISTED}, not {limit!r}.")
    with context.read_for_output() as reader:
        memory = context.memory(reader, reference)
        times = reader.shown_to(memory.id, limit)
        sessions = reader.get(Trajectory, list(times)) if times else {}
        signals = _signals(reader, {"memory_id": memory.id}, "trajectory_id")
    return [
        Appearance(trajectory=sessions[session_id], at=at, signals=tuple(signals.get(session_id, ())))
        for session_id, at in times.items()
        if session_id in sessions
    ]


def _signals(reader: Reader, where: Mapping[str, str], by: str) -> dict[str, list[Signal]]:
    groups: dict[str, list[Signal]] = {}
    for signal in sorted(reader.select(Signal, where), key=lambda entry: entry.at):
        groups.setdefault(getattr(signal, by) or "", []).append(signal)
    return groups


def _verdict(trajectory: Trajectory, jobs: Sequence[Job]) -> Mapping[str, Any] | None:
    """The verdict that the distiller's judge gave last, else the one with which the session ended."""
    verdicts = [job.metadata.get("verdict") for job in jobs] + [trajectory.metadata.get("verdict")]
    return next((verdict for verdict in verdicts if isinstance(verdict, Mapping)), None)
