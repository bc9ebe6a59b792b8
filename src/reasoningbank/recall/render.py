"""Renders hits as text for a prompt, within a token budget.

Says that it is reference and not rule, and names origin and confidence, so that a reader can weigh it. What nobody
vouches for stands in an envelope, as data. A memory that does not fit is left out whole: half a lesson may say the
opposite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from reasoningbank.core.confidence import track_record
from reasoningbank.core.origins import Trust
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Outcome, Remembered
from reasoningbank.core.wording import avoid_title, occasion
from reasoningbank.guard.envelope import envelope, is_unmarked, plain_origin
from reasoningbank.guard.hidden import visible
from reasoningbank.recall.query import Recalled

H = TypeVar("H", bound=Remembered)

HEADING = "Lessons from earlier work. Reference, not rule: use what fits, ignore the rest."
LEADING_ODDS = 0.15
"""Of the odds of the best: what is less likely than that to be of use is left out. More is worse in a prompt."""
FACT = "fact"
"""The tag of a memory that says what is there; it needs no word on when to use it."""


def render(hits: Sequence[Remembered], *, heading: str = HEADING) -> str:
    """Prompt-ready text, or "" for nothing."""
    return "\n\n".join([heading, *map(entry_of, hits)]) if hits else ""


def fitting(hits: Sequence[H], max_tokens: int, *, heading: str = HEADING) -> list[H]:
    """Those that `render` gets into the budget, the first ones first."""
    kept = []
    spent = count_tokens(heading)
    for hit in hits:
        cost = count_tokens(entry_of(hit)) + 1
        if spent + cost <= max_tokens:
            kept.append(hit)
            spent += cost
    return kept


def leading(hits: Sequence[Recalled], floor: float | None) -> Sequence[Recalled]:
    """The hits for a prompt. A caller who names a floor gets everything above it."""
    if floor is not None or not hits:
        return hits
    least = LEADING_ODDS * max(_odds(hit.relevance) for hit in hits)
    return [hit for hit in hits if _odds(hit.relevance) >= least]


def _odds(relevance: float) -> float:
    return relevance / max(1.0 - relevance, 1e-3)


def entry_of(hit: Remembered) -> str:
    """A memory as `render` shows it."""
    advice, title = ("AVOID", avoid_title(hit.title)) if hit.outcome is Outcome.FAILURE else ("DO", hit.title)
    record = track_record(hit.usage_count, hit.succeeded)
    confidence = f"confidence {hit.confidence.mean:.2f}{record and f', {record}'}"
    if hit.trust is Trust.UNTRUSTED or is_unmarked(hit.memory.metadata, hit.content):
        kind = "says to avoid" if hit.outcome is Outcome.FAILURE else "claims"
        lines = [
            hit.title,
            *([f"When: {occasion(hit.description)}"] if hit.description else []),
            hit.content,
            *clashes_of(hit),
        ]
        return envelope("\n".join(lines), hit.memory.origin, f"{kind}, {confidence}")
    # Comments and hidden elements stay where the words are believed: here they hide nothing.
    if FACT in hit.tags:
        told = ", names as they were listed" if hit.memory.metadata.get("kind") == FACT else ""
        return f"[KNOWN] {confidence}, from {plain_origin(hit.memory.origin)}{told}\n{_show(hit.content)}"
    lines = [f"[{advice}] {_show(title)} ({confidence}, from {plain_origin(hit.memory.origin)})"]
    if hit.description:
        lines.append(f"When: {_show(occasion(hit.description))}")
    lines += [_show(hit.content), *clashes_of(hit)]
    return "\n".join(lines)


def clashes_of(hit: Remembered) -> list[str]:
    """A sentence about what it contradicts, where it does."""
    if not isinstance(hit, Recalled) or not hit.conflicts:
        return []
    titles = ", ".join(f"“{_show(clash.title)}”" for clash in hit.conflicts)
    return [f"Conflicts with {titles}: weigh them against each other."]


def _show(text: str) -> str:
    return visible(text, markup=False)
