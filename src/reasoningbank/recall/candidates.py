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

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.frozen import replace
from reasoningbank.core.types import Scope, State
from reasoningbank.lexical.entries import entries_of
from reasoningbank.lexical.forms import likeness, pack
from reasoningbank.lexical.postings import Postings
from reasoningbank.lexical.query_terms import QueryTerms, WeightedTerms
from reasoningbank.ports import FILTER_PARTS, Candidates, Filter, Halves, Index, Probe, Vectors, Words
from reasoningbank.recall.index_follower import Follower
from reasoningbank.recall.neighbours import places_beside, turns_beside
from reasoningbank.recall.reach import is_allowed

if TYPE_CHECKING:
    from reasoningbank.ports import Floats


def find_candidates(index: Index, probe: Probe, follower: Follower) -> Candidates:
    """The memories that may answer, with what ranking needs of each."""
    if index.fused is not None:
        return index.fused.search(probe)
    candidates = _gather_candidates(index.halves, probe, follower)
    if not candidates.ids and not probe.where.tags:
        # Positions are remembered for a moment: nothing may be said to be there only because it was. And what the
        # search went by counts, though the index may have been asked again since.
        position = follower.seen_position() or index.position
        if index.halves.words.position.applied < max(position.applied, index.position.applied):
            raise BankDamaged("It was removed, or begun anew, a moment ago.")
    return candidates


def vectors_of(index: Index, candidates: Candidates, rows: Sequence[int]) -> Floats:
    """The vectors of some candidates, a row for each; zeros where there is none."""
    if index.fused is not None:
        return index.fused.vectors_of(candidates, rows)
    ids = [candidates.ids[row] for row in rows]
    vectors, none = index.halves.vectors.fetch(ids), np.zeros(index.identity.dimension, np.float32)
    return np.array([vectors.get(memory_id, none) for memory_id in ids], np.float32).reshape(len(ids), -1)


def _gather_candidates(halves: Halves, probe: Probe, follower: Follower) -> Candidates:
    """Candidates from two halves that know nothing of each other."""
    where, depth = probe.where, probe.depth
    terms = weigh_words(probe.text, where.tenant, halves.words)
    near, vector = _nearest(halves.vectors, probe)
    by_words, by_name, by_text = _holders(halves.words, terms, where, depth)
    union = dict.fromkeys((*near, *by_words, *probe.also, *by_name, *by_text))
    # The halves may be a moment behind the records, and these are what is shown.
    rows = {i: memory for i, memory in follower.rows(list(union)).items() if is_allowed(memory, where)}
    beside = turns_beside(follower.store, rows, where) if "memory" in follower.kinds else {}
    rows |= {turn.id: turn for pair in beside.values() for turn in pair if turn is not None}
    ids, memories = list(rows), list(rows.values())
    form, parametric = likeness(probe.text, pack([(memory.title, memory.description) for memory in memories]))
    standings = follower.standings(rows)
    total, filtered_out = _count_by_part(halves.words, where)
    is_exhausted = len(near) < depth and len(by_words) < depth
    return Candidates(
        ids=ids,
        cosine=_cosines(halves.vectors, ids, near, vector),
        **Postings.of(entries_of(memories)).columns(terms),
        form=form,
        parametric=parametric,
        beside=places_beside(ids, beside),
        scopes=[memory.scope for memory in memories],
        standings=[standings[memory_id] for memory_id in ids],
        exhausted=is_exhausted or len(ids) == total,
        considered=total,
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
    cosines = dict(near)
    lacking = [memory_id for memory_id in ids if memory_id not in near]
    if vector is not None and lacking:
        rows = vectors.fetch(lacking)
        cosines |= {i: float(row @ vector) / max(float(np.linalg.norm(row)), 1e-12) for i, row in rows.items()}
    return np.array([cosines.get(memory_id, math.nan) for memory_id in ids], np.float32)


# ---------------------------------------------------------------- words


def weigh_words(text: str, tenant: str, words: Words) -> WeightedTerms:
    """The words of a question, and what each is worth among a tenant's memories."""
    question = QueryTerms.of(text)
    frequencies = words.frequencies(tenant, question.needed)
    return question.weigh(
        frequencies.rows, frequencies.mean_length, dict(zip(question.needed, frequencies.holding, strict=True))
    )


def _holders(words: Words, terms: WeightedTerms, where: Filter, depth: int) -> list[list[str]]:
    """Ids of the memories that hold the words of a query, its rare words, the whole of it."""
    questions = terms.queries
    return words.search(questions, where, depth) if depth > 0 and any(questions) else [[] for _ in questions]


def _count_by_part(words: Words, where: Filter) -> tuple[int, dict[str, int]]:
    """How many memories pass the filter, and how many of the tenant's each part of it removed."""
    filters = {"": Filter(tenant=where.tenant, scopes=tuple(Scope), states=tuple(State))}
    for name, fields in FILTER_PARTS.items():
        widest = list(filters.values())[-1]
        narrower = replace(widest, **{field: getattr(where, field) for field in fields})
        if narrower != widest:
            filters[name] = narrower
    remaining = words.counts(list(filters.values()))
    steps = zip(list(filters)[1:], remaining, remaining[1:], strict=False)
    return remaining[-1], {name: before - after for name, before, after in steps if after < before}
