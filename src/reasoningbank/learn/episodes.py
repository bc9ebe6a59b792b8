"""Builds the episode that judges and distillers read, from the records of a session.

Metadata that carry a meaning are `reward`, `messages` and `verdict` of a trajectory, and `ok` of a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep, JudgedBy, Verdict, VerdictOutcome
from reasoningbank.core.types import Step, Trajectory
from reasoningbank.guard.speakers import origin_of_session

LONGEST_REASON_CHARS = 500
_SPOKEN = ("reward", "origin", "messages")


def episode_of(trajectory: Trajectory, steps: Sequence[Step]) -> Episode:
    metadata = trajectory.metadata
    messages = metadata.get("messages")
    return Episode(
        task=trajectory.task,
        namespace=trajectory.namespace,
        steps=tuple(_step(step) for step in steps),
        agent=trajectory.agent,
        outcome=trajectory.outcome if trajectory.outcome in ("success", "failure") else None,
        reward=fraction(metadata.get("reward")),
        messages=tuple(item for item in messages if isinstance(item, Mapping)) if isinstance(messages, list) else (),
        metadata={name: value for name, value in metadata.items() if name not in _SPOKEN},
        source=trajectory.id,
        origin=origin_of_session(trajectory),
    )


def fraction(value: object) -> float | None:
    """A reward from 0 to 1; what is outside is cut, what is no number is none."""
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN
        return None
    return min(1.0, max(0.0, float(value)))


def verdict_metadata(verdict: Verdict) -> dict[str, Any]:
    return {
        "outcome": verdict.outcome.value,
        "reason": verdict.reason[:LONGEST_REASON_CHARS],
        "evidence": verdict.evidence[:LONGEST_REASON_CHARS],
        "source": verdict.source.value,
        "certainty": verdict.certainty,
    }


def kept_verdict(episode: Episode) -> Verdict | None:
    """Verdict that a judge gave when the session was ended."""
    fields = episode.metadata.get("verdict")
    if not isinstance(fields, Mapping):
        return None
    try:
        return Verdict(
            outcome=VerdictOutcome(fields.get("outcome", "")),
            reason=str(fields.get("reason", "")),
            evidence=str(fields.get("evidence", "")),
            source=JudgedBy(fields.get("source", "")),
            certainty=fraction(fields.get("certainty")) or 0.0,
        )
    except ValueError:
        return None


def _step(step: Step) -> EpisodeStep:
    ok = step.metadata.get("ok")
    rest = {name: value for name, value in step.metadata.items() if name != "ok"}
    return EpisodeStep(action=step.action, result=step.result, ok=ok if isinstance(ok, bool) else None, metadata=rest)
