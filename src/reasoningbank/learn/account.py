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
    """What the session said of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAccount:
    trajectory: Trajectory
    verdict: Mapping[str, Any] | None
    """outcome, reason, evidence, source and certainty, as the judge gave them; None where nobody judged."""
    shown: tuple[ShownMemory, ...]
    lessons: tuple[Remembered, ...]
    """What was learned from it, and the known ones that it was evidence for."""
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
        shown = reader.shown_in(trajectory.id)
        own = reader.select(Memory, {"source": trajectory.id}, limit=MOST_LISTED)
        named = {memory_id for job in jobs for memory_id in job.results} - {memory.id for memory in own}
        known = reader.get(Memory, sorted(named)) if named else {}
        there = reader.get(Memory, list(shown)) if shown else {}
        weighed = {one.id: one for one in context.weigh_memories(reader, [*own, *known.values(), *there.values()])}
        said = _signals(reader, {"trajectory_id": trajectory.id}, "memory_id")
    return SessionAccount(
        trajectory=trajectory,
        verdict=_verdict(trajectory, jobs),
        shown=tuple(
            ShownMemory(
                remembered=weighed[one], rank=showing.rank, at=showing.first_at, signals=tuple(said.get(one, ()))
            )
            for one, showing in shown.items()
            if one in weighed
        ),
        lessons=tuple(weighed[memory.id] for memory in (*own, *known.values())),
        jobs=tuple(jobs),
    )


def appearances(context: BankContext, reference: str, limit: int) -> list[Appearance]:
    """The sessions in which a memory was shown, the latest first."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LISTED:
        raise InvalidInput(f"limit must be a whole number from 1 to {MOST_LISTED}, not {limit!r}.")
    with context.read_for_output() as reader:
        memory = context.memory(reader, reference)
        shown = reader.shown_to(memory.id, limit)
        sessions = reader.get(Trajectory, list(shown)) if shown else {}
        said = _signals(reader, {"memory_id": memory.id}, "trajectory_id")
    return [
        Appearance(trajectory=sessions[one], at=at, signals=tuple(said.get(one, ())))
        for one, at in shown.items()
        if one in sessions
    ]


def _signals(reader: Reader, where: Mapping[str, str], by: str) -> dict[str, list[Signal]]:
    found: dict[str, list[Signal]] = {}
    for signal in sorted(reader.select(Signal, where), key=lambda one: one.at):
        found.setdefault(getattr(signal, by) or "", []).append(signal)
    return found


def _verdict(trajectory: Trajectory, jobs: Sequence[Job]) -> Mapping[str, Any] | None:
    """What the distiller's judge said last, else what was said when the session ended."""
    told = [job.metadata.get("verdict") for job in jobs] + [trajectory.metadata.get("verdict")]
    return next((one for one in told if isinstance(one, Mapping)), None)
