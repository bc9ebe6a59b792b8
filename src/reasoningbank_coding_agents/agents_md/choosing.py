"""Chooses the memories that AGENTS.md, CLAUDE.md or a skill file shows: by confidence, trust and words.

What nobody vouches for has no place there: such a file is read as instructions.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import USER, Trust, kind_of
from reasoningbank.core.stem import stem
from reasoningbank.core.text import terms
from reasoningbank.core.types import Remembered
from reasoningbank.guard.envelope import is_unmarked
from reasoningbank.learn.consolidate.agreement import contradiction
from reasoningbank.learn.consolidate.wording import Wording, wording_of
from reasoningbank_coding_agents.refusal import has_earned_it

Clashes = frozenset[frozenset[str]]
MOST_CANDIDATES = 400
ALIKE = 0.6
"""Two memories that share this much of their words say the same; the better one speaks."""
LARGEST_SHARE = 0.25
"""Share of the budget: a memory that takes more would push out several others."""
ALWAYS_SMALL_TOKENS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    limit: int = 20
    max_tokens: int = 1_500
    least_trust: Trust = Trust.WORKING
    min_confidence: float = 0.5
    """More than a search asks for: a file is read at every task, whether it fits or not."""
    untried: bool = False
    """Also what an agent noted and nothing has confirmed since."""


def candidates(memories: Iterable[Remembered], criteria: Wanted) -> list[Remembered]:
    """The best first. Any number may come by; only as many as could matter are held."""
    fit = (
        item
        for item in memories
        if item.trust >= criteria.least_trust
        and item.confidence.mean >= criteria.min_confidence
        and (criteria.untried or item.trust is Trust.TRUSTED or has_earned_it(item))
        and not is_unmarked(item.memory.metadata, item.content)
    )
    return heapq.nlargest(MOST_CANDIDATES, fit, key=worth)


def worth(item: Remembered) -> tuple[float, int, int, bool, float, str]:
    """The lower end of the confidence says both how good a memory is and how well that is known.

    Among equals what was used goes first, then what the user wrote: the newest are often the lines of an import.
    """
    is_own = kind_of(item.memory.origin) == USER
    return item.confidence.low, item.succeeded, item.usage_count, is_own, item.memory.updated_at, item.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    positions: tuple[int, ...]
    """Positions of those that fit into the budget and neither repeat nor contradict one another, the best first."""
    contested: tuple[tuple[int, int], ...]
    """Positions of those left out, each with the better one that it contradicts."""


def choose(items: Sequence[Remembered], costs: Sequence[int], criteria: Wanted, clashes: Clashes) -> Chosen:
    """`clashes` are pairs of ids that are known to contradict each other; others are told by their words."""
    positions: list[int] = []
    conflicts: list[tuple[int, int]] = []
    words: list[frozenset[str]] = []
    wordings: list[Wording] = []
    budget = criteria.max_tokens
    for position, (item, cost) in enumerate(zip(items, costs, strict=True)):
        if len(positions) >= criteria.limit:
            break
        if cost > budget or cost > max(ALWAYS_SMALL_TOKENS, criteria.max_tokens * LARGEST_SHARE):
            continue
        wording = wording_of(item.memory)
        better = (
            other
            for other, its in zip(positions, wordings, strict=True)
            if frozenset((item.id, items[other].id)) in clashes or contradiction(wording, its)
        )
        against = next(better, None)
        if against is not None:
            conflicts.append((position, against))
            continue
        word_set = frozenset(terms(f"{item.title} {item.content}", stem=stem))
        if any(len(word_set & other) / max(1, len(word_set | other)) >= ALIKE for other in words):
            continue
        positions.append(position)
        words.append(word_set)
        wordings.append(wording)
        budget -= cost
    return Chosen(positions=tuple(positions), contested=tuple(conflicts))
