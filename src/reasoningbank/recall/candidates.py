"""Puts candidates together: what either half of an index finds, with every column that ranking needs.

    vectors ─┐
    words   ─┼─ union → rows of the records → cosine, BM25, rare words, form, neighbours, evidence
    ids     ─┘

An index that has a quicker way of its own (`FusedSearch`) is asked for that. Otherwise the halves only say which
memories come up: rows, evidence and form are read from the records, so the answer is as exact whoever keeps the
vectors and the words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.types import Memory, Scope, State
from reasoningbank.lexical.bm25 import length_terms, rarest_word, weigh_terms
from reasoningbank.lexical.entries import entries_of, query_terms
from reasoningbank.lexical.forms import likeness, pack
from reasoningbank.lexical.hashing import exact_term
from reasoningbank.lexical.rare_words import find_rare_terms, most_holders
from reasoningbank.ports import Candidates, Filter, Halves, Index, Probe, Vectors, Words
from reasoningbank.recall.index_follower import Follower
from reasoningbank.recall.neighbours import places_beside, turns_beside
from reasoningbank.recall.reach import is_allowed

if TYPE_CHECKING:
    from reasoningbank.ports import Floats


def find_candidates(index: Index, probe: Probe, follower: Follower) -> Candidates:
    """The memories that may answer, with what ranking needs of each."""
    return index.fused.search(probe) if index.fused is not None else gather_candidates(index.halves, probe, follower)


def vectors_of(index: Index, found: Candidates, rows: Sequence[int]) -> Floats:
    """The vectors of some candidates, a row for each; zeros where there is none."""
    if index.fused is not None:
        return index.fused.vectors_of(found, rows)
    ids = [found.ids[row] for row in rows]
    kept, none = index.halves.vectors.fetch(ids), np.zeros(index.identity.dimension, np.float32)
    return np.array([kept.get(memory_id, none) for memory_id in ids], np.float32).reshape(len(ids), -1)


def gather_candidates(halves: Halves, probe: Probe, follower: Follower) -> Candidates:
    """Candidates from two halves that know nothing of each other."""
    where, depth = probe.where, probe.depth
    asked = AskedWords.of(probe.text, where.tenant, halves.words)
    near, vector = _nearest(halves.vectors, probe)
    by_words = _holders(halves.words, asked.worths, where, depth)
    by_name = _holders(halves.words, dict.fromkeys(asked.rare, 1.0), where, depth)
    by_text = _holders(halves.words, dict.fromkeys(asked.whole, 1.0), where, depth)
    found = dict.fromkeys((*near, *by_words, *probe.also, *by_name, *by_text))
    # The halves may be a moment behind the records, and these are what is shown.
    rows = {i: memory for i, memory in follower.rows(list(found)).items() if is_allowed(memory, where)}
    beside = turns_beside(follower.store, rows, where) if "memory" in follower.kinds else {}
    rows |= {turn.id: turn for pair in beside.values() for turn in pair if turn is not None}
    ids, memories = list(rows), list(rows.values())
    words = HeldWords(memories)
    form, parametric = likeness(probe.text, pack([(memory.title, memory.description) for memory in memories]))
    standings = follower.standings(rows)
    considered, filtered_out = count_by_part(halves.words, where)
    ended = len(near) < depth and len(by_words) < depth
    return Candidates(
        ids=ids,
        cosine=_cosines(halves.vectors, ids, near, vector),
        keyword=words.scores(asked.worths, asked.mean_length),
        keyword_ceiling=asked.ceiling,
        form=form,
        parametric=parametric,
        rarest_word=rarest_word(asked.rows),
        named=np.minimum(words.counts(asked.rare) / np.float32(asked.meant), np.float32(1.0)),
        exact=words.counts(asked.whole) > 0,
        beside=places_beside(ids, beside),
        scopes=[memory.scope for memory in memories],
        standings=[standings[memory_id] for memory_id in ids],
        exhausted=ended or len(ids) == considered,
        considered=considered,
        filtered_out=filtered_out,
    )


# ---------------------------------------------------------------- vectors


def _nearest(vectors: Vectors, probe: Probe) -> tuple[dict[str, float], Floats | None]:
    """The nearest ids with their cosines, and the query at length one; None when it has no direction."""
    if probe.vector is None:
        return {}, None
    flat = np.asarray(probe.vector, np.float32).reshape(-1)
    length = float(np.linalg.norm(flat))
    if not 0 < length < math.inf:
        return {}, None
    vector = flat / np.float32(length)
    return dict(vectors.search(vector, probe.where, probe.depth) if probe.depth > 0 else ()), vector


def _cosines(vectors: Vectors, ids: Sequence[str], near: Mapping[str, float], vector: Floats | None) -> Floats:
    """NaN where there is no vector yet."""
    known = dict(near)
    if vector is not None:
        fetched = vectors.fetch([memory_id for memory_id in ids if memory_id not in near])
        known |= {i: float(kept @ vector) / max(float(np.linalg.norm(kept)), 1e-12) for i, kept in fetched.items()}
    return np.array([known.get(memory_id, math.nan) for memory_id in ids], np.float32)


# ---------------------------------------------------------------- words


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWords:
    """The words of a query as terms, and what each is worth among a tenant's memories."""

    worths: Mapping[int, float]
    ceiling: float
    rare: tuple[int, ...]
    """Terms that were meant, being rare, and that few memories hold."""
    whole: tuple[int, ...]
    """The term of the query as a whole text; none where it is empty."""
    meant: int
    """How many words it has, function words aside."""
    rows: int
    mean_length: float

    @classmethod
    def of(cls, text: str, tenant: str, words: Words) -> AskedWords:
        query = query_terms(text)
        terms = sorted(query)
        rare, meant = find_rare_terms(text)
        known = words.frequencies(tenant, [*terms, *rare.tolist()])
        holding = np.array(known.holding, np.int64)
        weights, ceiling = weigh_terms([query[term] for term in terms], holding[: len(terms)], known.rows)
        few = most_holders(known.rows)
        return cls(
            worths={terms[i]: worth for i, worth in weights.items()},
            ceiling=ceiling,
            rare=tuple(t for t, many in zip(rare.tolist(), holding[len(terms) :].tolist(), strict=True) if many <= few),
            whole=(exact_term(text),) if text.strip() else (),
            meant=meant,
            rows=known.rows,
            mean_length=known.mean_length,
        )


