"""Searches the newest records by their words, while the engine that keeps the index is away.

An index like any other to whoever searches, except that it is read off the records for one search. It has the vectors
of the best that words find, so that their relevance means what it always does; a search treats every other memory like
one whose vector is not made yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from reasoningbank.core.types import EmbedderIdentity, Memory, Scope
from reasoningbank.lexical.entries import entries_of
from reasoningbank.lexical.postings import Postings
from reasoningbank.ports import Embedder, Filter, Frequencies, Halves, IndexPosition, Store, Where, WordRow
from reasoningbank.recall.index_follower import text_to_embed
from reasoningbank.recall.reach import is_allowed

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

MOST_LOOKED_AT = 2_000
"""Memories that are read for a search: as many as take some tenths of a second."""
MOST_EMBEDDED = 24
"""Memories of these whose vectors are made for a search."""
_SHARED = (Scope.TEAM, Scope.ORG)


def scan_records(store: Store, embedder: Callable[[], Embedder], identity: EmbedderIdentity) -> Halves:
    """Both halves of an index that nobody has to keep, for one search."""
    words = RecordScan(store)
    return Halves(ScanVectors(words, embedder, identity), words, lambda _: nullcontext(False))


class _NothingKept:
    """A half that follows no feed, so that everything is owed to whoever asks."""

    position = IndexPosition()

    def advance(self, position: IndexPosition) -> None:
        """Nothing is kept."""

    def delete(self, ids: Sequence[str]) -> None:
        """Nothing is kept."""

    def clear(self) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""


class ScanVectors(_NothingKept):
    def __init__(self, words: RecordScan, embedder: Callable[[], Embedder], identity: EmbedderIdentity) -> None:
        self.identity = identity
        self._words, self._embedder = words, embedder
        self._made: dict[str, Floats] = {}

    def upsert(self, rows: Sequence[tuple[Memory, Floats]]) -> None:
        """Nothing is kept."""

    def search(self, vector: Floats, where: Filter, k: int) -> list[tuple[str, float]]:
        """Nothing: to compare them, all would have to be made."""
        del vector, where, k
        return []

    def fetch(self, ids: Sequence[str]) -> dict[str, Floats]:
        """The vectors of the first of these, which are the best by their words. None where making one has its price."""
        lacking = [i for i in ids if i not in self._made][: MOST_EMBEDDED - len(self._made)]
        memories = self._words.memories(lacking)
        if memories and not self._embedder().costly:
            vectors = self._embedder().embed([text_to_embed(memory) for memory in memories])
            self._made |= {memory.id: vector for memory, vector in zip(memories, vectors, strict=True) if vector.any()}
        return {i: self._made[i] for i in ids if i in self._made}


class RecordScan(_NothingKept):
    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked_in: set[tuple[str, str | None]] = set()
        self._memories: dict[str, Memory] = {}
        self._held: Postings | None = None
        self._lengths: Floats = np.zeros(0, np.float32)

    def upsert(self, rows: Sequence[WordRow]) -> None:
        """Nothing is kept."""

    def frequencies(self, tenant: str, terms: Sequence[int]) -> Frequencies:
        postings = self._read(tenant, None)
        holding = [int(postings.counts([term]).sum()) for term in terms]
        mean = float(self._lengths.mean()) if len(self._lengths) else 0.0
        return Frequencies(rows=len(self._memories), mean_length=mean, holding=holding)

    def search(self, queries: Sequence[Mapping[int, float]], where: Filter, k: int) -> list[list[str]]:
        postings = self._read(where.tenant, where.namespace)
        ids = list(self._memories)
        mask = np.array([is_allowed(memory, where) for memory in self._memories.values()], np.bool_)
        mean = float(self._lengths.mean()) if len(self._lengths) else 0.0
        hits: list[list[str]] = []
        for terms in queries:
            scores = postings.scores(terms, mean) * mask
            best = np.argsort(-scores, kind="stable")[:k]
            hits.append([ids[row] for row in best.tolist() if scores[row] > 0])
        return hits

    def memories(self, ids: Sequence[str]) -> list[Memory]:
        return [self._memories[i] for i in ids if i in self._memories]

    def counts(self, filters: Sequence[Filter]) -> list[int]:
        return [sum(is_allowed(memory, where) for memory in self._memories.values()) for where in filters]

    def count(self) -> int:
        return len(self._memories)

    def _read(self, tenant: str, namespace: str | None) -> Postings:
        """The words of a tenant's newest memories, and of the newest that a namespace may see, if those are others."""
        if (tenant, namespace) not in self._looked_in:
            is_all = bool(self._looked_in) and len(self._memories) < MOST_LOOKED_AT
            self._looked_in.add((tenant, namespace))
            if not is_all:
                self._look(tenant, namespace)
        if self._held is None:
            entries = entries_of(list(self._memories.values()))
            self._held, self._lengths = Postings.of(entries), entries.lengths.astype(np.float32)
        return self._held

    def _look(self, tenant: str, namespace: str | None) -> None:
        parts: list[Where] = [{}] if namespace is None else [{"namespace": namespace}, {"scope": _SHARED}]
        with self._store.read(tenant) as reader:
            for part in parts:
                newest = reader.select(Memory, part, newest_first=True, limit=MOST_LOOKED_AT)
                self._memories.update((memory.id, memory) for memory in newest)
        self._held = None
