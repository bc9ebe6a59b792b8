"""Hits as text for a prompt, within a token budget.

Says that it is reference and not rule, and names origin and confidence, so that a reader can weigh it. A memory that
does not fit is left out whole: half a lesson may say the opposite.
"""

from __future__ import annotations

from collections.abc import Sequence

from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Outcome, Remembered

HEADING = "Lessons from earlier work. Reference, not rule: use what fits, ignore the rest."


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


def _entry(hit: Remembered) -> str:
    advice = "AVOID" if hit.outcome is Outcome.FAILURE else "DO"
    lines = [f"[{advice}] {hit.title} (confidence {hit.confidence.mean:.2f}, from {hit.memory.origin})"]
    if hit.description:
        lines.append(f"When: {hit.description}")
    lines.append(hit.content)
    return "\n".join(lines)
