"""The terms that rows hold, scored for the terms of a question: BM25 of a few rows, to the digit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from reasoningbank.lexical.bm25 import length_terms, max_idf
from reasoningbank.lexical.entries import Entries
from reasoningbank.lexical.query_terms import WeightedTerms

Floats = NDArray[np.float32]


class WordColumns(TypedDict):
    """Columns of candidates by their words, named as in `Candidates`."""

    keyword: Floats
    keyword_ceiling: float
    rarest_word: float
    named: Floats
    exact: NDArray[np.bool_]


class Postings:
    def __init__(self, entries: NDArray[Any], counts: NDArray[np.int64], lengths: NDArray[Any]) -> None:
        """Term entries of rows one after the other, how many each row has, and how long each is."""
        self._rows = len(counts)
        self._terms, self._weights = entries["term"], entries["weight"]
        self._lengths = lengths
        self._holder = np.repeat(np.arange(len(counts)), counts)

    @classmethod
    def of(cls, entries: Entries) -> Postings:
        return cls(entries.packed, entries.counts, entries.lengths)

    def columns(self, terms: WeightedTerms) -> WordColumns:
        return WordColumns(
            keyword=self.scores(terms.weights, terms.mean_length),
            keyword_ceiling=terms.ceiling,
            rarest_word=max_idf(terms.rows),
            named=np.minimum(self.counts(terms.rare) / np.float32(terms.content_words), np.float32(1.0)),
            exact=self.counts(terms.exact) > 0,
        )

    def scores(self, weights: Mapping[int, float], mean_length: float) -> Floats:
        """BM25 of each row."""
        base, slope = length_terms(mean_length)
        scores = np.zeros(self._rows, np.float32)
        for term, worth in weights.items():
            at = self._terms == term
            holder, weight = self._holder[at], self._weights[at].astype(np.float32)
            scores[holder] += np.float32(worth) * weight / (weight + base + slope * self._lengths[holder])
        return scores

    def counts(self, terms: Sequence[int]) -> Floats:
        """How many of the terms each row holds."""
        at = np.isin(self._terms, np.array(terms, np.uint32))
        return np.bincount(self._holder[at], minlength=self._rows).astype(np.float32)
