"""An index made of any two halves: follows the feed for vectors and words that know nothing of it.

Knows that words come first and vectors follow, that each half remembers how far it has come, and that everything may
be given again. What is owed is read off the feed: a memory that changed after the vectors' position awaits its vector.
So nothing is kept here, and whoever dies half-way leaves nothing in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import TYPE_CHECKING

from reasoningbank.core.types import EmbedderIdentity, Memory, Op
from reasoningbank.lexical.entries import entries_of
from reasoningbank.ports import Halves, IndexBatch, IndexInfo, IndexPosition, Store, WordRow
from reasoningbank.recall.index_follower import Follower, mark_of

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

CHANGES_PER_PAGE = 2_000


class TwoHalves:
    fused = None
    upkeep = None

    def __init__(self, halves: Halves, store: Store, kind: type[Follower]) -> None:
        """`kind` says of which records it is, and what they say."""
        self._halves = halves
        self._store = store
        self._kind = kind

    @property
    def identity(self) -> EmbedderIdentity:
        return self._halves.vectors.identity

    @property
    def halves(self) -> Halves:
        return self._halves

    @property
    def position(self) -> IndexPosition:
        words, vectors = self._halves.words.position, self._halves.vectors.position
        return IndexPosition(applied=words.applied, mark=words.mark, stamp=(words.applied, vectors.applied))

    def info(self) -> IndexInfo:
        return IndexInfo(
            kind="halves",
            memories=self._halves.words.count(),
            awaiting_vectors=len(self._awaiting(None)[0]),
            applied=self.position.applied,
            bytes_on_disk=0,
        )

    def writing(self, *, wait_s: float) -> AbstractContextManager[bool]:
        return self._halves.writing(wait_s)

    def apply(self, batch: IndexBatch) -> None:
        vectors, words = self._halves.vectors, self._halves.words
        memories = [memory for memory, _ in (*batch.added, *batch.revised)]
        reached = IndexPosition(applied=batch.applied, mark=batch.mark)
        owes = bool(memories) or bool(self.awaiting_vectors(1))
        # A revised memory is found by its words alone until it has the vector of what it says now.
        if stale := [*batch.erased, *(memory.id for memory, _ in batch.revised)]:
            vectors.delete(stale)
        if batch.erased:
            words.delete(batch.erased)
        if memories:
            words.upsert(word_rows(memories))
        if batch.applied > words.position.applied:
            words.advance(reached)
            if not owes:
                vectors.advance(reached)

    def awaiting_vectors(self, limit: int) -> list[str]:
        return self._awaiting(limit)[0]

    def embed(self, ids: Sequence[str], vectors: Floats) -> None:
        awaiting, reached = self._awaiting(len(ids))
        if awaiting != list(ids):
            # Brought forward by somebody else meanwhile: asking again is cheaper than guessing.
            return
        memories = self._kind.rows_of(self._store, ids)
        # A vector of zeros has no direction: it is said of a text without words, and of what is gone.
        given = [
            (memories[i], vector) for i, vector in zip(ids, vectors, strict=True) if i in memories and vector.any()
        ]
        if given:
            self._halves.vectors.upsert(given)
        self._halves.vectors.advance(reached)

    def _awaiting(self, limit: int | None) -> tuple[list[str], IndexPosition]:
        """Ids of memories that changed since the vectors' position, and how far in the feed that is."""
        reached, upto = self._halves.vectors.position, self._halves.words.position.applied
        ids: dict[str, None] = {}
        while reached.applied < upto and (changes := self._store.changes(reached.applied, CHANGES_PER_PAGE)):
            for change in changes:
                is_owed = change.kind in self._kind.kinds and change.op is not Op.REMOVE
                if change.seq > upto or (is_owed and len(ids) == limit and change.id not in ids):
                    return list(ids), reached
                if is_owed:
                    ids[change.id] = None
                reached = IndexPosition(applied=change.seq, mark=mark_of(change))
        return list(ids), reached

    def clear(self) -> None:
        self._halves.vectors.clear()
        self._halves.words.clear()

    def close(self) -> None:
        self._halves.vectors.close()
        self._halves.words.close()


def word_rows(memories: Sequence[Memory]) -> list[WordRow]:
    """The terms of memories, as an index of words is given them."""
    entries = entries_of(memories)
    bounds = [0, *accumulate(entries.counts.tolist())]
    terms, weights = entries.packed["term"].tolist(), entries.packed["weight"].tolist()
    return [
        WordRow(memory=memory, terms=dict(zip(terms[first:last], weights[first:last], strict=True)), length=length)
        for memory, first, last, length in zip(memories, bounds, bounds[1:], entries.lengths.tolist(), strict=False)
    ]
