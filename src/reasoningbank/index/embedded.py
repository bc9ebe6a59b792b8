"""The embedded index: files in one directory, read through memory maps by any number of processes.

Here are generations (a directory each; `CURRENT` names the one that counts), the writer lock, and what each verb of the
`Index` port needs. Formats and scores have files of their own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import (
    BankBusy,
    BankDamaged,
    BankReadOnly,
    BankUnavailable,
    EmbedderMismatch,
    InvalidInput,
    StoreError,
)
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import EmbedderIdentity, Memory, Standing
from reasoningbank.files import make_private_folder, sync_folder
from reasoningbank.forking import renew_in_child
from reasoningbank.index.changes import bury, change, copy_live, find, slots_in_doubt
from reasoningbank.index.codes import encode, widen
from reasoningbank.index.content import Content, IndexShape, Snapshot
from reasoningbank.index.continuation import Continuation
from reasoningbank.index.damage import damage_is_named, describe
from reasoningbank.index.door import names_faults
from reasoningbank.index.durable import full_disk_is_an_error, write_durably
from reasoningbank.index.examine import are_in_doubt, examine, examine_slots
from reasoningbank.index.generation import Generation
from reasoningbank.index.header import Header
from reasoningbank.index.lock import WriterLock
from reasoningbank.index.policy import COMPACTION
from reasoningbank.index.search import Scratch, search
from reasoningbank.ports import Candidates, Damage, Halves, IndexBatch, IndexInfo, IndexPosition, Probe

Floats = NDArray[np.float32]
T = TypeVar("T")
_CREATE_WAIT_S = 10.0
_MOST_ATTEMPTS = 20
_ENCODED_AT_A_TIME = 4096
_GENERATION = pattern(r"gen-[0-9]{1,15}")
_SLOTS_PER_TURN = 64
_SLOT_BITS = 32
_SLOT_OF_HANDLE = (1 << _SLOT_BITS) - 1


@names_faults
class EmbeddedIndex:
    def __init__(self, directory: Path, shape: IndexShape, *, read_only: bool) -> None:
        self._directory, self._shape, self._read_only = directory, shape, read_only
        self._pointer = directory / "CURRENT"
        self._pointer_name = str(self._pointer)
        self._lock = WriterLock(directory / "LOCK")
        self._switching = threading.RLock()
        self._current: tuple[int, int] = (0, 0)
        self._generation: Generation | None = None
        self._scratches: list[Scratch] = []
        # By thread: one that only asks how much is waiting must not disturb one that is embedding.
        self._handed = threading.local()
        renew_in_child(self._begin_in_child)

    def _begin_in_child(self) -> None:
        """Begin anew in a forked child: locks of the parent's other threads are nobody's here, files are opened
        again.
        """
        self._switching = threading.RLock()
        self._handed = threading.local()
        self._scratches = []
        generation, self._generation = self._generation, None
        if generation is not None:
            generation.close()

    @classmethod
    def open(cls, directory: Path, identity: EmbedderIdentity, facet: str, *, read_only: bool = False) -> Self:
        """Open an index. If damage raises `BankDamaged`, or another embedder `EmbedderMismatch`: `renew`, replay the
        feed.
        """
        index = cls(directory, IndexShape(identity=identity, facet=facet), read_only=read_only)
        if not index._pointer.exists():
            if read_only:
                raise BankUnavailable(f"There is no index in {directory} yet.")
            index._create()
        index._latest()
        return index

    @classmethod
    def renew(cls, directory: Path, identity: EmbedderIdentity, facet: str) -> Self:
        """Put an empty index in the place of one that cannot be opened; whoever has that open goes over to this one."""
        index = cls(directory, IndexShape(identity=identity, facet=facet), read_only=False)
        index._create()
        index._begin_anew()
        return index

    def _begin_anew(self) -> None:
        with self.writing_anyhow():
            try:
                # Another process may have been first.
                self._latest()
            except (BankDamaged, EmbedderMismatch):
                numbers = [int(path.name[4:]) for path in self._directory.glob("gen-*") if path.name[4:].isdecimal()]
                name = f"gen-{max(numbers, default=0) + 1}"
                Generation.create(self._directory / name, self._shape, Header(sequence=1)).close()
                self._point_at(name)
                self._remove_others(name)

    @contextmanager
    def writing_anyhow(self) -> Iterator[None]:
        """The right to write, without a look at what is there."""
        if not self._lock.acquire(_CREATE_WAIT_S):
            raise BankBusy(f"Another process is writing the index in {self._directory}.")
        try:
            yield
        finally:
            self._lock.release(in_order=True)

    def _create(self) -> None:
        with full_disk_is_an_error(self._pointer):
            make_private_folder(self._directory)
            has_lock = self._lock.acquire(_CREATE_WAIT_S)
        if not has_lock:
            raise BankBusy(f"Another process is creating the index in {self._directory}.")
        try:
            if not self._pointer.exists():
                self._remove_others("")
                Generation.create(self._directory / "gen-1", self._shape, Header(sequence=1)).close()
                self._point_at("gen-1")
        finally:
            self._lock.release(in_order=True)

    # ------------------------------------------------------------ generations

    def _latest(self) -> Generation:
        """The generation that counts now, opened."""
        with self._switching:
            for _ in range(_MOST_ATTEMPTS):
                try:
                    stat = os.stat(self._pointer_name)  # noqa: PTH116 - four times a search, and a path is slow
                except FileNotFoundError as error:
                    raise BankUnavailable(f"The index {self._directory} was removed; open it again.") from error
                pointer_version = (stat.st_ino, stat.st_mtime_ns)
                if self._generation is not None and pointer_version == self._current:
                    return self._generation
                name = self._pointer.read_text("utf-8", "replace").strip()
                if not _GENERATION.fullmatch(name):
                    break
                try:
                    with damage_is_named(self._directory):
                        generation = Generation(self._directory / name, self._shape, writable=not self._read_only)
                except (FileNotFoundError, BankDamaged) as error:
                    # Compacted away between the two reads, or damaged: the next round tells which.
                    is_named = self._pointer.read_text("utf-8", "replace").strip() == name
                    if is_named and isinstance(error, BankDamaged):
                        raise
                    continue
                if self._generation is not None:
                    self._generation.close()
                self._generation, self._current = generation, pointer_version
                return generation
        raise BankDamaged(f"The index {self._directory} names files that do not exist; build the index again.")

    def _point_at(self, name: str) -> None:
        write_durably(self._pointer, [name.encode() + b"\n"])
        sync_folder(self._directory)

    def _remove_others(self, keep: str) -> None:
        for path in self._directory.glob("gen-*"):
            if path.name != keep:
                # Where a mapped file cannot be removed, the next writer tries again.
                _remove(path)

    def _compact(self, without: Sequence[int] = ()) -> None:
        old = self._latest()
        self._replace(old.number, lambda fresh: copy_live(old, fresh, frozenset(without)))

    def _replace(self, number: int, fill: Callable[[Generation], None]) -> None:
        """Let another generation count once it is filled."""
        name = f"gen-{number + 1}"
        _remove(self._directory / name)
        fresh = Generation.create(self._directory / name, self._shape, Header(sequence=1))
        try:
            fill(fresh)
        finally:
            fresh.close()
        self._point_at(name)
        self._latest()
        self._remove_others(name)

    def latest_snapshot(self) -> tuple[Content, Snapshot]:
        return self._looking_at_latest(lambda content: (content, content.snapshot()))

    def _looking_at_latest(self, look: Callable[[Any], T]) -> T:
        """Result of `look` at the content that counts, which another process may replace and remove meanwhile."""
        # Under the lock to the end: a thread that compacts closes the generation that others have just been given.
        with self._switching, damage_is_named(self._directory):
            content = self._content()
            for _ in range(_MOST_ATTEMPTS):
                try:
                    return look(content)
                except (FileNotFoundError, BankDamaged):
                    before, content = content, self._content()
                    if content is before:
                        raise
            return look(content)

    def _content(self) -> Content:
        return self._latest()

    # ------------------------------------------------------------ the port

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def identity(self) -> EmbedderIdentity:
        return self._shape.identity

    @property
    def halves(self) -> Halves:
        from reasoningbank.index.halves import EmbeddedVectors, EmbeddedWords

        return Halves(EmbeddedVectors(self), EmbeddedWords(self), lambda wait_s: self.writing(wait_s=wait_s))

    @property
    def fused(self) -> Self:
        return self

    @property
    def upkeep(self) -> Self:
        return self

    @property
    def position(self) -> IndexPosition:
        content, snapshot = self.latest_snapshot()
        header = snapshot.header
        return IndexPosition(applied=header.applied, mark=header.mark, stamp=(content.number, header.sequence))

    def info(self) -> IndexInfo:
        content, snapshot = self.latest_snapshot()
        rows = snapshot.rows.count
        alive = snapshot.rows.span("alive", 0, rows) == 1
        return IndexInfo(
            kind="embedded",
            memories=int(np.count_nonzero(alive)),
            awaiting_vectors=int(np.count_nonzero(alive[snapshot.header.embedded :])),
            applied=snapshot.header.applied,
            bytes_on_disk=content.bytes_on_disk(),
        )

    @contextmanager
    def writing(self, *, wait_s: float) -> Iterator[bool]:
        if self._read_only:
            raise BankReadOnly(f"The index {self._directory} was opened for reading.")
        if not self._lock.acquire(wait_s):
            yield False
            return
        in_order = False
        try:
            if self._lock.left_in_disorder():
                generation = self._latest()
                generation.clear_up()
                self._remove_others(generation.directory.name)
            yield True
            in_order = True
        finally:
            self._lock.release(in_order=in_order)

    def ahead(self) -> IndexAhead:
        return self._looking_at_latest(
            lambda generation: IndexAhead(self._directory, self._shape, Continuation(generation))
        )

    def _writer(self) -> Content:
        if not self._lock.held:
            raise StoreError("The index is written without the right to: call this inside `writing()`.")
        return self._latest()

    def apply(self, batch: IndexBatch) -> None:
        with damage_is_named(self._directory):
            content = self._writer()
            snapshot = content.snapshot()
            torn = slots_in_doubt(snapshot)
            if len(torn):
                # As their writer left them: this batch, or one that follows, says what they should be.
                snapshot.rows.seal(torn)
            if batch.erased:
                slots_by_id = find(snapshot, batch.erased, alive=False)
                if slots_by_id:
                    self._compact([slot for slots in slots_by_id.values() for slot in slots])
                    content = self._latest()
            change(content, batch)
            rows = content.snapshot().rows
            dead = rows.count - int(np.count_nonzero(rows.span("alive", 0, rows.count)))
            if dead > max(COMPACTION.dead_rows, COMPACTION.dead_share * rows.count):
                self._compact()

    def awaiting_vectors(self, limit: int) -> list[str]:
        content, snapshot = self.latest_snapshot()
        first, rows = snapshot.header.embedded, snapshot.rows
        if first == rows.count:
            return []
        with damage_is_named(self._directory):
            slots = first + np.flatnonzero(rows.span("alive", first, rows.count))[:limit]
            ids = rows.ids(slots)
        self._handed.slots = dict(zip(ids, slots.tolist(), strict=True))
        self._handed.generation = content.number
        return ids

    def embed(self, ids: Sequence[str], vectors: Floats) -> None:
        content = self._writer()
        snapshot = content.snapshot()
        slot_of: dict[str, int] = getattr(self._handed, "slots", {})
        if any(memory_id not in slot_of for memory_id in ids):
            raise InvalidInput("Vectors may be given only for the ids that `awaiting_vectors` returned last.")
        shape = (len(ids), self.identity.dimension)
        if vectors.shape != shape:
            raise InvalidInput(f"The vectors must have the shape {shape}.")
        if ids and self._handed.generation != content.number:
            # Compacted in between: the slots have moved, and asking again is cheaper than guessing.
            return
        first, rows = snapshot.header.embedded, snapshot.rows
        row_of = {slot_of[memory_id]: row for row, memory_id in enumerate(ids)}
        last = max(row_of, default=first - 1) + 1
        alive = rows.span("alive", first, last) == 1
        ready = [not living or slot in row_of for slot, living in enumerate(alive.tolist(), first)]
        count = ready.index(False) if False in ready else len(ready)
        header = snapshot.header
        for start in range(first, first + count, _ENCODED_AT_A_TIME):
            stop = min(first + count, start + _ENCODED_AT_A_TIME)
            slots = [slot for slot in range(start, stop) if slot in row_of and alive[slot - first]]
            block = np.zeros((stop - start, self.identity.dimension), np.float32)
            block[[slot - start for slot in slots]] = vectors[[row_of[slot] for slot in slots]]
            header = content.append_vectors(header, encode(block, content.rotation), stop - start)
        if count > 0:
            content.commit(header)

    def search(self, probe: Probe) -> Candidates:
        content, snapshot = self.latest_snapshot()
        if probe.vector is not None and np.size(probe.vector) != self.identity.dimension:
            raise InvalidInput(
                f"The query has {np.size(probe.vector)} dimensions, the index {self.identity.dimension}."
            )
        with self.scratch(snapshot) as scratch:
            # A handle names its generation, because another process may compact before the handle is used.
            return search(snapshot, probe, scratch, content.number << _SLOT_BITS)

    @contextmanager
    def scratch(self, snapshot: Snapshot) -> Iterator[Scratch]:
        """Buffers for one search; what it comes across is named as damage of this index."""
        rows = snapshot.header.rows
        try:
            scratch = self._scratches.pop()
        except IndexError:
            scratch = Scratch.of(rows)
        if not scratch.fits(rows):
            scratch = Scratch.of(rows)
        with damage_is_named(self._directory):
            yield scratch
        if len(self._scratches) < 2:
            self._scratches.append(scratch)

    def vectors_of(self, candidates: Candidates, rows: Sequence[int]) -> Floats:
        content, snapshot = self.latest_snapshot()
        handles = _handles(candidates, rows)
        slots = handles & _SLOT_OF_HANDLE
        has_vector = (handles >> _SLOT_BITS == content.number) & (slots < snapshot.header.embedded)
        vectors = np.zeros((len(handles), self.identity.dimension), np.float32)
        vectors[has_vector] = widen(snapshot.vectors.full[slots[has_vector]])
        return vectors

    # ------------------------------------------------------------ damage

    def are_sound(self, candidates: Candidates, rows: Sequence[int]) -> bool:
        content, snapshot = self.latest_snapshot()
        handles = _handles(candidates, rows)
        slots = handles & _SLOT_OF_HANDLE
        slots = slots[(handles >> _SLOT_BITS == content.number) & (slots < snapshot.header.rows)]
        if snapshot.rows.sound(slots).all():
            return True
        # Somebody may be changing one at this moment, and says so first.
        unsound = slots[~snapshot.rows.sound(slots)]
        return bool((snapshot.rows.take("changed", unsound) > np.uint64(snapshot.header.applied)).all())

    def is_sound_at(self, turn: int) -> bool:
        content, snapshot = self.latest_snapshot()
        rows = snapshot.header.rows
        if not rows:
            return True
        first = turn * _SLOTS_PER_TURN % (-(-rows // _SLOTS_PER_TURN) * _SLOTS_PER_TURN)
        last = min(rows, first + _SLOTS_PER_TURN)
        by_row, by_words, by_vectors = examine_slots(content, snapshot, first, last)
        by_row &= ~are_in_doubt(snapshot, first, last)
        return not (by_row | by_words | by_vectors).any() and (
            first > 0 or all(s.is_sound() for s in snapshot.segments)
        )

    def in_doubt(self) -> list[str]:
        _, snapshot = self.latest_snapshot()
        with damage_is_named(self._directory):
            slots = slots_in_doubt(snapshot)
            return snapshot.rows.ids(slots) if len(slots) else []

    def ids(self) -> list[str]:
        _, snapshot = self.latest_snapshot()
        with damage_is_named(self._directory):
            return snapshot.rows.ids(np.flatnonzero(snapshot.rows.span("alive", 0, snapshot.rows.count) == 1))

    def damage(self) -> list[Damage]:
        generation, snapshot, small = self._looking_at_latest(
            lambda latest: (latest, latest.snapshot(), latest.problems())
        )
        return describe(snapshot, examine(generation, snapshot), small)

    def differences(self, records: Sequence[tuple[Memory, Standing]]) -> dict[str, str]:
        _, snapshot = self.latest_snapshot()
        from reasoningbank.index.comparing import differences

        with damage_is_named(self._directory):
            return differences(snapshot, records)

    def heal(self, rebuild: Callable[[Sequence[str]], Iterable[IndexBatch]]) -> None:
        self._writer()
        old = self._latest()

        def fill(fresh: Generation) -> None:
            copy_live(old, fresh, frozenset(), healing=True)
            rows = fresh.snapshot().rows
            for batch in rebuild(rows.ids(np.arange(rows.count, dtype=np.int64))):
                change(fresh, batch)

        with damage_is_named(self._directory):
            self._replace(old.number, fill)

    def clear(self) -> None:
        self._writer()
        self._replace(self._latest().number, lambda _: None)

    def close(self) -> None:
        with self._switching:
            if self._generation is not None:
                self._generation.close()
                self._generation = None


class IndexAhead(EmbeddedIndex):
    """An index continued in memory: for a search that must know every change and may wait for nobody.

    Nobody else sees it, so it needs no lock, no sync and no compaction; whoever made it writes to it from one thread at
    a time. Everything else it does as the index it continues.
    """

    def __init__(self, directory: Path, shape: IndexShape, content: Continuation) -> None:
        super().__init__(directory, shape, read_only=True)
        self._continuation = content

    def _content(self) -> Content:
        return self._continuation

    def _writer(self) -> Content:
        return self._continuation

    @contextmanager
    def writing(self, *, wait_s: float) -> Iterator[bool]:  # noqa: ARG002 - nobody is waited for
        yield True

    def apply(self, batch: IndexBatch) -> None:
        with damage_is_named(self._directory):
            bury(self._continuation, batch.erased)
            change(self._continuation, batch)

    def heal(self, rebuild: Callable[[Sequence[str]], Iterable[IndexBatch]]) -> None:
        with damage_is_named(self._directory):
            self._continuation.heal()
            for batch in rebuild(self.ids()):
                change(self._continuation, batch)

    def close(self) -> None:
        self._continuation.close()


def _handles(candidates: Candidates, rows: Sequence[int]) -> NDArray[np.int64]:
    assert candidates.handles is not None
    return candidates.handles[list(rows)]


def _remove(directory: Path) -> None:
    # Imported here: it brings every compression format along, and most processes remove nothing.
    from shutil import rmtree

    rmtree(directory, ignore_errors=True)
