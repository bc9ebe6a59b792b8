"""Reads the reward that an environment gave, and what it says of the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WHOLE_REWARD = 1.0
_REWARDS = ("reward", "score")


def reward_in(value: object) -> float | None:
    """From 0 to 1; what is no number is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - NaN
        return None
    return min(1.0, max(0.0, float(value)))


def outcome_for(reward: float | None) -> str | None:
    return None if reward is None else ("success" if reward >= WHOLE_REWARD else "failure")


def told_reward(about: Mapping[str, Any]) -> float | None:
    """As what lies around a session tells it."""
    return next((reward for name in _REWARDS if (reward := reward_in(about.get(name))) is not None), None)


def told_outcome(about: Mapping[str, Any]) -> str | None:
    for name in ("outcome", "status", "success"):
        value = about.get(name)
        if isinstance(value, bool):
            return "success" if value else "failure"
        if value in ("success", "failure"):
            return str(value)
    return outcome_for(told_reward(about))
