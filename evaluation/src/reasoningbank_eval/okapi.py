"""Plain BM25 over lower-case words, without stems, fields or anything else: the yardstick of the evaluation.

Apart from the index on purpose, so that it stays the same while the index gets better.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reasoningbank_eval.sets import Document

K1 = 0.9
B = 0.4
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


class Okapi:
    def __init__(self, documents: Sequence[Document]) -> None:
        postings: dict[str, tuple[list[int], list[int]]] = {}
        lengths = []
        for position, document in enumerate(documents):
            counts = Counter(words(_text(document)))
            lengths.append(sum(counts.values()))
            for word, count in counts.items():
                at, often = postings.setdefault(word, ([], []))
                at.append(position)
                often.append(count)
        self._lengths = np.array(lengths, np.float64)
        self._postings = {w: (np.array(at), np.array(often, np.float64)) for w, (at, often) in postings.items()}

    def scores(self, text: str, before: int | None = None) -> NDArray[np.float64]:
        """One for each document, or for each of the first `before` as if there were no others."""
        there = len(self._lengths) if before is None else before
        totals = np.zeros(there)
        if not there:
            return totals
        norms = K1 * (1 - B + B * self._lengths[:there] / max(1e-9, float(self._lengths[:there].mean())))
        for word, often_asked in Counter(words(text)).items():
            if word not in self._postings:
                continue
            at, often = self._postings[word]
            frequency = int(np.searchsorted(at, there))
            at, often = at[:frequency], often[:frequency]
            rarity = np.log1p((there - frequency + 0.5) / (frequency + 0.5))
            totals[at] += often_asked * rarity * often * (K1 + 1) / (often + norms[at])
        return totals


def _text(document: Document) -> str:
    return document.content if document.title == document.content else f"{document.title} {document.content}"
