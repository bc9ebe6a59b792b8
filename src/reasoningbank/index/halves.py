"""The embedded index as two halves, vectors and words, that are asked apart.

Both lie in the same rows: what one of them forgets is gone from the other, and a search of one half is a part of the
fused one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import BankBusy, InvalidInput
from reasoningbank.core.types import EmbedderIdentity, Memory, Standing
from reasoningbank.index.bm25 import LookedUp
from reasoningbank.index.changes import find
from reasoningbank.index.codes import widen
from reasoningbank.index.content import Content, Snapshot
from reasoningbank.index.masks import Passed
from reasoningbank.index.search import Scratch, best_slots, mean_length, own_rows
from reasoningbank.index.vectors import present
from reasoningbank.ports import Filter, Frequencies, FusedSearch, Index, IndexBatch, IndexPosition, Probe, WordRow

Floats = NDArray[np.float32]
_WRITE_WAIT_S = 10.0


class WholeIndex(Index, FusedSearch, Protocol):
    """An index in files that lets its halves look at its rows."""

    def latest_snapshot(self) -> tuple[Content, Snapshot]: ...

    def scratch(self, snapshot: Snapshot) -> AbstractContextManager[Scratch]: ...


class EmbeddedHalf:
    """Behaviour of both halves, since they are one index: they have come equally far in the feed, too."""

    def __init__(self, index: WholeIndex) -> None:
        self._index = index

    @property
    def position(self) -> IndexPosition:
        return self._index.position

    def advance(self, position: IndexPosition) -> None:
        self._apply(IndexBatch(applied=position.applied, mark=position.mark))

    def delete(self, ids: Sequence[str]) -> None:
        self._apply(IndexBatch(erased=ids, applied=self.position.applied))

    def clear(self) -> None:
        with self._index.writing(wait_s=_WRITE_WAIT_S) as has_lock:
            _require(has_lock)
            self._index.clear()

    def close(self) -> None:
        self._index.close()

    def _apply(self, batch: IndexBatch) -> None:
        with self._index.writing(wait_s=_WRITE_WAIT_S) as has_lock:
            _require(has_lock)
            self._index.apply(batch)


class EmbeddedVectors(EmbeddedHalf):
    @property
    def identity(self) -> EmbedderIdentity:
        return self._index.identity

    def upsert(self, rows: Sequence[tuple[Memory, Floats]]) -> None:
        """Store vectors. A memory whose text has not changed keeps the vector that it has."""
        index = self._index
        vectors = {memory.id: vector for memory, vector in rows}
        with index.writing(wait_s=_WRITE_WAIT_S) as has_lock:
            _require(has_lock)
            awaiting = index.awaiting_vectors(index.info().awaiting_vectors)
            ids = [memory_id for memory_id in awaiting if memory_id in vectors]
            if ids != awaiting[: len(ids)]:
                raise InvalidInput("Vectors are given in the order of the words of the same memories.")
            if ids:
                index.embed(ids, np.stack([vectors[memory_id] for memory_id in ids]))

    def search(self, vector: Floats, where: Filter, k: int) -> list[tuple[str, float]]:
        candidates = self._index.search(Probe(vector=vector, text="", where=where, depth=k))
        near = [
            (memory_id, cosine) for memory_id, cosine in zip(candidates.ids, candidates.cosine.tolist(), strict=True)
        ]
        return sorted((pair for pair in near if pair[1] == pair[1]), key=lambda pair: -pair[1])[:k]

    def fetch(self, ids: Sequence[str]) -> dict[str, Floats]:
        _, snapshot = self._index.latest_snapshot()
        vectors = snapshot.vectors
        slots = {i: of_id[-1] for i, of_id in find(snapshot, ids).items() if of_id[-1] < snapshot.header.embedded}
        at = np.array(list(slots.values()), np.int64)
        there = present(vectors.signs, at)
        present_ids = [memory_id for memory_id, is_there in zip(slots, there.tolist(), strict=True) if is_there]
        return dict(zip(present_ids, widen(vectors.full[at[there]]), strict=True))


class EmbeddedWords(EmbeddedHalf):
    def upsert(self, rows: Sequence[WordRow]) -> None:
        memories = [row.memory for row in rows]
        pairs = [(m, Standing(initial=m.initial_confidence, created_at=m.created_at)) for m in memories]
        self._apply(IndexBatch(revised=pairs, applied=self.position.applied))

    def search(self, queries: Sequence[Mapping[int, float]], where: Filter, k: int) -> list[list[str]]:
        _, snapshot = self._index.latest_snapshot()
        return [self._best(snapshot, terms, where, k) if snapshot.header.rows and terms else [] for terms in queries]

    def _best(self, snapshot: Snapshot, terms: Mapping[int, float], where: Filter, k: int) -> list[str]:
        with self._index.scratch(snapshot) as scratch:
            selection = _passed(snapshot, where, scratch)
            scores = scratch.scores[: snapshot.header.rows]
            scores.fill(0.0)
            keys = sorted(terms)
            postings = LookedUp(keys, snapshot.segments, snapshot.tail, selection.own)
            postings.add_to(scores, {i: terms[key] for i, key in enumerate(keys)}, mean_length(snapshot, selection))
            return snapshot.rows.ids(best_slots(scores, selection.mask, k, scratch.masks[0]))

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        _, snapshot = self._index.latest_snapshot()
        with self._index.scratch(snapshot) as scratch:
            selection = _passed(snapshot, Filter(tenant=tenant), scratch)
            keys = sorted(terms)
            postings = LookedUp(keys, snapshot.segments, snapshot.tail, selection.own)
            holding = dict(zip(keys, postings.frequency.tolist(), strict=True))
            return Frequencies(
                rows=own_rows(snapshot, selection),
                mean_length=mean_length(snapshot, selection),
                holding=[holding[term] for term in terms],
            )

    def counts(self, filters: Sequence[Filter]) -> list[int]:
        _, snapshot = self._index.latest_snapshot()
        with self._index.scratch(snapshot) as scratch:
            return [_passed(snapshot, where, scratch).considered for where in filters]

    def count(self) -> int:
        return self._index.info().memories


def _passed(snapshot: Snapshot, where: Filter, scratch: Scratch) -> Passed:
    return snapshot.masks.passed(where, snapshot.rows, snapshot.segments, snapshot.tail, scratch.masks)


def _require(has_lock: bool) -> None:
    if not has_lock:
        raise BankBusy("Another process is writing the index.")
