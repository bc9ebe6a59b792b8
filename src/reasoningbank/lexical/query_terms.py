"""The words of a query as terms, and their weights among a tenant's memories.

Tells which frequencies are needed to weigh them; independent of who keeps these.
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
    """Rare words of the query that few memories hold."""
    exact: tuple[int, ...]
    """The term of the query as a whole text; none where it is empty."""
    content_words: int
    """Number of words, function words aside."""
    rows: int
    mean_length: float

    @property
    def queries(self) -> tuple[Mapping[int, float], Mapping[int, float], Mapping[int, float]]:
        """Queries to an index of words, each term with its weight: all words, the rare ones alone, the whole text."""
        rare = {term: self.weights[term] for term in self.rare if term in self.weights}
        return self.weights, rare, dict.fromkeys(self.exact, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTerms:
    """The terms of a query, before their frequencies are known."""

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
        """The terms whose frequencies decide the weights."""
        return list(dict.fromkeys((*self.times, *self.rare)))

    def weigh(self, rows: int, mean_length: float, holding: Mapping[int, int]) -> WeightedTerms:
        """The terms weighed for an index of `rows` memories; `holding` is how many of them hold each term."""
        terms = list(self.times)
        frequency = np.array([holding.get(term, 0) for term in terms], np.int64)
        weights, ceiling = weigh_terms(list(self.times.values()), frequency, rows)
        few = most_holders(rows)
        return WeightedTerms(
            weights={terms[i]: weight for i, weight in weights.items()},
            ceiling=ceiling,
            rare=tuple(term for term in self.rare if holding.get(term, 0) <= few),
            exact=self.exact,
            content_words=self.content_words,
            rows=rows,
            mean_length=mean_length,
        )
