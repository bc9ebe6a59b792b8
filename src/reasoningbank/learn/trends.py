"""Trends of a bank by day: what was learned, how tasks went, what was said of memories, and how sure it was of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from reasoningbank.context import BankContext
from reasoningbank.core.confidence import ConfidencePolicy, evidence_for, fold
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Memory, Outcome, Signal

MOST_DAYS = 366
DAY_S = 86_400
MOST_WEIGHED = 300
"""Memories whose confidence is followed: those that something was said of most recently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MiddleHalf:
    """The confidence of several memories: the middle one, and those a quarter from either end."""

    low: float
    middle: float
    high: float
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    day: str
    """In UTC, as 2026-11-15."""
    learned: int
    warnings: int
    """Of those learned, the ones about what went wrong."""
    succeeded: int
    failed: int
    supported: int
    """Evidence for memories."""
    contradicted: int
    confidence: MiddleHalf | None
    """At the end of the day, of the memories that are followed and were there; None while there were none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trends:
    days: tuple[Day, ...]
    """The oldest first, without a gap; the last is today, so far."""
    followed: int
    """How many memories the confidence is that of."""


def trends(context: BankContext, *, days: int, namespace: str | None = None) -> Trends:
    """`namespace` None is every one."""
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MOST_DAYS:
        raise InvalidInput(f"days must be a whole number from 1 to {MOST_DAYS}, not {days!r}.")
    now = context.clock()
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    starts = [today - timedelta(days=days - 1 - number) for number in range(days)]
    with context.store.read(context.tenant) as reader:
        moments = reader.happenings(namespace, starts[0].timestamp())
        latest = sorted(moments.said, reverse=True)
        followed = list(dict.fromkeys(memory_id for _, _, memory_id in latest))[:MOST_WEIGHED]
        memories = list(reader.get(Memory, followed).values()) if followed else []
        signals: dict[str, list[Signal]] = defaultdict(list)
        for signal in reader.select(Signal, {"memory_id": followed}) if followed else ():
            signals[signal.memory_id].append(signal)
    weighed = [(memory, evidence_for(memory, signals[memory.id])) for memory in memories]
    learned, warnings = _by_day(moments.learned, Outcome.SUCCESS.value), _by_day(moments.learned, Outcome.FAILURE.value)
    succeeded, failed = _by_day(moments.ended, True), _by_day(moments.ended, False)
    said = [(at, positive) for at, positive, _ in moments.said]
    supported, contradicted = _by_day(said, True), _by_day(said, False)
    made = []
    for start in starts:
        number = int(start.timestamp() // DAY_S)
        end = min(now, (start + timedelta(days=1)).timestamp())
        made.append(
            Day(
                day=start.date().isoformat(),
                learned=learned[number] + warnings[number],
                warnings=warnings[number],
                succeeded=succeeded[number],
                failed=failed[number],
                supported=supported[number],
                contradicted=contradicted[number],
                confidence=_spread(context.policy, weighed, end),
            )
        )
    return Trends(days=tuple(made), followed=len(weighed))


def _by_day(moments: Sequence[tuple[float, object]], what: object) -> Counter[int]:
    return Counter(int(at // DAY_S) for at, which in moments if which == what)


def _spread(policy: ConfidencePolicy, weighed: Sequence[tuple[Memory, list[Signal]]], at: float) -> MiddleHalf | None:
    means = sorted(
        fold(policy, memory.initial_confidence, memory.created_at, [one for one in said if one.at <= at], at).mean
        for memory, said in weighed
        if memory.created_at <= at
    )
    if not means:
        return None
    last = len(means) - 1
    low, middle, high = (means[round(last * share)] for share in (0.25, 0.5, 0.75))
    return MiddleHalf(low=low, middle=middle, high=high, memories=len(means))
