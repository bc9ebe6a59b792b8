"""BM25 scores of every slot for the words of a query.

Scores segments and tail. Independent of filters: the caller masks the result. Rows that are dead may count in the
document frequencies until compaction: a frequency is a hint about a word. Other tenants' rows never do, since from the
score of a word one could tell whether they use it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.index.rows import Slots
from reasoningbank.index.segments import Segment, Tail
from reasoningbank.lexical.bm25 import KEYWORDS, KeywordPolicy, length_terms, weigh_terms

Scores = NDArray[np.float32]
Integers = NDArray[np.integer[Any]]
_POSTINGS_AT_ONCE = 1 << 11
_NO_SCORES: Scores = np.empty(0, np.float32)


class LookedUp:
    """Postings of some terms in segments and tail, and how many rows have each term."""

    def __init__(
        self, terms: Sequence[int], segments: Sequence[Segment], tail: Tail, own: NDArray[np.bool_] | None
    ) -> None:
        """`terms` in order. Where not all rows are one tenant's, `own` says which are."""
        keys = np.array(terms, np.uint32)
        self._segments, self._tail = segments, tail
        self._in_tail = tail.find(keys)
        self._found = [segment.find(keys) for segment in segments]
        if own is None:
            self.frequency = np.array([len(positions) for positions in self._in_tail], np.int64)
            for start, stop in self._found:
                self.frequency += stop - start
        else:
            self.frequency = _own_frequency(own, segments, self._found, tail, self._in_tail)

    def add_to(
        self, scores: Scores, weights: Mapping[int, float], mean_length: float, policy: KeywordPolicy = KEYWORDS
    ) -> None:
        """Add to each row's score the weights of the terms that it has; `weights` has them by a term's place."""
        base, slope = length_terms(mean_length, policy)
        for segment, (start, stop) in zip(self._segments, self._found, strict=True):
            here = scores[segment.first : segment.last]
            starts, stops = start.tolist(), stop.tolist()
            spans = [
                (segment.postings(starts[i], stops[i]), worth) for i, worth in weights.items() if stops[i] > starts[i]
            ]
            for postings, worths in _together(spans):
                # As NumPy's own index type: it would convert them at every use.
                slots = (postings >> np.uint32(8)).astype(np.intp)
                _add(here, slots, postings & np.uint32(255), segment.lengths.take(slots) * slope + base, worths)
        tail, in_tail = self._tail, self._in_tail
        here = scores[tail.first : tail.last]
        for at, worths in _together([(in_tail[i], worth) for i, worth in weights.items() if len(in_tail[i])]):
            slots = tail.slots.take(at).astype(np.intp) - tail.first
            _add(here, slots, tail.weights.take(at), tail.lengths.take(slots) * slope + base, worths)


def score(
    scores: Scores,
    query: Mapping[int, int],
    segments: Sequence[Segment],
    tail: Tail,
    mean_length: float,
    *,
    own: NDArray[np.bool_] | None = None,
    rare_terms: Container[int] = (),
    holders: Slots | None = None,
) -> tuple[float, Scores]:
    """Fill `scores`, one for each row; returns the score of a short row with every term, 0 if no row has any, and
    what the `holders` have of the `rare_terms`.
    """
    rows = len(scores)
    scores.fill(0.0)
    if not query or not rows:
        return 0.0, _NO_SCORES
    terms = sorted(query)
    postings = LookedUp(terms, segments, tail, own)
    if own is not None:
        rows = int(np.count_nonzero(own))
    weights, ceiling = weigh_terms([query[term] for term in terms], postings.frequency, rows)
    first = {i: worth for i, worth in weights.items() if terms[i] in rare_terms}
    postings.add_to(scores, first, mean_length)
    of_named = _NO_SCORES if holders is None else scores[holders]
    postings.add_to(scores, {i: worth for i, worth in weights.items() if i not in first}, mean_length)
    return ceiling, of_named


def _together(spans: Sequence[tuple[Integers, float]]) -> Iterator[tuple[Integers, Scores | np.float32]]:
    """Groups of neighbours with few postings, and the weight of each: a step costs more than what they add. A long
    span comes alone, since to copy it would cost more than the step.
    """
    sizes = [len(span) for span, _ in spans]
    first = 0
    while first < len(spans):
        last, total = first + 1, sizes[first]
        while last < len(spans) and total + sizes[last] <= _POSTINGS_AT_ONCE:
            total += sizes[last]
            last += 1
        group = spans[first:last]
        if len(group) == 1:
            yield group[0][0], np.float32(group[0][1])
        else:
            worths = np.array([worth for _, worth in group], np.float32)
            yield np.concatenate([span for span, _ in group]), np.repeat(worths, sizes[first:last])
        first = last


def _own_frequency(
    own: NDArray[np.bool_],
    segments: Sequence[Segment],
    ranges: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    tail: Tail,
    in_tail: Sequence[NDArray[np.int64]],
) -> NDArray[np.int64]:
    frequency = np.array([np.count_nonzero(own[tail.slots[at]]) for at in in_tail], np.int64)
    for segment, (start, stop) in zip(segments, ranges, strict=True):
        here = own[segment.first : segment.last]
        for i, (first, last) in enumerate(zip(start.tolist(), stop.tolist(), strict=True)):
            if last > first:
                frequency[i] += np.count_nonzero(here[segment.postings(first, last) >> np.uint32(8)])
    return frequency


def _add(
    scores: Scores,
    slots: NDArray[np.intp],
    weights: Integers,
    below: Scores,
    worths: Scores | np.float32,
) -> None:
    """Add the scores of one term. `below`, the part of the denominator that is the same for all terms, is used up."""
    amount = weights.astype(np.float32)
    below += amount
    amount /= below
    amount *= worths
    np.add.at(scores, slots, amount)
