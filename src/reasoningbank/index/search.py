"""Searches one snapshot of the index: names, vectors, keywords.

Knows how the two sides, vectors and keywords, are asked and put together. Refuses to know how they are fused or ranked:
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
    """A handle is a slot with `handle_base`, which has none of its bits, laid over it."""
    rows, header = snapshot.rows, snapshot.header
    passed = snapshot.masks.passed(probe.where, rows, snapshot.segments, snapshot.tail, scratch.masks)
    scores = scratch.scores[: header.rows]
    query = query_terms(probe.text)
    asked = _vector_query(probe.vector, snapshot)
    shares, exact = _slots_by_words(snapshot, probe, passed)
    if passed.considered and probe.depth > 0:
        by_vector, cosine = _nearest(snapshot, asked, probe.depth, passed.mask, scratch)
        ceiling, shares_worth = score(
            scores,
            query,
            snapshot.segments,
            snapshot.tail,
            mean_length(snapshot, passed),
            own=passed.own,
            named=shares.terms,
            holders=shares.slots,
        )
        by_keyword = best_slots(scores, passed.mask, probe.depth, scratch.masks[0]) if ceiling else _NONE
    else:
        scores.fill(0.0)
        ceiling, shares_worth = 0.0, np.empty(0, np.float32)
        by_vector = by_keyword = _NONE
        cosine = np.empty(0, np.float32)
    found = dict.fromkeys(
        (
            *by_vector.tolist(),
            *by_keyword.tolist(),
            *_asked_for(snapshot, probe, passed.mask),
            *shares.best(shares_worth, probe.depth),
            *exact,
        )
    )
    slots, beside = with_neighbours(np.fromiter(found, np.int64), rows, passed.mask)
    form, parametric = likeness(probe.text, rows.take("form", slots))
    ended = len(by_vector) < probe.depth and len(by_keyword) < probe.depth
    return Candidates(
        ids=rows.ids(slots),
        cosine=np.concatenate((cosine, _cosines(snapshot, asked, slots[len(by_vector) :], scratch))),
        keyword=scores[slots],
        keyword_ceiling=ceiling,
        form=form,
        parametric=parametric,
        rarest_word=max_idf(own_rows(snapshot, passed)),
        named=shares.at(slots),
        exact=_flags(slots, exact),
        beside=beside,
        scopes=[SCOPES[number] for number in rows.take("scope", slots).tolist()],
        standings=rows.standings(slots),
        handles=slots | handle_base,
        exhausted=ended or len(slots) == passed.considered,
        considered=passed.considered,
        filtered_out=passed.filtered_out,
    )


_SAMPLED_ROWS = 4096
_NONE: Slots = np.empty(0, np.int64)


def _asked_for(snapshot: Snapshot, probe: Probe, mask: Mask) -> list[int]:
    if not probe.also:
        return []
    return [slots[-1] for slots in find(snapshot, probe.also).values() if mask[slots[-1]]]


@dataclass(frozen=True, slots=True)
class NamedShares:
    """Slots that hold rare words of a query, in order, and what share of its words each holds."""

    slots: Slots
    share: NDArray[np.float64]
    terms: frozenset[int]
    """Of those words."""

    def best(self, worth: Floats, depth: int) -> list[int]:
        """The slots whose rare words are worth most, the older first among equals."""
        found: list[int] = self.slots[(-worth).argsort(kind="stable")[:depth]].tolist()
        return found

    def at(self, slots: Slots) -> Floats:
        if not len(self.slots):
            return np.zeros(len(slots), np.float32)
        place = np.minimum(self.slots.searchsorted(slots), len(self.slots) - 1)
        return np.where(self.slots[place] == slots, self.share[place], 0.0).astype(np.float32)


_NO_SHARES = NamedShares(_NONE, np.empty(0, np.float64), frozenset())


def _slots_by_words(snapshot: Snapshot, probe: Probe, passed: Passed) -> tuple[NamedShares, list[int]]:
    """All slots that hold rare words of the query which few of the tenant's memories hold; and those of which a whole
    text is the query.
    """
    if not passed.considered or probe.depth <= 0 or not probe.text.strip():
        return _NO_SHARES, []
    rare, words = find_rare_terms(probe.text)
    *holding, whole = slots_with(snapshot, np.append(rare, np.uint32(exact_term(probe.text))))
    exact: list[int] = whole[passed.mask[whole]][: probe.depth].tolist()
    return _slots_named(snapshot, rare, holding, words, passed) if holding else _NO_SHARES, exact


def _slots_named(
    snapshot: Snapshot, rare: NDArray[np.uint32], holding: Sequence[Slots], words: int, passed: Passed
) -> NamedShares:
    slots, term = np.concatenate(holding), np.repeat(np.arange(len(holding)), [len(slots) for slots in holding])
    # An edited memory leaves a dead slot with the same word behind: it must not make the word common.
    own = snapshot.rows.take("alive", slots) == 1
    if passed.own is not None:
        own &= passed.own[slots]
    slots, term = slots[own], term[own]
    few = most_holders(own_rows(snapshot, passed))
    held_by_few = np.bincount(term, minlength=len(holding)) <= few
    found, times = np.unique(slots[held_by_few[term] & passed.mask[slots]], return_counts=True)
    return NamedShares(found, np.minimum(times / words, 1.0), frozenset(rare[held_by_few].tolist()))


def _flags(slots: Slots, held: Sequence[int]) -> NDArray[np.bool_]:
    return np.isin(slots, held) if held else np.zeros(len(slots), np.bool_)


def own_rows(snapshot: Snapshot, passed: Passed) -> int:
    """The tenant's rows: whose words tell how rare a word is."""
    return snapshot.header.rows if passed.own is None else int(np.count_nonzero(passed.own))


