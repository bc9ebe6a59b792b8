"""Renders hits as text for a prompt, within a token budget.

Says that it is reference and not rule, and names origin and confidence, so that a reader can weigh it. What nobody
vouches for stands in an envelope, as data. A memory that does not fit is left out whole: half a lesson may say the
opposite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from reasoningbank.core.confidence import track_record
from reasoningbank.core.learning import SOLVED
from reasoningbank.core.origins import Trust
from reasoningbank.core.tokens import count_tokens
from reasoningbank.core.types import Memory, Outcome, Remembered
from reasoningbank.core.wording import avoid_title, occasion
from reasoningbank.guard.envelope import envelope, is_unmarked, memory_words, plain_origin
from reasoningbank.guard.trust import approvals_awaited
from reasoningbank.recall.query import Recalled, without_orphans

_WORD = re.compile(r"\w+")
H = TypeVar("H", bound=Remembered)

HEADING = "Lessons from earlier work: reference, not rule."
EARLIER_HEADINGS = ("Lessons from earlier work. Reference, not rule: use what fits, ignore the rest.",)
"""As it stood in prompts of other versions, whose transcripts are still read."""
LEADING_ODDS = 0.15
"""Share of the odds of the best: what is less likely than that to be of use is left out. More is worse in a prompt."""
LEAST_ALIKE_TASK = 0.6
"""From here on the way in which another task was solved is worth its room."""
LEAST_ALIKE_BESIDE_FACTS = 0.985
"""Where facts are known that serve any task there, only the way of the same task, or a twin of it, is."""
SHARED_WITH_FAILURE = 0.5
"""Share of the words of a failure that a question about it has."""
FACT = "fact"
"""The tag of a memory that says what is there; it needs no word on when to use it."""


def render(hits: Sequence[Remembered], *, heading: str = HEADING) -> str:
    """Prompt-ready text, or "" for nothing."""
    return "\n\n".join([heading, *map(entry_of, hits)]) if hits else ""


def fitting(hits: Sequence[H], max_tokens: int, *, heading: str = HEADING) -> list[H]:
    """The hits that `render` gets into the budget, the first ones first."""
    selection: list[H] = []
    tokens = count_tokens(heading)
    for hit in hits:
        cost = count_tokens(entry_of(hit)) + 1
        if tokens + cost <= max_tokens:
            selection.append(hit)
            tokens += cost
    return without_orphans(selection)


def leading(hits: Sequence[Recalled], floor: float | None, question: str | None = None) -> Sequence[Recalled]:
    """The hits for a prompt. A caller who names a floor gets everything above it, one who says what was asked no help
    against failures that were not.
    """
    if floor is not None or not hits:
        return hits
    lessons = [
        hit for hit in hits if SOLVED not in hit.tags and (question is None or _is_called_for(hit.memory, question))
    ]
    # How one task was solved is no measure for what is known: were it one, a twin of the task would hide the facts.
    facts = [hit for hit in lessons if FACT in hit.tags]
    alike = LEAST_ALIKE_BESIDE_FACTS if facts else LEAST_ALIKE_TASK
    ways = [hit for hit in hits if SOLVED in hit.tags and hit.relevance >= alike][:1]
    least = LEADING_ODDS * max((_odds(hit.relevance) for hit in lessons), default=0.0)
    least_beside = LEADING_ODDS * max((_odds(hit.relevance) for hit in (*lessons, *ways)), default=0.0)
    ids = {hit.id for hit in lessons if _odds(hit.relevance) >= least_beside}
    ids |= {hit.id for hit in facts if _odds(hit.relevance) >= least} | {hit.id for hit in ways}
    return without_orphans([hit for hit in hits if hit.id in ids])


def _is_called_for(memory: Memory, question: str) -> bool:
    """True if what helps against a failure is asked for: the failure's words are there, the program's name or its
    verb (`git push`), or what it was run for.

    Whoever meets the failure finds it by what went wrong; the other words of a task say little about that.
    """
    trouble = memory.metadata.get("trouble")
    if not isinstance(trouble, Mapping):
        return True
    words = frozenset(_WORD.findall(question.casefold()))
    if words.intersection(_WORD.findall(str(trouble.get("action", "")).casefold())[:2]):
        return True
    word_sets = (frozenset(_WORD.findall(str(trouble.get(name, "")).casefold())) for name in ("signature", "goal"))
    return any(
        trouble_words and len(words & trouble_words) >= SHARED_WITH_FAILURE * len(trouble_words)
        for trouble_words in word_sets
    )


def _odds(relevance: float) -> float:
    return relevance / max(1.0 - relevance, 1e-3)


def entry_of(hit: Remembered) -> str:
    """A memory as `render` shows it."""
    advice, title = ("AVOID", avoid_title(hit.title)) if hit.outcome is Outcome.FAILURE else ("DO", hit.title)
    record = track_record(hit)
    confidence = f"confidence {hit.confidence.mean:.2f}{record and f', {record}'}"
    if hit.trust is Trust.UNTRUSTED or is_unmarked(hit.memory.metadata, hit.content):
        kind = "says to avoid" if hit.outcome is Outcome.FAILURE else "claims"
        lines = [
            hit.title,
            *([f"When: {occasion(hit.description)}"] if hit.description else []),
            hit.content,
            *links_of(hit),
        ]
        claim = ", ".join((kind, *approvals_awaited(hit.memory), confidence))
        return envelope("\n".join(lines), hit.memory.origin, claim)
    # Comments and hidden elements stay where the words are believed: here they hide nothing.
    if FACT in hit.tags:
        note = ", names as they were listed" if hit.memory.metadata.get("kind") == FACT else ""
        heading = f"[KNOWN] {confidence}, from {plain_origin(hit.memory.origin)}{note}"
        return "\n".join([heading, memory_words(hit.content), *links_of(hit)])
    if SOLVED in hit.tags and hit.description:
        heading = f"[SOLVED BEFORE] {memory_words(hit.description)} ({confidence})"
        return "\n".join([heading, memory_words(hit.content), *links_of(hit)])
    lines = [f"[{advice}] {memory_words(title)} ({confidence}, from {plain_origin(hit.memory.origin)})"]
    if hit.description:
        lines.append(f"When: {memory_words(occasion(hit.description))}")
    lines += [memory_words(hit.content), *links_of(hit)]
    return "\n".join(lines)


def links_of(hit: Remembered) -> list[str]:
    """A sentence about what pulled it in, where something did, and one about what it contradicts, where it does."""
    if not isinstance(hit, Recalled):
        return []
    sentences = []
    if hit.pulled_in is not None:
        why = hit.pulled_in.relation.removeprefix("is ")
        sentences.append(f"{why[:1].upper()}{why[1:]} “{memory_words(hit.pulled_in.title)}”.")
    if hit.conflicts:
        titles = ", ".join(f"“{memory_words(clash.title)}”" for clash in hit.conflicts)
        sentences.append(f"Conflicts with {titles}: weigh them against each other.")
    return sentences
