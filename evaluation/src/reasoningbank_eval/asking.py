"""Puts every question of a set to a real bank and keeps what each way of searching answered.

Banks by their public verbs; what an answer is worth is told by `scoring`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from reasoningbank import SearchResult
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.ranking import profiles
from reasoningbank.wiring import ReasoningBank
from reasoningbank_eval.okapi import Okapi
from reasoningbank_eval.plain import DEPTH, NOTHING, SHOWN, Ranking, best_of, plain_rankings
from reasoningbank_eval.sets import Kind, LabelledSet, Question, draft_of

PLAIN_WORDS = "bm25 unstemmed"
BASELINES = (PLAIN_WORDS, "bm25", "dense", "rrf", "mix")
DEFAULT_PROFILE = next(iter(profiles()))
HITS_JUDGED = 5
_EVERY = 25

Progress = Callable[[int, int], None]
"""Called with (done, total)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One set, asked with one embedder. Every sequence has an entry for each question, in order."""

    labelled: LabelledSet
    embedder: str
    rankings: Mapping[str, Sequence[Ranking]]
    """Rankings by method: the baselines, and `hybrid` with each profile."""
    accepted: Sequence[bool]
    """True for each question if the bank as shipped showed anything; empty for a set without questions out of scope."""
    hits: Sequence[Sequence[tuple[float, bool]]]
    """First hits of the default profile: the relevance that was shown, and whether it was right."""


def hybrid(profile: str) -> str:
    return f"hybrid {profile}"


@contextmanager
def bank_in(folder: Path, embedder: str) -> Iterator[ReasoningBank]:
    """A bank for measuring: it need not survive a power loss."""
    with ReasoningBank.open(
        folder / f"{embedder}.db", embedder=embedder, namespace="evaluation", durability="normal", config="none"
    ) as bank:
        yield bank


def catch_up(bank: ReasoningBank, progress: Progress | None = None) -> None:
    """Until everything can be found, however long the model takes."""
    while not bank.catch_up(progress=progress):
        pass


def plain_words(dataset: LabelledSet) -> list[Ranking]:
    """Rankings of unstemmed BM25; it has no embedder, so it is asked once."""
    okapi = Okapi(dataset.documents)
    growing = dataset.kind is Kind.STREAM
    return [best_of(okapi.scores(q.text, q.own if growing else None), q.own) for q in dataset.questions]


def asked(bank: ReasoningBank, dataset: LabelledSet, words: Sequence[Ranking], progress: Progress) -> Trial:
    """Fill an empty bank with the set and ask everything; in a stream the bank grows as the questions come."""
    growing = dataset.kind is Kind.STREAM
    drafts = [draft_of(document) for document in dataset.documents]
    ids = [] if growing else bank.record_many(drafts)
    catch_up(bank, progress)
    position = {memory_id: place for place, memory_id in enumerate(ids)}
    rankings: dict[str, list[Ranking]] = {name: [] for name in (*BASELINES[1:], *map(hybrid, profiles()))}
    acceptances: list[bool] = []
    hits: list[list[tuple[float, bool]]] = []
    for number, question in enumerate(dataset.questions):
        if growing and question.own is not None and question.own > len(position):
            for memory_id in bank.record_many(drafts[len(position) : question.own]):
                position[memory_id] = len(position)
                ids.append(memory_id)
        own = None if growing else question.own
        for name, ranking in plain_rankings(bank.candidates(question.text, depth=DEPTH), position, own).items():
            rankings[name].append(ranking)
        results = {profile: _search(bank, question, ids, own, profile) for profile in profiles()}
        for profile, answer in results.items():
            rankings[hybrid(profile)].append(_ranking(answer, position))
        if dataset.kind is Kind.SCOPE:
            acceptances.append(not bank.search(question.text, limit=1, min_confidence=0.0).abstained)
        hits.append(
            [
                (hit.relevance, position[hit.id] in question.relevant)
                for hit in results[DEFAULT_PROFILE].memories[:HITS_JUDGED]
            ]
        )
        if number % _EVERY == 0:
            progress(number, len(dataset.questions))
    return Trial(
        labelled=dataset,
        embedder=bank.status().embedder.name,
        rankings={PLAIN_WORDS: words, **rankings},
        accepted=acceptances,
        hits=hits,
    )


def _search(bank: ReasoningBank, question: Question, ids: Sequence[str], own: int | None, profile: str) -> SearchResult:
    exclude = () if own is None else (ids[own],)
    return bank.search(question.text, limit=SHOWN, floor=0.0, min_confidence=0.0, profile=profile, exclude=exclude)


def _ranking(result: SearchResult, position: Mapping[str, int]) -> Ranking:
    if not result.memories:
        return NOTHING
    return Ranking(positions=tuple(position[hit.id] for hit in result.memories), score=result.memories[0].relevance)