def _holders(words: Words, worths: Mapping[int, float], where: Filter, depth: int) -> list[str]:
    return words.search(worths, where, depth) if worths and depth > 0 else []


class HeldWords:
    """The terms that rows hold, asked for a few terms at a time."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        entries = entries_of(memories)
        self._rows = len(memories)
        self._terms, self._weights = entries.packed["term"], entries.packed["weight"]
        self._lengths = entries.lengths
        self._holder = np.repeat(np.arange(len(memories)), entries.counts)

    def scores(self, worths: Mapping[int, float], mean_length: float) -> Floats:
        """BM25 of each row."""
        base, slope = length_terms(mean_length)
        scores = np.zeros(self._rows, np.float32)
        for term, worth in worths.items():
            at = self._terms == term
            holder, weight = self._holder[at], self._weights[at].astype(np.float32)
            scores[holder] += np.float32(worth) * weight / (weight + base + slope * self._lengths[holder])
        return scores

    def counts(self, terms: Sequence[int]) -> Floats:
        """How many of the terms each row holds."""
        at = np.isin(self._terms, np.array(terms, np.uint32))
        return np.bincount(self._holder[at], minlength=self._rows).astype(np.float32)


def count_by_part(words: Words, where: Filter) -> tuple[int, dict[str, int]]:
    """How many memories pass the filter, and how many of the tenant's each part of it removed."""
    asked = Filter(tenant=where.tenant, scopes=tuple(Scope), states=tuple(State))
    left, removed = words.count(asked), dict[str, int]()
    for name, fields in _PARTS:
        narrower = replace(asked, **{field: getattr(where, field) for field in fields})
        if narrower != asked:
            asked, before, left = narrower, left, words.count(narrower)
            if left < before:
                removed[name] = before - left
    return left, removed


_PARTS = (
    ("namespace", ("namespace", "team")),
    ("scope", ("scopes",)),
    ("outcome", ("outcome",)),
    ("state", ("states",)),
    ("tags", ("tags",)),
    ("without_tags", ("without_tags",)),
    ("agent", ("agent",)),
    ("task_type", ("task_type",)),
)
"""The parts of a filter in the order in which they are counted, and their fields."""
