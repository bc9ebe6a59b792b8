"""Worth of stepping back from repeats, in a bank in which everything is stored several times, a little changed.

Counts how many different answers the first five hits hold and whether the right one is still among them, with and
without diversification. Every memory is as old and as trusted as every other, so only the order is at stake.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.ranking import profiles
from reasoningbank.wiring import ReasoningBank
from reasoningbank_eval.asking import catch_up
from reasoningbank_eval.sets import Document, LabelledSet, Question, draft_of

ORIGINALS = 150
COPIES = 4
QUESTIONS = 100
SHOWN = 5
_WORDS_PER_EDIT = 60
BY_RELEVANCE = "relevance alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    set: str
    embedder: str
    order: str
    """A profile, or `relevance alone`: the default profile's relevance without diversification."""
    diversifies: bool
    distinct: float
    """Different originals among the first five, on average."""
    right: float
    """Share of the questions with a right one among the first five."""
    first: float
    """Share of the questions with a right one in the first place."""
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Originals, each to be stored `COPIES` times, and questions that some of them answer."""

    originals: Sequence[int]
    questions: Sequence[Question]


def crowd_of(dataset: LabelledSet, seed: int) -> Crowd:
    rng = Random(f"{seed} {dataset.name}")  # noqa: S311 - a repeatable choice, not a secret
    candidates = [question for question in dataset.questions if question.relevant]
    questions = rng.sample(candidates, min(QUESTIONS, len(candidates)))
    originals = dict.fromkeys(rng.choice(sorted(question.relevant)) for question in questions)
    remaining = [position for position in range(len(dataset.documents)) if position not in originals]
    filling = rng.sample(remaining, min(len(remaining), max(0, ORIGINALS - len(originals))))
    return Crowd(originals=[*originals, *filling], questions=questions)


def changed(text: str, rng: Random) -> str:
    """The same thing said a little differently: a word dropped, two swapped, one said twice, or a word put before."""
    words = text.split()
    for _ in range(1 + len(words) // _WORDS_PER_EDIT):
        if len(words) < 3:
            return f"{text} please"
        at = rng.randrange(len(words) - 1)
        match rng.randrange(4):
            case 0:
                del words[at]
            case 1:
                words[at], words[at + 1] = words[at + 1], words[at]
            case 2:
                words.insert(at, words[at])
            case _:
                words.insert(0, rng.choice(("please", "also", "well", "now")))
    return " ".join(words)


def repeats(bank: ReasoningBank, dataset: LabelledSet, embedder: str, seed: int) -> list[Repeats]:
    """Fill an empty bank with a crowd of the set and ask."""
    crowd = crowd_of(dataset, seed)
    rng = Random(f"{seed} copies of {dataset.name}")  # noqa: S311 - a repeatable choice, not a secret
    original_of: dict[str, int] = {}
    for original in crowd.originals:
        document = dataset.documents[original]
        copies = [document, *(_copy(document, rng) for _ in range(COPIES - 1))]
        for memory_id in bank.record_many([draft_of(copy) for copy in copies]):
            original_of[memory_id] = original
    catch_up(bank)
    orders: dict[str, list[list[int]]] = {BY_RELEVANCE: [], **{profile: [] for profile in profiles()}}
    for question in crowd.questions:
        own = tuple(memory_id for memory_id, original in original_of.items() if original == question.own)
        for profile in profiles():
            result = bank.search(
                question.text, limit=SHOWN, floor=0.0, min_confidence=0.0, profile=profile, exclude=own
            )
            orders[profile].append([original_of[hit.id] for hit in result.memories])
        many = bank.search(question.text, limit=SHOWN * COPIES, floor=0.0, min_confidence=0.0, exclude=own)
        by_relevance = sorted(many.memories, key=lambda hit: -hit.relevance)
        orders[BY_RELEVANCE].append([original_of[hit.id] for hit in by_relevance[:SHOWN]])
    return [
        _counted(dataset, embedder, order, answers, crowd.questions) for order, answers in orders.items() if answers
    ]


def _copy(document: Document, rng: Random) -> Document:
    content = changed(document.content, rng)
    title = content if document.title == document.content else changed(document.title, rng)
    return Document(title=title, content=content)


def _counted(
    dataset: LabelledSet,
    embedder: str,
    order: str,
    answers: Sequence[Sequence[int]],
    questions: Sequence[Question],
) -> Repeats:
    count = len(answers)
    pairs = list(zip(answers, questions, strict=True))
    return Repeats(
        set=dataset.name,
        embedder=embedder,
        order=order,
        diversifies=order in profiles() and profiles()[order].diversifies,
        distinct=sum(len(set(answer)) for answer in answers) / count,
        right=sum(any(original in question.relevant for original in answer) for answer, question in pairs) / count,
        first=sum(answer[:1] != [] and answer[0] in question.relevant for answer, question in pairs) / count,
        questions=count,
    )
