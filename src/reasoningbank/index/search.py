"""Searches one snapshot of the index: names, vectors, keywords.

The two sides, vectors and keywords, are searched here and put together. Independent of how they are fused or ranked:
every candidate carries both scores, whichever side found it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass
from reasoningbank.index.bm25 import score
from reasoningbank.index.changes import find, slots_with
from reasoningbank.index.content import Snapshot
from reasoningbank.index.masks import SCOPES, Mask, Passed
from reasoningbank.index.neighbours import with_neighbours
from reasoningbank.index.rows import BLOCK_ROWS, Slots, blocks_for
from reasoningbank.index.vectors import QueryForms, cosines, gather_room, nearest
from reasoningbank.lexical.bm25 import max_idf
from reasoningbank.lexical.entries import query_terms
from reasoningbank.lexical.forms import likeness
from reasoningbank.lexical.hashing import exact_term
from reasoningbank.lexical.rare_words import find_rare_terms, most_holders
from reasoningbank.ports import Candidates, Probe

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scratch:
    """Buffers of one search at a time, kept between searches."""

    masks: tuple[Mask, Mask]
    distances: NDArray[np.uint16]
    scores: Floats
    room: NDArray[np.uint8]

    @classmethod
    def of(cls, rows: int) -> Scratch:
        room = blocks_for(rows + rows // 8 + 1) * BLOCK_ROWS
        return cls(
            (np.empty(room, np.bool_), np.empty(room, np.bool_)),
            np.empty(room, np.uint16),
            np.empty(room, np.float32),
            gather_room(),
        )

    def fits(self, rows: int) -> bool:
        return len(self.scores) >= blocks_for(rows) * BLOCK_ROWS


def search(snapshot: Snapshot, probe: Probe, scratch: Scratch, handle_base: int) -> Candidates:
    """Search a snapshot. Handles are slots with `handle_base`, which has none of their bits, laid over them."""
    rows, header = snapshot.rows, snapshot.header
    selection = snapshot.masks.passed(probe.where, rows, snapshot.segments, snapshot.tail, scratch.masks)
    scores = scratch.scores[: header.rows]
    query = query_terms(probe.text)
    vector_query = _vector_query(probe.vector, snapshot)
    shares, exact = _slots_by_words(snapshot, probe, selection)
    if selection.considered and probe.depth > 0:
        by_vector, cosine = _nearest(snapshot, vector_query, probe.depth, selection.mask, scratch)
        ceiling, shares_worth = score(
            scores,
            query,
            snapshot.segments,
            snapshot.tail,
            mean_length(snapshot, selection),
            own=selection.own,
            rare_terms=shares.terms,
            holders=shares.slots,
        )
        by_keyword = best_slots(scores, selection.mask, probe.depth, scratch.masks[0]) if ceiling else _NONE
    else:
        scores.fill(0.0)
        ceiling, shares_worth = 0.0, np.empty(0, np.float32)
        by_vector = by_keyword = _NONE
        cosine = np.empty(0, np.float32)
    candidate_slots = dict.fromkeys(
        (
            *by_vector.tolist(),
            *by_keyword.tolist(),
            *(of_id[-1] for of_id in find(snapshot, probe.also).values() if selection.mask[of_id[-1]]),
            *shares.best(shares_worth, probe.depth),
            *exact,
        )
    )
    slots, beside = with_neighbours(np.fromiter(candidate_slots, np.int64), rows, selection.mask)
    form, parametric = likeness(probe.text, rows.take("form", slots))
    is_exhausted = len(by_vector) < probe.depth and len(by_keyword) < probe.depth
    return Candidates(
        ids=rows.ids(slots),
        cosine=np.concatenate((cosine, _cosines(snapshot, vector_query, slots[len(by_vector) :], scratch))),
        keyword=scores[slots],
        keyword_ceiling=ceiling,
        form=form,
        parametric=parametric,
        rarest_word=max_idf(own_rows(snapshot, selection)),
        named=shares.at(slots),
        exact=_flags(slots, exact),
        beside=beside,
        scopes=[SCOPES[number] for number in rows.take("scope", slots).tolist()],
        standings=rows.standings(slots),
        handles=slots | handle_base,
        exhausted=is_exhausted or len(slots) == selection.considered,
        considered=selection.considered,
        filtered_out=selection.filtered_out,
    )


_SAMPLED_ROWS = 4096
_NONE: Slots = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class NamedShares:
    """Slots that hold rare words of a query, in order, and the share of its words that each holds."""

    slots: Slots
    share: NDArray[np.float64]
    terms: frozenset[int]
    """Terms of those words."""

    def best(self, worth: Floats, depth: int) -> list[int]:
        """The slots whose rare words are worth most, the older first among equals."""
        slots: list[int] = self.slots[(-worth).argsort(kind="stable")[:depth]].tolist()
        return slots

    def at(self, slots: Slots) -> Floats:
        if not len(self.slots):
            return np.zeros(len(slots), np.float32)
        place = np.minimum(self.slots.searchsorted(slots), len(self.slots) - 1)
        return np.where(self.slots[place] == slots, self.share[place], 0.0).astype(np.float32)


_NO_SHARES = NamedShares(_NONE, np.empty(0, np.float64), frozenset())


def _slots_by_words(snapshot: Snapshot, probe: Probe, selection: Passed) -> tuple[NamedShares, list[int]]:
    """Slots that hold rare words of the query which few of the tenant's memories hold; and slots whose text is it."""
    if not selection.considered or probe.depth <= 0 or not probe.text.strip():
        return _NO_SHARES, []
    rare, words = find_rare_terms(probe.text)
    *holding, whole = slots_with(snapshot, np.append(rare, np.uint32(exact_term(probe.text))))
    exact: list[int] = whole[selection.mask[whole]][: probe.depth].tolist()
    return _slots_named(snapshot, rare, holding, words, selection) if holding else _NO_SHARES, exact


