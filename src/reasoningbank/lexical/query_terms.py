"""The words of a question as terms, and what each is worth among a tenant's memories.

Knows which frequencies must be known before anything can be weighed. Refuses to know who keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reasoningbank.core.frozen import dataclass
from reasoningbank.lexical.bm25 import weigh_terms
from reasoningbank.lexical.entries import query_terms
from reasoningbank.lexical.hashing import exact_term
from reasoningbank.lexical.rare_words import find_rare_terms, most_holders


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedTerms:
    """Weights of the terms of a query among a tenant's memories."""

    weights: Mapping[int, float]
    ceiling: float
    rare: tuple[int, ...]
    """Terms that were content_words, being rare, and that few memories hold."""
    exact: tuple[int, ...]
    """The term of the question as a exact text; none where it is empty."""
    content_words: int
    """How many words it has, function words aside."""
    rows: int
    mean_length: float

    @property
    def queries(self) -> tuple[Mapping[int, float], Mapping[int, float], Mapping[int, float]]:
        """Queries to an index of words, each term with its weight: all the words, the rare ones alone, the exact
        text.
        """
        rare = {term: self.weights[term] for term in self.rare if term in self.weights}
        return self.weights, rare, dict.fromkeys(self.exact, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """The terms of a question, before anybody has said how rare they are."""

    times: Mapping[int, int]
    """How often it has each of its words, by term, in order."""
    rare: tuple[int, ...]
    """Terms that a text does not hold by chance."""
    exact: tuple[int, ...]
    content_words: int

    @classmethod
    def of(cls, text: str) -> QueryTerms:
        query = query_terms(text)
        rare, content_words = find_rare_terms(text)
        return cls(
            times={term: query[term] for term in sorted(query)},
            rare=tuple(rare.tolist()),
            exact=(exact_term(text),) if text.strip() else (),
            content_words=content_words,
        )

    @property
    def needed(self) -> list[int]:
        """The terms whose frequencies decide what each is worth."""
        return list(dict.fromkeys((*self.times, *self.rare)))

    def weigh(self, rows: int, mean_length: float, holding: Mapping[int, int]) -> WeightedTerms:
        """Among so many rows, of which so many hold each term."""
        terms = list(self.times)
        frequency = np.array([holding.get(term, 0) for term in terms], np.int64)
        weights, ceiling = weigh_terms(list(self.times.values()), frequency, rows)
        few = most_holders(rows)
        return WeightedTerms(
            weights={terms[i]: worth for i, worth in weights.items()},
            ceiling=ceiling,
            rare=tuple(term for term in self.rare if holding.get(term, 0) <= few),
            exact=self.exact,
            content_words=self.content_words,
            rows=rows,
            mean_length=mean_length,
        )