def mean_length(snapshot: Snapshot, passed: Passed) -> float:
    """Of the tenant's rows, in half units."""
    header = snapshot.header
    return header.length / max(1, header.rows) if passed.own is None else passed.mean_length


def _vector_query(vector: Floats | None, snapshot: Snapshot) -> QueryForms | None:
    """None when nothing is asked that has a direction."""
    if vector is None:
        return None
    flat = np.asarray(vector, np.float32).reshape(-1)
    length = float(np.linalg.norm(flat))
    return QueryForms(flat / np.float32(length), snapshot.rotation) if 0 < length < math.inf else None


def _nearest(
    snapshot: Snapshot, asked: QueryForms | None, depth: int, mask: Mask, scratch: Scratch
) -> tuple[Slots, Floats]:
    embedded = snapshot.header.embedded
    if asked is None or not embedded:
        return _NONE, np.empty(0, np.float32)
    return nearest(snapshot.vectors, mask[:embedded], asked, depth, scratch.distances, scratch.room)


def _cosines(snapshot: Snapshot, asked: QueryForms | None, slots: Slots, scratch: Scratch) -> Floats:
    found = np.full(len(slots), np.nan, np.float32)
    there = (slots < snapshot.header.embedded).nonzero()[0]
    if len(there) and asked is not None:
        found[there] = cosines(snapshot.vectors, slots[there], asked.half, scratch.room)
    return found


def best_slots(scores: Floats, mask: Mask, depth: int, spare: Mask) -> Slots:
    """The `depth` best slots with a score that the mask lets through, older first among equals."""
    hits = spare[: len(scores)]
    for floor in (_likely_floor(scores, mask, depth), np.float32(0)):
        np.greater(scores, floor, out=hits)
        hits &= mask
        if np.count_nonzero(hits) >= depth:
            break
    slots = hits.nonzero()[0]
    found = scores[slots]
    if len(slots) > depth:
        cut = np.partition(found, len(found) - depth)[len(found) - depth]
        keep = found >= cut
        slots, found = slots[keep], found[keep]
    return slots[(-found).argsort(kind="stable")[:depth]]


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
