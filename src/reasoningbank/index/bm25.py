"""What the words of a query say about every slot.

Knows BM25 over segments and tail. Refuses to know filters: the caller masks the result. Rows that are dead may count in
the document frequencies until compaction: a frequency is a hint about a word. Other tenants' rows never do, since from
the score of a word one could tell whether they use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reasoningbank.index.entries import UNITS
from reasoningbank.index.policy import KEYWORDS, KeywordPolicy
from reasoningbank.index.segments import Segment, Tail

Scores = NDArray[np.float32]


def score(
    scores: Scores,
    query: Mapping[int, int],
    segments: Sequence[Segment],
    tail: Tail,
    mean_length: float,
    policy: KeywordPolicy = KEYWORDS,
    *,
    own: NDArray[np.bool_] | None = None,
) -> float:
    """Fill `scores`, one for each row, and return what a short row with every term would have: 0 when no row has any.

    Terms that no row has count in that ceiling too: a query of which half is unknown is half met at best. Where not all
    rows are one tenant's, `own` says which are.
    """
    rows = len(scores)
    scores.fill(0.0)
    if not query or not rows:
        return 0.0
    terms = np.array(sorted(query), np.uint32)
    in_tail = tail.find(terms)
    found = [segment.find(terms) for segment in segments]
    if own is None:
        frequency = np.array([len(positions) for positions in in_tail], np.int64)
        for start, stop in found:
            frequency += stop - start
    else:
        rows = int(np.count_nonzero(own))
        frequency = _own_frequency(own, segments, found, tail, in_tail)
    chosen = _worth_scoring(frequency, rows, policy)
    if not len(chosen):
        return 0.0

    rarity: list[float] = np.log1p((rows - frequency + 0.5) / (frequency + 0.5)).tolist()
    worth_of = [query[term] * (policy.k1 + 1) * rarity[i] for i, term in enumerate(terms.tolist())]
    weights = {i: worth_of[i] for i in chosen.tolist()}
    ceiling: float = sum(weights.values()) + sum(worth_of[i] for i in np.flatnonzero(frequency == 0).tolist())
    # Weights and lengths are in half units; so is the part of the denominator that does not depend on the term.
    base = np.float32(UNITS * policy.k1 * (1 - policy.b))
    slope = np.float32(policy.k1 * policy.b * UNITS / max(mean_length, 1e-9))
    for segment, (start, stop) in zip(segments, found, strict=True):
        here = scores[segment.first : segment.last]
        starts, stops = start.tolist(), stop.tolist()
        norms = segment.lengths * slope + base
        for i, worth in weights.items():
            if stops[i] > starts[i]:
                postings = segment.postings(starts[i], stops[i])
                _add(here, postings >> np.uint32(8), postings & np.uint32(255), norms, worth)
    here = scores[tail.first : tail.last]
    norms = tail.lengths * slope + base
    for i, worth in weights.items():
        at = in_tail[i]
        if len(at):
            _add(here, tail.slots[at] - np.uint32(tail.first), tail.weights[at], norms, worth)
    return ceiling


def _own_frequency(
    own: NDArray[np.bool_],
    segments: Sequence[Segment],
    found: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    tail: Tail,
    in_tail: Sequence[NDArray[np.int64]],
) -> NDArray[np.int64]:
    frequency = np.array([np.count_nonzero(own[tail.slots[at]]) for at in in_tail], np.int64)
    for segment, (start, stop) in zip(segments, found, strict=True):
        here = own[segment.first : segment.last]
        for i, (first, last) in enumerate(zip(start.tolist(), stop.tolist(), strict=True)):
            if last > first:
                frequency[i] += np.count_nonzero(here[segment.postings(first, last) >> np.uint32(8)])
    return frequency


def _add(
    scores: Scores,
    slots: NDArray[np.uint32],
    weights: NDArray[np.uint32] | NDArray[np.uint8],
    norms: Scores,
    worth: float,
) -> None:
    amount = weights.astype(np.float32)
    below = norms[slots]
    below += amount
    amount /= below
    amount *= np.float32(worth)
    # A slot occurs once in the postings of a term, so adding through an index loses nothing.
    scores[slots] += amount


def _worth_scoring(frequency: NDArray[np.int64], rows: int, policy: KeywordPolicy) -> NDArray[np.int64]:
    present = np.flatnonzero(frequency)
    if rows >= policy.common_from_rows:
        rare = present[frequency[present] <= policy.common_share * rows]
        present = rare if len(rare) else present
    if len(present) > policy.most_terms_per_query:
        present = np.sort(present[np.argsort(frequency[present], kind="stable")[: policy.most_terms_per_query]])
    return present
