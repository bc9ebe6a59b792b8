"""Uplift of a memory: counts of what came of it, and the difference that it makes.

The arithmetic of two groups of sessions, however they were counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from reasoningbank.core.frozen import dataclass

_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    shown: int = 0
    last_shown_at: float | None = None
    used: int = 0
    helped: int = 0
    """Uses that went well, and people who said so."""
    hurt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Sessions that a memory was shown in, or withheld from, under one chance of being withheld."""

    memory_id: str
    withheld: bool
    holdout: float
    sessions: int
    succeeded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRate:
    kind: str
    sessions: int
    succeeded: int
    example: str
    """The id of a session of this kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uplift:
    """How much likelier success is with the memory than without, with a 95 % interval."""

    value: float
    low: float
    high: float
    sessions_with: int
    sessions_without: int
    by: str
    """`hold-out`: chance decided which sessions had it, so this is what it is worth. `compared`: sessions that had it
    beside others of the namespace, which may differ in more than that."""


def uplift_by_holdout(trials: Iterable[Trial]) -> Uplift | None:
    """From sessions where chance decided; those of each chance are compared among themselves, so that a change of the
    chance cannot pass for an effect. None until there are sessions of both sorts.
    """
    groups: dict[float, dict[bool, tuple[int, int]]] = {}
    for trial in trials:
        if trial.holdout > 0.0:
            sides = groups.setdefault(trial.holdout, {True: (0, 0), False: (0, 0)})
            sessions, successes = sides[trial.withheld]
            sides[trial.withheld] = (sessions + trial.sessions, successes + trial.succeeded)
    both = [(sides[False], sides[True]) for sides in groups.values() if sides[True][0] and sides[False][0]]
    return _difference(both, "hold-out") if both else None


def uplift_by_comparison(with_it: tuple[int, int], without: tuple[int, int]) -> Uplift | None:
    """From (sessions, succeeded) with the memory and without; None when one of them is empty."""
    return _difference([(with_it, without)], "compared") if with_it[0] and without[0] else None


def _difference(groups: Sequence[tuple[tuple[int, int], tuple[int, int]]], by: str) -> Uplift:
    """Each group weighs as much as it has sessions. The interval is Agresti and Caffo's: as if each side had one more
    success and one more failure, which keeps its promise for small numbers too.
    """
    whole = sum(with_[0] + without[0] for with_, without in groups)
    value = centre = variance = 0.0
    for with_, without in groups:
        share = (with_[0] + without[0]) / whole
        value += share * (with_[1] / with_[0] - without[1] / without[0])
        rate_with, rate_without = ((successes + 1) / (sessions + 2) for sessions, successes in (with_, without))
        centre += share * (rate_with - rate_without)
        spread = rate_with * (1 - rate_with) / (with_[0] + 2) + rate_without * (1 - rate_without) / (without[0] + 2)
        variance += share**2 * spread
    half = _Z95 * math.sqrt(variance)
    return Uplift(
        value=value,
        low=max(-1.0, min(centre - half, value)),
        high=min(1.0, max(centre + half, value)),
        sessions_with=sum(with_[0] for with_, _ in groups),
        sessions_without=sum(without[0] for _, without in groups),
        by=by,
    )
