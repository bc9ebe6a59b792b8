"""An index made of any two halves: follows the feed for vectors and words that know nothing of it.

Words come first and vectors follow, each half remembers how far it has come, and everything may be given again. What is
owed is read off the feed: a memory that changed after the vectors' position awaits its vector. So nothing is kept here,
and whoever dies half-way leaves nothing in doubt. Only the positions are remembered for a moment, as a search asks a
dozen times: whoever may write asks anew, and from then on knows what it wrote.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from reasoningbank.core.types import EmbedderIdentity, Op
from reasoningbank.lexical.word_rows import word_rows
from reasoningbank.ports import FusedSearch, Halves, IndexBatch, IndexInfo, IndexPosition, Store
from reasoningbank.recall.index_follower import Follower, mark_of

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

CHANGES_PER_PAGE = 2_000
POSITIONS_KEPT_S = 1.0
"""How long somebody who only searches goes by the positions that were read last. Others may have gone on meanwhile,
which the feed tells; or have begun the index anew, which a search then sees so much later."""


class _Positions(NamedTuple):
    words: IndexPosition
    vectors: IndexPosition


class TwoHalves:
    upkeep = None

    def __init__(self, halves: Halves, store: Store, kind: type[Follower]) -> None:
        """`kind` says of which records it is, and what they say."""
        self._halves = halves
        self._store = store
        self._kind = kind
        self._seen: tuple[_Positions, float] | None = None
        """The positions that were read last, by whomever, and when."""
        self._mine = threading.local()
        """State of the thread that may write: `held` are the positions, which nobody else changes."""

    @property
    def identity(self) -> EmbedderIdentity:
        return self._halves.vectors.identity

    @property
    def halves(self) -> Halves:
        return self._halves

    @property
    def fused(self) -> FusedSearch | None:
        return self._halves.joined

    @property
    def position(self) -> IndexPosition:
        if self._halves.joined is not None:
            return self._halves.joined.position
        words, vectors = self._positions()
        return IndexPosition(applied=words.applied, mark=words.mark, stamp=(words.applied, vectors.applied))

    def _positions(self) -> _Positions:
        positions: _Positions | None = getattr(self._mine, "held", None)
        if positions is not None:
            return positions
        latest, now = self._seen, time.monotonic()
        if latest is not None and now < latest[1] + POSITIONS_KEPT_S and not self._is_writing():
            return latest[0]
        read = _Positions(self._halves.words.position, self._halves.vectors.position)
        self._note(read)
        return read

    def _is_writing(self) -> bool:
        """True if this thread has the right to write."""
        return getattr(self._mine, "is_writing", False)

    def _note(self, positions: _Positions) -> None:
        self._seen = positions, time.monotonic()
        if self._is_writing():
            self._mine.held = positions

    def info(self) -> IndexInfo:
        return IndexInfo(
            kind="halves",
            memories=self._halves.words.count(),
            awaiting_vectors=len(self._awaiting(None)[0]),
            applied=self.position.applied,
            bytes_on_disk=0,
        )

    @contextmanager
    def writing(self, *, wait_s: float) -> Iterator[bool]:
        with self._halves.writing(wait_s) as is_writer:
            self._mine.is_writing = is_writer
            try:
                yield is_writer
            finally:
                self._mine.is_writing, self._mine.held = False, None

    def apply(self, batch: IndexBatch) -> None:
        vectors, words = self._halves.vectors, self._halves.words
        memories = [memory for memory, _ in (*batch.added, *batch.revised)]
        position = IndexPosition(applied=batch.applied, mark=batch.mark)
        owes = bool(memories) or bool(self.awaiting_vectors(1))
        # A revised memory is found by its words alone until it has the vector of what it says now.
        if stale := [*batch.erased, *(memory.id for memory, _ in batch.revised)]:
            vectors.delete(stale)
        if batch.erased:
            words.delete(batch.erased)
        if memories:
            words.upsert(word_rows(memories))
        if self._halves.joined is not None:
            standings = {memory.id: standing for memory, standing in (*batch.added, *batch.revised)}
            self._halves.joined.keep_standings({**batch.standings, **standings})
        before = self._positions()
        if batch.applied > before.words.applied:
            words.advance(position)
            if not owes:
                vectors.advance(position)
            self._note(_Positions(position, before.vectors if owes else position))

    def awaiting_vectors(self, limit: int) -> list[str]:
        return self._awaiting(limit)[0]

    def embed(self, ids: Sequence[str], vectors: Floats) -> None:
        awaiting, position = self._awaiting(len(ids))
        if awaiting != list(ids):
            # Brought forward by somebody else meanwhile: asking again is cheaper than guessing.
            return
        memories = self._kind.rows_of(self._store, ids)
        # A vector of zeros has no direction: it is said of a text without words, and of what is gone.
        entries = [
            (memories[i], vector) for i, vector in zip(ids, vectors, strict=True) if i in memories and vector.any()
        ]
        if entries:
            self._halves.vectors.upsert(entries)
        self._halves.vectors.advance(position)
        self._note(_Positions(self._positions().words, position))

    def _awaiting(self, limit: int | None) -> tuple[list[str], IndexPosition]:
        """Ids of memories that changed since the vectors' position, and how far in the feed that is."""
        positions = self._positions()
        position, upto = positions.vectors, positions.words.applied
        ids: dict[str, None] = {}
        while position.applied < upto and (changes := self._store.changes(position.applied, CHANGES_PER_PAGE)):
            for change in changes:
                is_owed = change.kind in self._kind.kinds and change.op is not Op.REMOVE
                if change.seq > upto or (is_owed and len(ids) == limit and change.id not in ids):
                    return list(ids), position
                if is_owed:
                    ids[change.id] = None
                position = IndexPosition(applied=change.seq, mark=mark_of(change))
        return list(ids), position

    def clear(self) -> None:
        self._halves.vectors.clear()
        self._halves.words.clear()
        self._note(_Positions(IndexPosition(), IndexPosition()))

    def close(self) -> None:
        self._halves.vectors.close()
        self._halves.words.close()
