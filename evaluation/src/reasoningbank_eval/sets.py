"""A labelled set, whatever it was made from: documents, questions, and which answer which.

Measures by name, and which of them a kind of set is judged by; independent of files and banks. A document is named by
its position in the set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from random import Random

from reasoningbank import Draft
from reasoningbank.core.drafts import MAX_TITLE_CHARS
from reasoningbank.core.frozen import dataclass


class Kind(StrEnum):
    DOCUMENTS = "documents"
    """Claims or questions and the documents that answer them, with graded labels."""
    INTENTS = "intents"
    """Short texts of one intent each; a neighbour of the same intent is right."""
    SCOPE = "scope"
    """Intents, and questions that fit none of them, for which nothing should be found."""
    STREAM = "stream"
    """Tasks in the order in which they come; an earlier one of the same template is right."""
    NOTES = "notes"
    """Short notes, and questions in other words that each of them answers."""
    LEFT_OUT = "left out"
    """Questions about groups; another question of the same group is right, itself does not count."""


NDCG, RECALL, TOP1, HIT5 = "nDCG@10", "recall@10", "top-1", "hit@5"
ROC, F1, PRECISION, ACCEPTED = "ROC area", "F1", "precision", "accepted"

MEASURES: Mapping[Kind, tuple[str, ...]] = {
    Kind.DOCUMENTS: (NDCG, RECALL),
    Kind.INTENTS: (TOP1, HIT5),
    Kind.SCOPE: (ROC, F1, PRECISION, ACCEPTED, TOP1),
    Kind.STREAM: (TOP1, HIT5),
    Kind.NOTES: (TOP1, HIT5),
    Kind.LEFT_OUT: (TOP1, HIT5),
}
"""The first is the one that a set is judged by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    title: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    relevant: Mapping[int, float]
    """Position of a document and its gain. Empty when nothing answers it."""
    own: int | None = None
    """The document that is this very question: it must not come back, and in a stream it and those after it are not
    there yet."""
    in_scope: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet:
    name: str
    kind: Kind
    documents: Sequence[Document]
    questions: Sequence[Question]
    about: str
    """A sentence on what was read and what was left out."""


def answerable(dataset: LabelledSet) -> int:
    return sum(1 for question in dataset.questions if question.relevant)


def sampled(dataset: LabelledSet, most: int | None, seed: int) -> LabelledSet:
    """At most so many of the questions, by chance but always the same ones, in their order. Documents all stay.

    Questions in scope and out of it keep their proportion.
    """
    if most is None or len(dataset.questions) <= most:
        return dataset
    rng = Random(f"{seed} {dataset.name}")  # noqa: S311 - a repeatable choice, not a secret
    indices = sorted(rng.sample(range(len(dataset.questions)), most))
    return replace(dataset, questions=tuple(dataset.questions[i] for i in indices))


def draft_of(document: Document) -> Draft:
    """A document as a memory: title and content; a text without a title is its own."""
    title = " ".join(document.title.split())[:MAX_TITLE_CHARS] or " ".join(document.content.split())[:MAX_TITLE_CHARS]
    return Draft(title=title or "(empty)", content=document.content or title or "(empty)")


def grouped(labels: Sequence[str]) -> dict[str, dict[int, float]]:
    """The positions that carry each label, as gains of one."""
    by_label: dict[str, dict[int, float]] = {}
    for position, label in enumerate(labels):
        by_label.setdefault(label, {})[position] = 1.0
    return by_label
