"""From the records of a session to the episode that judges and distillers read.

Knows which metadata carry a meaning: `reward`, `origin` and `messages` of a trajectory, `ok` of a step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.types import Step, Trajectory

_SPOKEN = ("reward", "origin", "messages")


def episode_of(trajectory: Trajectory, steps: Sequence[Step]) -> Episode:
    metadata = trajectory.metadata
    origin = metadata.get("origin")
    return Episode(
        task=trajectory.task,
        namespace=trajectory.namespace,
        steps=tuple(_step(step) for step in steps),
        agent=trajectory.agent,
        outcome=trajectory.outcome if trajectory.outcome in ("success", "failure") else None,
        reward=fraction(metadata.get("reward")),
        messages=_messages(metadata.get("messages")),
        metadata={name: value for name, value in metadata.items() if name not in _SPOKEN},
        source=trajectory.id,
        origin=origin if isinstance(origin, str) and origin else "agent",
    )


def fraction(value: object) -> float | None:
    """A reward from 0 to 1; what is outside is cut, what is no number is none."""
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, (int, float)) or value != value:  # noqa: PLR0124 - NaN
        return None
    return min(1.0, max(0.0, float(value)))


def _step(step: Step) -> EpisodeStep:
    ok = step.metadata.get("ok")
    rest = {name: value for name, value in step.metadata.items() if name != "ok"}
    return EpisodeStep(action=step.action, result=step.result, ok=ok if isinstance(ok, bool) else None, metadata=rest)


def _messages(value: object) -> tuple[Mapping[str, Any], ...]:
    return tuple(item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()