def _slots_named(
    snapshot: Snapshot, rare: NDArray[np.uint32], holding: Sequence[Slots], words: int, selection: Passed
) -> NamedShares:
    slots, term = np.concatenate(holding), np.repeat(np.arange(len(holding)), [len(slots) for slots in holding])
    # An edited memory leaves a dead slot with the same word behind: it must not make the word common.
    own = snapshot.rows.take("alive", slots) == 1
    if selection.own is not None:
        own &= selection.own[slots]
    slots, term = slots[own], term[own]
    few = most_holders(own_rows(snapshot, selection))
    held_by_few = np.bincount(term, minlength=len(holding)) <= few
    holders, times = np.unique(slots[held_by_few[term] & selection.mask[slots]], return_counts=True)
    return NamedShares(holders, np.minimum(times / words, 1.0), frozenset(rare[held_by_few].tolist()))


def _flags(slots: Slots, members: Sequence[int]) -> NDArray[np.bool_]:
    return np.isin(slots, members) if members else np.zeros(len(slots), np.bool_)


def own_rows(snapshot: Snapshot, selection: Passed) -> int:
    """Number of the tenant's rows: their words tell how rare a word is."""
    return snapshot.header.rows if selection.own is None else int(np.count_nonzero(selection.own))


def mean_length(snapshot: Snapshot, selection: Passed) -> float:
    """Mean length of the tenant's rows, in half units."""
    header = snapshot.header
    return header.length / max(1, header.rows) if selection.own is None else selection.mean_length


def _vector_query(vector: Floats | None, snapshot: Snapshot) -> QueryForms | None:
    """The query's vector in all its forms; None if nothing is asked that has a direction."""
    if vector is None:
        return None
    flat = np.asarray(vector, np.float32).reshape(-1)
    length = float(np.linalg.norm(flat))
    return QueryForms(flat / np.float32(length), snapshot.rotation) if 0 < length < math.inf else None


def _nearest(
    snapshot: Snapshot, vector_query: QueryForms | None, depth: int, mask: Mask, scratch: Scratch
) -> tuple[Slots, Floats]:
    vector_count = snapshot.header.embedded
    if vector_query is None or not vector_count:
        return _NONE, np.empty(0, np.float32)
    return nearest(snapshot.vectors, mask[:vector_count], vector_query, depth, scratch.distances, scratch.room)


def _cosines(snapshot: Snapshot, vector_query: QueryForms | None, slots: Slots, scratch: Scratch) -> Floats:
    similarities = np.full(len(slots), np.nan, np.float32)
    there = (slots < snapshot.header.embedded).nonzero()[0]
    if len(there) and vector_query is not None:
        similarities[there] = cosines(snapshot.vectors, slots[there], vector_query.half, scratch.room)
    return similarities


def best_slots(scores: Floats, mask: Mask, depth: int, spare: Mask) -> Slots:
    """The `depth` best slots with a score that the mask lets through, older first among equals."""
    hits = spare[: len(scores)]
    for floor in (_likely_floor(scores, mask, depth), np.float32(0)):
        np.greater(scores, floor, out=hits)
        hits &= mask
        if np.count_nonzero(hits) >= depth:
            break
    slots = hits.nonzero()[0]
    hit_scores = scores[slots]
    if len(slots) > depth:
        cut = np.partition(hit_scores, len(hit_scores) - depth)[len(hit_scores) - depth]
        keep = hit_scores >= cut
        slots, hit_scores = slots[keep], hit_scores[keep]
    return slots[(-hit_scores).argsort(kind="stable")[:depth]]


def _likely_floor(scores: Floats, mask: Mask, depth: int) -> np.float32:
    """A score that more than `depth` rows probably exceed, judged by every so many rows; a hint that saves sorting."""
    stride = len(scores) // _SAMPLED_ROWS
    above = 4 + 2 * depth // max(1, stride)
    if stride < 2 or above >= _SAMPLED_ROWS:
        return np.float32(0)
    sample = scores[::stride] * mask[::stride]
    # Most rows share no word with the query, and sorting equals takes longest.
    sample = sample[sample > 0]
    if len(sample) <= above:
        return np.float32(0)
    return np.float32(np.partition(sample, len(sample) - above)[len(sample) - above])
