"""Follows the feed and keeps an index in step with it.

Rows and keywords come first, so that a fresh memory can be found by its words at once, vectors after. Independent of
how the index keeps them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from reasoningbank.core.confidence import ConfidencePolicy, evidence_for
from reasoningbank.core.digest import blake2b
from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Change, EmbedderIdentity, Memory, Op, Signal, Standing
from reasoningbank.ports import Embedder, Index, IndexBatch, IndexPosition, Store, Writer
from reasoningbank.recall.index_progress import IndexProgress, Progress, count_changes

if TYPE_CHECKING:
    from reasoningbank.ports import Floats

CHANGES_PER_BATCH = 2_000
FEWEST_ROWS_PER_BATCH = 8
FEWEST_COSTLY_ROWS_PER_BATCH = 32
"""Rows for an embedder on another machine, where each call has its price whatever is in it."""
MOST_ROWS_PER_BATCH = 1_024
TARGET_BATCH_S = 0.2
"""How long somebody waits who has a better use for the index, or for this process: a batch is brought to its end."""
MOST_AT_HAND = 20_000
LARGE_CONTENT_CHARS = 2_000

Feed = Callable[[int, int], list[Change]]
"""As `Store.changes`."""
GiveWay = Callable[[], bool]
"""Asked after each batch; True ends the work for now."""


def text_to_embed(memory: Memory) -> str:
    """The text that the vector of a memory is made from: all that it says."""
    return _join(memory.title, memory.description, memory.content)


def _join(*parts: str) -> str:
    """Each part but those that a later one begins with, as a title often is the beginning of its content."""
    lines = [
        part for i, part in enumerate(parts) if part and not any(later.startswith(part) for later in parts[i + 1 :])
    ]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class FollowerPosition:
    """How far an index is, as of one commit."""

    of_index: IndexPosition
    owes: bool
    """True if vectors are lacking, or rows are in doubt."""


class Follower:
    kinds = frozenset({"memory"})
    """The kinds of records that the index is of."""
    weighs_evidence = True
    """True if signals say something about its rows."""
    facet = "text"
    """The part of a memory that a vector is made from, as the records call it that keep vectors: here all that it
    says.
    """

    def __init__(
        self,
        store: Store,
        index: Index,
        embedder: Callable[[], Embedder],
        policy: ConfidencePolicy,
        *,
        feed: Feed | None = None,
        changes_per_batch: int = CHANGES_PER_BATCH,
    ) -> None:
        """`feed` is where the changes come from, if not straight from the store."""
        self.store = store
        self._feed = feed or store.changes
        self.index = index
        self.embedder = embedder
        self.policy = policy
        self._changes_per_batch = changes_per_batch
        self._at_hand: dict[str, Memory] = {}
        """Memories that were just absorbed, so that embedding them needs no second look: bounded, for one run only."""
        self._kept_position: FollowerPosition | None = None
        self.begins = False
        """True if it has found the index empty, so that all of it was built."""
        self._counting = threading.Lock()
        self._wanted = 0
        """Threads that wait for the right to write the index."""

    @staticmethod
    def rows_of(store: Store, ids: Sequence[str]) -> dict[str, Memory]:
        """Rows that an index should hold of these ids."""
        return store.unscoped(Memory, ids)

    def rows(self, ids: Sequence[str]) -> dict[str, Memory]:
        return self.rows_of(self.store, ids)

    def lag(self) -> int:
        """Changes that the index has not seen, plus memories whose vectors it still lacks."""
        return count_changes(self.store, self.index.position.applied) + self.index.info().awaiting_vectors

    def is_astray(self) -> bool:
        """True if the index followed another history: the records were put back from a backup, or replaced, or a
        power loss took the last ones.
        """
        position = self._position().of_index
        return position.applied > 0 and not _holds(self.store.changes(position.applied - 1, 1), position)

    def _changes(self, limit: int, position: IndexPosition | None = None) -> list[Change]:
        """The changes that the index, being at `position`, has not seen. Raises `BankDamaged` where the last one it saw
        is not there.
        """
        position = position or self._position().of_index
        if position.applied == 0:
            return self._feed(0, limit)
        changes = self._feed(position.applied - 1, 1 + limit)
        if _holds(changes, position):
            return changes[1:]
        raise BankDamaged("The index followed another history than that of the records; build the index again.")

    def _position(self) -> FollowerPosition:
        """Asked once for each commit: what is owed takes a look at every row."""
        index = self.index
        while (position := self._kept_position) is None or position.of_index.stamp != index.position.stamp:
            now = index.position
            owes = bool(index.awaiting_vectors(1) or self._in_doubt())
            # Another process may have brought it forward between the questions.
            if index.position.stamp == now.stamp:
                self._kept_position = FollowerPosition(now, owes)
        return position

    def seen_position(self) -> IndexPosition | None:
        """Where the index was when it was looked at last; None where it was not."""
        return None if self._kept_position is None else self._kept_position.of_index

    def _in_doubt(self) -> list[str]:
        upkeep = self.index.upkeep
        return [] if upkeep is None else upkeep.in_doubt()

    def catch_up(
        self,
        *,
        budget_s: float,
        wait_s: float = 0.25,
        progress: Progress | None = None,
        give_way: GiveWay | None = None,
    ) -> bool:
        """Follow the feed for at most about `budget_s`; True when the index is then up to date.

        With `give_way` this is work for an idle hour: it also ends when another thread wants to write the index.
        """
        return self.caught_up_to(budget_s=budget_s, wait_s=wait_s, progress=progress, give_way=give_way) is not None

    def caught_up_to(
        self,
        *,
        budget_s: float,
        wait_s: float = 0.25,
        progress: Progress | None = None,
        give_way: GiveWay | None = None,
    ) -> int | None:
        """As `catch_up`; the last change that is in the index, or None when it lags behind."""
        if (seq := self.seen_all()) is not None:
            return seq
        deadline = time.monotonic() + budget_s

        def is_over() -> bool:
            must_yield = give_way is not None and (self._wanted > 0 or give_way())
            return must_yield or time.monotonic() > deadline

        with self.writing(wait_s) as is_writer:
            if not is_writer:
                # Somebody else is bringing the index forward right now.
                return self.seen_all()
            return self.follow(is_over, progress)

    def follow(
        self, is_over: Callable[[], bool], progress: Progress | None = None, *, most_vectors: int | None = None
    ) -> int | None:
        """As `caught_up_to`, for whoever has the right to write the index already. With `most_vectors`, none is made
        when more are owed, or when they cost something.
        """
        index_progress = IndexProgress(progress, self.lag() if progress is not None else 0)
        try:
            if ids := self._in_doubt():
                self.index.apply(self.as_they_are(ids))
            is_done = (
                self._absorb(is_over, index_progress)
                and self._may_embed(most_vectors)
                and self._embed(is_over, index_progress)
            )
            return self.index.position.applied if is_done else None
        finally:
            self._at_hand.clear()

    def on(self, index: Index, changes_per_batch: int) -> Follower:
        """The same for another index of the same records."""
        return type(self)(
            self.store, index, self.embedder, self.policy, feed=self._feed, changes_per_batch=changes_per_batch
        )

    @contextmanager
    def writing(self, wait_s: float) -> Iterator[bool]:
        """The right to write the index. Whoever works in an idle hour sees that somebody waits for it."""
        with ExitStack() as stack:
            with self._counting:
                self._wanted += 1
            try:
                is_writer = stack.enter_context(self.index.writing(wait_s=wait_s))
            finally:
                with self._counting:
                    self._wanted -= 1
            yield is_writer

    def seen_all(self, head: IndexPosition | None = None) -> int | None:
        """The last change, when it is in the index and nothing is owed; None otherwise.

        `head` is that of the feed, where it was seen just now.
        """
        position = self._position()
        of_index = position.of_index
        is_at_head = head is not None and (of_index.applied, of_index.mark) == (head.applied, head.mark)
        if position.owes or (not is_at_head and self._changes(1, of_index)):
            return None
        return of_index.applied

    # ------------------------------------------------------------ rows and keywords

    def _absorb(self, is_over: Callable[[], bool], progress: IndexProgress) -> bool:
        first = self.index.position.applied
        self.begins |= first == 0
        while changes := self._changes(self._changes_per_batch):
            self.index.apply(self._batch(changes))
            seq = self.index.position.applied
            progress.note_words(seq - first, self.store.head() - first)
            if is_over():
                return seq >= self.store.head()
        return True

    def _batch(self, changes: Sequence[Change]) -> IndexBatch:
        new_ids, revised_ids, erased_ids, signals = self._sorted_out(changes)
        memories = self.rows([*new_ids, *revised_ids])
        if len(self._at_hand) < MOST_AT_HAND:
            self._at_hand.update((i, m) for i, m in memories.items() if len(m.content) < LARGE_CONTENT_CHARS)
        target_ids = (
            {signal.memory_id for signal in self.store.unscoped(Signal, signals).values()} if signals else set()
        )
        targets = self.store.unscoped(Memory, sorted(target_ids.difference(memories))) if target_ids else {}
        standings = self.standings(
            {**targets, **{i: m for i, m in memories.items() if i in revised_ids or i in target_ids}}
        )
        return IndexBatch(
            added=[(m, standings.get(i) or self._unproven(m)) for i in new_ids if (m := memories.get(i)) is not None],
            revised=[(m, standings[i]) for i in revised_ids if (m := memories.get(i)) is not None],
            erased=erased_ids,
            standings={i: standing for i, standing in standings.items() if i not in memories},
            applied=changes[-1].seq,
            mark=mark_of(changes[-1]),
        )

    def take_as_they_are(self, changes: Sequence[Change]) -> None:
        """Apply what changed out of turn; when its turn comes, it changes nothing any more."""
        if ids := list(dict.fromkeys(change.id for change in changes if change.kind in self.kinds)):
            self.index.apply(self.as_they_are(ids))

    def as_they_are(self, ids: Sequence[str]) -> IndexBatch:
        """Batch that brings these ids to what the records say, whatever the index holds; it comes no further in the
        feed by this.
        """
        memories = self.rows(ids)
        standings = self.standings(memories)
        position = self.index.position
        return IndexBatch(
            revised=[(memory, standings[i]) for i, memory in memories.items()],
            erased=[i for i in ids if i not in memories],
            applied=position.applied,
            mark=position.mark,
        )

    def _sorted_out(self, changes: Sequence[Change]) -> tuple[list[str], list[str], list[str], list[str]]:
        new_ids: dict[str, None] = {}
        revised_ids: dict[str, None] = {}
        erased_ids: dict[str, None] = {}
        signals: list[str] = []
        for change in changes:
            if change.kind == "signal" and change.op is not Op.REMOVE and self.weighs_evidence:
                signals.append(change.id)
            elif change.kind not in self.kinds:
                continue
            elif change.op is Op.ADD:
                new_ids[change.id] = None
            elif change.op is Op.REVISE and change.id not in new_ids:
                revised_ids[change.id] = None
            elif change.op is Op.REMOVE:
                revised_ids.pop(change.id, None)
                if change.id in new_ids:
                    del new_ids[change.id]
                else:
                    erased_ids[change.id] = None
        return list(new_ids), list(revised_ids), list(erased_ids), signals

    def _unproven(self, memory: Memory) -> Standing:
        return self.policy.standing(memory.initial_confidence, memory.created_at, ())

    def standings(self, memories: dict[str, Memory]) -> dict[str, Standing]:
        evidence: dict[str, list[Signal]] = {memory_id: [] for memory_id in memories}
        by_tenant: dict[str, list[str]] = {}
        for memory in memories.values() if self.weighs_evidence else ():
            by_tenant.setdefault(memory.tenant, []).append(memory.id)
        for tenant, ids in by_tenant.items():
            with self.store.read(tenant) as reader:
                for signal in reader.select(Signal, {"memory_id": ids}):
                    evidence[signal.memory_id].append(signal)
        return {
            memory_id: self.policy.standing(
                memory.initial_confidence, memory.created_at, evidence_for(memory, evidence[memory_id])
            )
            for memory_id, memory in memories.items()
        }

    # ------------------------------------------------------------ vectors

    def _may_embed(self, most: int | None) -> bool:
        if most is None or not self.index.awaiting_vectors(1):
            return True
        return len(self.index.awaiting_vectors(most + 1)) <= most and not self.embedder().costly

    def _embed(self, is_over: Callable[[], bool], progress: IndexProgress) -> bool:
        is_costly = bool(self.index.awaiting_vectors(1)) and self.embedder().costly
        fewest = size = FEWEST_COSTLY_ROWS_PER_BATCH if is_costly else FEWEST_ROWS_PER_BATCH
        count = 0
        while ids := self.index.awaiting_vectors(size):
            start = time.monotonic()
            self.index.embed(ids, self._vectors(ids))
            took_s = max(1e-6, time.monotonic() - start)
            count += len(ids)
            if progress.is_wanted:
                # Asked only then: counting what is left looks at every row.
                progress.note_vectors(count, self.index.info().awaiting_vectors)
            if is_over():
                return not self.index.awaiting_vectors(1)
            size = max(fewest, min(2 * size, int(size * TARGET_BATCH_S / took_s), MOST_ROWS_PER_BATCH))
        progress.note_end()
        return True

    def _vectors(self, ids: Sequence[str]) -> Floats:
        import numpy as np

        embedder = self.embedder()
        memories = {i: self._at_hand.pop(i) for i in ids if i in self._at_hand}
        memories.update(self.rows([i for i in ids if i not in memories]))
        dimension = embedder.identity.dimension
        blobs = self._kept_vectors(memories, 4 * dimension)
        lacking = [i for i in ids if i in memories and i not in blobs]
        texts = [text_to_embed(memories[i]) for i in lacking]
        place = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        fresh = embedder.embed(list(place))
        vectors = np.zeros((len(ids), dimension), dtype=np.float32)
        position = {memory_id: row for row, memory_id in enumerate(ids)}
        if lacking:
            vectors[[position[i] for i in lacking]] = fresh[[place[text] for text in texts]]
        for memory_id, blob in blobs.items():
            vectors[position[memory_id]] = np.frombuffer(blob, dtype="<f4")
        if embedder.costly and lacking:
            self._keep(memories, {i: vectors[position[i]].astype("<f4").tobytes() for i in lacking})
        return vectors

    def _kept_vectors(self, memories: dict[str, Memory], size: int) -> dict[str, bytes]:
        """The vectors that lie with the records; one of another size is of another version and says nothing here."""
        vectors: dict[str, bytes] = {}
        for tenant in {memory.tenant for memory in memories.values()}:
            own = [i for i, memory in memories.items() if memory.tenant == tenant]
            with self.store.read(tenant) as reader:
                of_facets = reader.vectors(self.index.identity, own)
            vectors.update(
                (i, blob) for i, blobs in of_facets.items() if len(blob := blobs.get(self.facet, b"")) == size
            )
        return vectors

    def _keep(self, memories: dict[str, Memory], vectors: Mapping[str, bytes]) -> None:
        for tenant in {memories[i].tenant for i in vectors}:
            blobs = {i: {self.facet: blob} for i, blob in vectors.items() if memories[i].tenant == tenant}
            self.store.write(tenant, partial(_keep_all, identity=self.index.identity, blobs=blobs))


def _holds(changes: Sequence[Change], position: IndexPosition) -> bool:
    """True if the first of them is the change that an index has seen last."""
    return bool(changes) and changes[0].seq == position.applied and mark_of(changes[0]) == position.mark


def mark_of(change: Change) -> int:
    text = f"{change.seq} {change.kind} {change.op} {change.id} {change.at!r}"
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _keep_all(writer: Writer, identity: EmbedderIdentity, blobs: Mapping[str, Mapping[str, bytes]]) -> None:
    for memory_id, vectors in blobs.items():
        writer.keep_vectors(identity, memory_id, vectors)
