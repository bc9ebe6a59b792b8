"""Archives what proved wrong, and what has faded.

Never archived: what nobody has tried yet, what is pinned, and what a person wrote down as long as nothing speaks
against it.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.confidence import DAY_SECONDS, PRUNE_BELOW
from reasoningbank.core.origins import USER, kind_of
from reasoningbank.learn.consolidate.plan import Archival
from reasoningbank.learn.consolidate.pool import PINNED, Member, UndoneDecisions

FEWEST_SIGNALS = 2
UNUSED_DAYS = 180.0
"""One that nobody used for so long, and that has faded below the threshold by its age alone, goes too."""


def archivals_among(
    members: Sequence[Member], before: UndoneDecisions, now: float, threshold: float = PRUNE_BELOW
) -> list[Archival]:
    archivals = []
    for member in members:
        if member.confidence >= threshold or PINNED in member.memory.tags or member.id in before.kept:
            continue
        negative = sum(not signal.positive for signal in member.signals)
        if len(member.signals) >= FEWEST_SIGNALS and negative:
            why: str | None = f"{negative} of {len(member.signals)} pieces of evidence speak against it"
        else:
            why = _forgotten(member, now)
        if why is not None:
            archivals.append(Archival(id=member.id, title=member.memory.title, confidence=member.confidence, why=why))
    return archivals


def _forgotten(member: Member, now: float) -> str | None:
    if kind_of(member.memory.origin) == USER:
        return None
    idle = (now - max(member.memory.updated_at, member.last_used_at)) / DAY_SECONDS
    # Where age does not count, a low start is no fading.
    if idle < UNUSED_DAYS or member.confidence >= member.memory.initial_confidence:
        return None
    return f"nobody used it for {idle:.0f} days and it has faded"
