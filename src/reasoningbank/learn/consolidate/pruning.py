"""Archives what proved wrong, and what has faded.

Evidence ages in the confidence itself, so nothing is written when it does. Knows who is never archived: what nobody has
tried yet, what is pinned, and what a person wrote down as long as nothing speaks against it.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.confidence import DAY_SECONDS, PRUNE_BELOW, ConfidencePolicy, Context
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import USER, kind_of
from reasoningbank.core.types import Memory
from reasoningbank.learn.consolidate.plan import Archival
from reasoningbank.learn.consolidate.pool import PINNED, Member, UndoneDecisions

FEWEST_SIGNALS = 2
UNUSED_DAYS = 180.0
"""One that nobody used for so long, and that has faded below the threshold by its age alone, goes too."""
FADED_BY = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Faded:
    """A memory whose evidence has lost weight since it was given."""

    memory: Memory
    before: float
    """The confidence when its last evidence came in."""
    now: float
    idle_days: float


def archivals_among(
    members: Sequence[Member], before: UndoneDecisions, now: float, threshold: float = PRUNE_BELOW
) -> list[Archival]:
    found = []
    for member in members:
        if member.confidence >= threshold or PINNED in member.memory.tags or member.id in before.kept:
            continue
        why = _against(member) or _forgotten(member, now)
        if why is not None:
            found.append(Archival(id=member.id, title=member.memory.title, confidence=member.confidence, why=why))
    return found


def _against(member: Member) -> str | None:
    negative = sum(not signal.positive for signal in member.signals)
    if len(member.signals) < FEWEST_SIGNALS or not negative:
        return None
    return f"{negative} of {len(member.signals)} pieces of evidence speak against it"


def _forgotten(member: Member, now: float) -> str | None:
    if kind_of(member.memory.origin) == USER:
        return None
    idle = (now - max(member.memory.updated_at, member.last_used_at)) / DAY_SECONDS
    # Where age does not count, a low start is no fading.
    if idle < UNUSED_DAYS or member.confidence >= member.memory.initial_confidence:
        return None
    return f"nobody used it for {idle:.0f} days and it has faded"


def faded_among(
    members: Sequence[Member], policy: ConfidencePolicy, now: float, least: float = FADED_BY
) -> list[Faded]:
    """Those that have lost at least so much confidence to age alone, the most first."""
    found = []
    for member in members:
        memory = member.memory
        standing = policy.standing(memory.initial_confidence, memory.created_at, member.signals)
        last = max([memory.created_at, *(signal.at for signal in member.signals)])
        then = policy.confidence(standing, min(last, now), Context(total_uses=member.all_uses)).mean
        if then - member.confidence >= least:
            days = max(0.0, now - last) / DAY_SECONDS
            found.append(Faded(memory=memory, before=then, now=member.confidence, idle_days=days))
    return sorted(found, key=lambda faded: (faded.now - faded.before, faded.memory.id))
