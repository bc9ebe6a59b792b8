"""Hits as text for a prompt, within a token budget.

Says that it is reference and not rule, and names origin and confidence, so that a reader can weigh it. A memory that
does not fit is left out whole: half a lesson may say the opposite.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Outcome, Remembered
from reasoningbank.recall.query import Recalled

HEADING = "Lessons from earlier work. Reference, not rule: use what fits, ignore the rest."


LEADING_SHARE = 0.5
"""Of the relevance of the best: what is less likely than that to be of use is left out. More is worse in a prompt."""
FACT = "fact"
"""The tag of a memory that says what is there; it needs no word on when to use it."""


def render(hits: Sequence[Remembered], max_tokens: int) -> str:
    """Prompt-ready text, or "" when nothing fits."""
    parts = [HEADING]
    spent = count_tokens(HEADING)
    for hit in hits:
        entry = _entry(hit)
        cost = count_tokens(entry) + 1
        if spent + cost <= max_tokens:
            parts.append(entry)
            spent += cost
    return "\n\n".join(parts) if len(parts) > 1 else ""


def leading(hits: Sequence[Recalled], floor: float | None) -> Sequence[Recalled]:
    """The hits for a prompt. A caller who names a floor gets everything above it."""
    if floor is not None or not hits:
        return hits
    least = LEADING_SHARE * max(hit.relevance for hit in hits)
    return [hit for hit in hits if hit.relevance >= least]


def _entry(hit: Remembered) -> str:
    if FACT in hit.tags:
        return f"[KNOWN] confidence {hit.confidence.mean:.2f}, from {hit.memory.origin}\n{hit.content}"
    advice = "AVOID" if hit.outcome is Outcome.FAILURE else "DO"
    lines = [f"[{advice}] {hit.title} (confidence {hit.confidence.mean:.2f}, from {hit.memory.origin})"]
    if hit.description:
        lines.append(f"When: {hit.description}")
    lines.append(hit.content)
    return "\n".join(lines)
