"""Scores lessons by their two facets: the advice (`key_lesson`) and when it applies (`context_to_prefer`).

    vectors of both, BM25 of the context alone; of a lesson that says no context, of all that it says

The index of memories keeps one vector for all that a memory says; it finds the lessons, and the few best are scored
again here. Their vectors are made when they are first needed and kept while the index is open.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from reasoningbank.core.digest import blake2b
from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.types import Memory
from reasoningbank.lexical.bm25 import max_idf
from reasoningbank.lexical.entries import entries_of
from reasoningbank.lexical.postings import Postings
from reasoningbank.ports import Candidates, Embedder, Probe, Words
from reasoningbank.recall.candidates import weigh_words
from reasoningbank.recall.relevance import Column, calibration_for, relevance_of, words_met

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

MOST_KEPT = 8_192


@dataclass(frozen=True, slots=True)
class ScoredLessons:
    relevance: Column
    lesson: Floats
    """Cosine of the advice."""
    context: Floats
    """Cosine of when it applies."""
    words: Floats
    """How much of the question's words, weighed by rarity, the context holds."""


class LessonFacets:
    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[bytes, Floats] = OrderedDict()
        """Vectors by a digest of the text, so that no text outlives its memory here."""

    def score(
        self, candidates: Candidates, rows: Sequence[int], memories: Mapping[str, Memory], probe: Probe, words: Words
    ) -> ScoredLessons:
        """Scores of the candidates in these rows, of which there is a memory each."""
        row_memories = [memories[candidates.ids[row]] for row in rows]
        lesson = self._cosines([memory.content for memory in row_memories], probe)
        context = self._cosines([memory.description for memory in row_memories], probe)
        terms = weigh_words(probe.text, probe.where.tenant, words)
        contexts = [
            replace(memory, title="", content="", tags=(), key=None) if memory.description.strip() else memory
            for memory in row_memories
        ]
        postings = Postings.of(entries_of(contexts))
        subset = replace(
            candidates,
            ids=[memory.id for memory in row_memories],
            cosine=np.maximum(lesson, context),
            keyword=postings.scores(terms.weights, terms.mean_length),
            keyword_ceiling=terms.ceiling,
            rarest_word=max_idf(terms.rows),
            form=candidates.form[list(rows)],
            parametric=candidates.parametric[list(rows)],
            named=candidates.named[list(rows)],
            exact=candidates.exact[list(rows)],
            beside=np.full((len(row_memories), 2), -1, np.int64),
        )
        relevance = relevance_of(subset, calibration_for(self._embedder().identity.name))
        return ScoredLessons(relevance, lesson, context, words_met(subset))

    def _cosines(self, texts: Sequence[str], probe: Probe) -> Floats:
        vectors = self._vectors([text for text in dict.fromkeys(texts) if text.strip()])
        if probe.vector is None or not vectors:
            return np.zeros(len(texts), np.float32)
        vector = np.asarray(probe.vector, np.float32).reshape(-1)
        none = np.zeros_like(vector)
        cosines: Floats = np.stack([vectors.get(text, none) for text in texts]) @ vector
        return cosines

    def _vectors(self, texts: Sequence[str]) -> dict[str, Floats]:
        digests = {text: blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts}
        vectors = {text: vector for text in texts if (vector := self._kept.get(digests[text])) is not None}
        if lacking := [text for text in texts if text not in vectors]:
            vectors.update(zip(lacking, self._embedder().embed(lacking), strict=True))
            self._kept.update((digests[text], vectors[text]) for text in lacking)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return vectors
