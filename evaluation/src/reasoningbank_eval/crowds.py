"""Questions with and without an answer, put to banks of growing size: is the right memory shown, and silence kept?

Each set is asked about a few of its documents, kept among more and more documents of other subjects. Three kinds of
questions: with an answer, of the same field without one, and about another subject. What an answer is worth is told by
`crowd_figures`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from random import Random

from reasoningbank.core.frozen import dataclass
from reasoningbank.wiring import ReasoningBank
from reasoningbank_eval.asking import Progress, catch_up
from reasoningbank_eval.plain import DEPTH
from reasoningbank_eval.sets import Document, Kind, LabelledSet, Question, draft_of
from reasoningbank_eval.subjects import Likeness

SIZES = (10, 40, 200, 1_000)
MOST_CORE = 40
"""Documents of the set itself; the rest are of other subjects."""
CORE_SHARE = 0.6
MOST_ASKED = 100
_RELATED_FROM = 0.25
"""Sets whose words are this much alike may be about the same thing..."""
_STRANGE_BELOW = 0.18
"""...and below this they are not: among what fills a bank nothing may answer a question about another subject."""


class Asked(StrEnum):
    ANSWERABLE = "with an answer"
    SAME_FIELD = "of the same field, without one"
    OTHER_SUBJECT = "about another subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Answer of a bank to one question."""

    asked: Asked
    relevance: float
    """Relevance of the best hit, whatever the floor; 0 without any."""
    cosine: float
    """The highest of all memories: what a bare vector search goes by."""
    right: bool
    """True if the best hit is a right one, whatever the floor."""
    shown: bool
    """True if the bank as it is shows anything."""
    right_shown: bool
    """True if what it shows first is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """The replies of one bank at one size."""

    set: str
    embedder: str
    memories: int
    replies: Sequence[Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdPlan:
    """Which documents come in which order, and what is asked."""

    labelled: LabelledSet
    core: Sequence[int]
    filler: Sequence[Document]
    strangers: Sequence[str]
    """Questions about another subject."""
    sizes: Sequence[int]


def plan_crowds(
    sets: Sequence[LabelledSet], likeness: Likeness, sizes: Sequence[int], seed: int
) -> Iterator[CrowdPlan]:
    """A plan for each set that has a document of its own for each question; streams grow by themselves."""
    for dataset in sets:
        if dataset.kind in (Kind.STREAM, Kind.LEFT_OUT):
            continue
        rng = Random(f"{seed} {dataset.name} crowd")  # noqa: S311 - a repeatable choice, not a secret
        positions = sorted({position for question in dataset.questions for position in question.relevant})
        core = rng.sample(positions, min(MOST_CORE, len(positions)))
        candidates = [
            other for other in sets if likeness[dataset.name, other.name] < _RELATED_FROM and other is not dataset
        ]
        asking = min(candidates, key=lambda other: likeness[dataset.name, other.name], default=None)
        filling = [
            o for o in candidates if asking and o is not asking and likeness[asking.name, o.name] < _STRANGE_BELOW
        ]
        filler = [document for other in filling for document in other.documents]
        rng.shuffle(filler)
        strangers = [question.text for question in (asking.questions if asking else ())]
        # Out of scope by their label, they are of no subject of the set.
        strangers += [question.text for question in dataset.questions if not question.in_scope]
        room = len(core) + len(filler)
        yield CrowdPlan(
            labelled=dataset,
            core=core,
            filler=filler,
            strangers=rng.sample(strangers, min(MOST_ASKED, len(strangers))),
            sizes=[size for size in sizes if size <= room],
        )


def ask_crowds(bank: ReasoningBank, plan: CrowdPlan, seed: int, progress: Progress) -> Iterator[Crowd]:
    """Fill an empty bank step by step and ask at every size."""
    position: dict[str, int] = {}
    filler_count = 0
    for size in plan.sizes:
        # More of the set itself where too little else is there to reach the size.
        core = plan.core[: max(1, round(CORE_SHARE * size), size - len(plan.filler))]
        fresh = core[len(position) :]
        ids = bank.record_many(draft_of(plan.labelled.documents[place]) for place in fresh)
        position |= dict(zip(ids, fresh, strict=True))
        bank.record_many(map(draft_of, plan.filler[filler_count : size - len(position)]))
        filler_count = max(filler_count, size - len(position))
        catch_up(bank)
        questions = list(_questions(plan, set(position.values()), seed))
        replies = []
        for number, (kind, question) in enumerate(questions):
            replies.append(_reply(bank, kind, question, position))
            progress(number + 1, len(questions))
        embedder = bank.status().embedder.name
        yield Crowd(set=plan.labelled.name, embedder=embedder, memories=size, replies=replies)


def _questions(plan: CrowdPlan, positions: set[int], seed: int) -> Iterator[tuple[Asked, Question]]:
    rng = Random(f"{seed} {plan.labelled.name} {len(positions)}")  # noqa: S311 - a repeatable choice, not a secret
    candidates = [question for question in plan.labelled.questions if question.relevant]
    with_answer = [question for question in candidates if positions & question.relevant.keys()]
    without = [question for question in candidates if not positions & question.relevant.keys()]
    for kind, questions in ((Asked.ANSWERABLE, with_answer), (Asked.SAME_FIELD, without)):
        yield from ((kind, question) for question in rng.sample(questions, min(MOST_ASKED, len(questions))))
    yield from ((Asked.OTHER_SUBJECT, Question(text=text, relevant={})) for text in plan.strangers)


def _reply(bank: ReasoningBank, kind: Asked, question: Question, position: Mapping[str, int]) -> Reply:
    def is_right(memory_id: str) -> bool:
        return position.get(memory_id) in question.relevant

    anything = bank.search(question.text, limit=1, floor=0.0, min_confidence=0.0).memories
    hits = bank.search(question.text, limit=1, min_confidence=0.0).memories
    cosines = bank.candidates(question.text, depth=DEPTH).cosine
    return Reply(
        asked=kind,
        relevance=anything[0].relevance if anything else 0.0,
        cosine=max((float(c) for c in cosines if c == c), default=0.0),  # noqa: PLR0124 - without those that are no number
        right=bool(anything) and is_right(anything[0].id),
        shown=bool(hits),
        right_shown=bool(hits) and is_right(hits[0].id),
    )
