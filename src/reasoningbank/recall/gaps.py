"""Knowledge gaps: which searches count, which questions are the same one, and which are still open.

Independent of how the log is kept (`recall.exposure_log` writes it, the store holds it). A gap that a later memory
answers is no gap any more, so every listing asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from reasoningbank.core.digest import blake2b
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.text import terms
from reasoningbank.core.types import EVERY_NAMESPACE, Gap
from reasoningbank.ports import Filter
from reasoningbank.recall.query import Query

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

MAX_QUESTION_CHARS = 500
MOST_READ_CHARS = 20_000
"""Characters of a question that are read; a whole file is known by its beginning."""
MOST_CHECKED = 200
"""Gaps that one listing asks again, the most frequent first; the others wait until those are answered or forgotten."""
SAME_FROM_COSINE = 0.9
"""Questions this near to each other are one gap in a listing."""
ASKING = frozenset(
    (
        *("a", "an", "and", "any", "are", "be", "can", "could", "did", "do", "does", "for", "from", "have", "how", "i"),
        *("in", "is", "it", "its", "me", "my", "of", "on", "or", "our", "please", "should", "tell", "that", "the"),
        *("there", "this", "to", "us", "was", "we", "what", "when", "where", "which", "who", "why", "will", "with"),
        *("would", "you", "your"),
    )
)
"""Words that make a question but not its subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGap:
    """One thing that is asked for in vain, however it was put."""

    id: str
    question: str
    """As it was asked most often."""
    others: tuple[str, ...]
    """Other ways in which it was asked."""
    times: int
    first_at: float
    last_at: float
    namespaces: tuple[str, ...]
    ids: tuple[str, ...]
    """Ids of every log line that belongs to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    open: tuple[OpenGap, ...]
    """Most asked first."""
    answered: int
    """Gaps for which something would be found by now."""
    unchecked: int
    """Gaps beyond those that one listing looks at."""


def is_a_gap(query: Query) -> bool:
    """A search that sets its own floor or leaves memories out does not ask what the bank knows."""
    return query.floor is None and not query.exclude


def beginning_of(text: str) -> str:
    """Cut between two words, since half a secret would not be recognised as one."""
    if len(text) <= MOST_READ_CHARS:
        return text
    whole = text[:MOST_READ_CHARS].rsplit(None, 1)
    return whole[0] if len(whole) > 1 else ""


def gap_of(question: str, where: Filter, now: float) -> Gap:
    """`question` holds no secret any more: what is kept, its name included, is made from nothing else."""
    namespace = where.namespace or EVERY_NAMESPACE
    excerpt = " ".join(question.split())[:MAX_QUESTION_CHARS]
    name = "\0".join((where.tenant, namespace, *subject_of(excerpt)))
    digest = blake2b(name.encode("utf-8", "replace"), digest_size=10).hexdigest()
    return Gap(
        id=f"gap_{digest}",
        tenant=where.tenant,
        namespace=namespace,
        question=excerpt,
        times=1,
        first_at=now,
        last_at=now,
    )


def subject_of(question: str) -> tuple[str, ...]:
    """The words that tell one question from another: once each, sorted, without those that only ask."""
    there = set(terms(question))
    return tuple(sorted(there - ASKING or there or {question.casefold()}))


def list_gaps(
    gaps: Sequence[Gap], found_for: Callable[[Gap], bool], embed: Callable[[Sequence[str]], Floats], limit: int
) -> Gaps:
    """`found_for` searches again without leaving a trace, `embed` gives the vectors of the questions."""
    by_weight = sorted(gaps, key=lambda gap: (-gap.times, -gap.last_at, gap.id))
    looked_at = by_weight[:MOST_CHECKED]
    still = [gap for gap in looked_at if not found_for(gap)]
    open_gaps = sorted(_merge(still, embed), key=lambda gap: (-gap.times, -gap.last_at, gap.id))
    return Gaps(
        open=tuple(open_gaps[:limit]),
        answered=len(looked_at) - len(still),
        unchecked=len(by_weight) - len(looked_at),
    )


def _merge(gaps: Sequence[Gap], embed: Callable[[Sequence[str]], Floats]) -> Iterator[OpenGap]:
    """Gaps of the same words, or nearly the same meaning, as one."""
    if not gaps:
        return
    vectors = embed([gap.question for gap in gaps])
    heads: list[int] = []
    members: dict[int, list[Gap]] = {}
    subjects = [subject_of(gap.question) for gap in gaps]
    for row, gap in enumerate(gaps):
        near = [
            head
            for head in heads
            if subjects[head] == subjects[row] or vectors[head] @ vectors[row] >= SAME_FROM_COSINE
        ]
        if near:
            members[near[0]].append(gap)
        else:
            heads.append(row)
            members[row] = [gap]
    for head, group in members.items():
        first = gaps[head]
        variants = dict.fromkeys(gap.question for gap in group if gap.question != first.question)
        yield OpenGap(
            id=first.id,
            question=first.question,
            others=tuple(variants),
            times=sum(gap.times for gap in group),
            first_at=min(gap.first_at for gap in group),
            last_at=max(gap.last_at for gap in group),
            namespaces=tuple(sorted({gap.namespace for gap in group})),
            ids=tuple(gap.id for gap in group),
        )


def asked_again(gap: Gap) -> Query:
    return replace(Query(text=gap.question, limit=1), namespace=gap.namespace)
