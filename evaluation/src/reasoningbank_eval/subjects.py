"""Distance of the subjects of labelled sets, told by their words.

A question about another subject must come from a set that has nothing to do with the bank it is put to. Independent of
banks and embedders, so that every embedder is asked the same questions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from reasoningbank.core.stem import stem
from reasoningbank.core.stopwords import STOP_WORDS
from reasoningbank.core.text import terms
from reasoningbank_eval.sets import LabelledSet

_SAMPLED_TEXTS = 300
_LONGEST_CHARS = 2_000
_STOPS = frozenset(stem(word) for word in STOP_WORDS)

Likeness = Mapping[tuple[str, str], float]


def find_likeness(sets: Sequence[LabelledSet]) -> Likeness:
    """The cosine of the words of every two sets, weighed by how few documents hold them."""
    counts_by_set = {dataset.name: _word_counts(dataset) for dataset in sets}
    holding: Counter[str] = Counter()
    documents = 0
    for counts, size in counts_by_set.values():
        holding.update(counts)
        documents += size
    weights = {
        name: {word: n / size * math.log(documents / holding[word]) for word, n in counts.items()}
        for name, (counts, size) in counts_by_set.items()
    }
    return {(name, other): _cosine(weights[name], weights[other]) for name in weights for other in weights}


def _word_counts(dataset: LabelledSet) -> tuple[Counter[str], int]:
    """In how many of some documents and questions each word occurs, and how many these are."""
    texts = [f"{document.title}\n{document.content}" for document in dataset.documents]
    questions = [question.text for question in dataset.questions if question.in_scope]
    looked_at = [text for group in (texts, questions) for text in group[:: max(1, len(group) // _SAMPLED_TEXTS)]]
    counts: Counter[str] = Counter()
    for text in looked_at:
        counts.update(set(terms(text[:_LONGEST_CHARS], stem=stem)) - _STOPS)
    return counts, max(1, len(looked_at))


def _cosine(vector: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = math.fsum(value * other[word] for word, value in vector.items() if word in other)
    length = math.sqrt(math.fsum(v * v for v in vector.values()) * math.fsum(v * v for v in other.values()))
    return product / length if length else 0.0
