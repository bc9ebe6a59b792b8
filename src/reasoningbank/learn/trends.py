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
    """Lessons about what went wrong, of those learned."""
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
    """Trends of the last `days` days, today included; of every namespace where none is named."""
    if isinstance(days, bool) or not isinstance(days, int) or not 1 <= days <= MOST_DAYS:
        raise InvalidInput(f"days must be a whole number from 1 to {MOST_DAYS}, not {days!r}.")
    now = context.clock()
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    starts = [today - timedelta(days=days - 1 - number) for number in range(days)]
    with context.store.read(context.tenant) as reader:
        moments = reader.happenings(namespace, starts[0].timestamp())
        latest = sorted(moments.said, reverse=True)
        memory_ids = list(dict.fromkeys(memory_id for _, _, memory_id in latest))[:MOST_WEIGHED]
        memories = list(reader.get(Memory, memory_ids).values()) if memory_ids else []
        signals: dict[str, list[Signal]] = defaultdict(list)
        for signal in reader.select(Signal, {"memory_id": memory_ids}) if memory_ids else ():
            signals[signal.memory_id].append(signal)
    evidence = [(memory, evidence_for(memory, signals[memory.id])) for memory in memories]
    lessons, warnings = _by_day(moments.learned, Outcome.SUCCESS.value), _by_day(moments.learned, Outcome.FAILURE.value)
    successes, failures = _by_day(moments.ended, True), _by_day(moments.ended, False)
    reports = [(at, positive) for at, positive, _ in moments.said]
    support, contradictions = _by_day(reports, True), _by_day(reports, False)
    rows = []
    for start in starts:
        number = int(start.timestamp() // DAY_S)
        end = min(now, (start + timedelta(days=1)).timestamp())
        rows.append(
            Day(
                day=start.date().isoformat(),
                learned=lessons[number] + warnings[number],
                warnings=warnings[number],
                succeeded=successes[number],
                failed=failures[number],
                supported=support[number],
                contradicted=contradictions[number],
                confidence=_spread(context.policy, evidence, end),
            )
        )
    return Trends(days=tuple(rows), followed=len(evidence))


def _by_day(moments: Sequence[tuple[float, object]], what: object) -> Counter[int]:
    return Counter(int(at // DAY_S) for at, which in moments if which == what)


def _spread(policy: ConfidencePolicy, evidence: Sequence[tuple[Memory, list[Signal]]], at: float) -> MiddleHalf | None:
    means = sorted(
        fold(
            policy, memory.initial_confidence, memory.created_at, [signal for signal in signals if signal.at <= at], at
        ).mean
        for memory, signals in evidence
        if memory.created_at <= at
    )
    if not means:
        return None
    last = len(means) - 1
    low, middle, high = (means[round(last * share)] for share in (0.25, 0.5, 0.75))
    return MiddleHalf(low=low, middle=middle, high=high, memories=len(means))
