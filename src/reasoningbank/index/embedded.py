"""The index that ships: files in one directory, read through memory maps by any number of processes.

Knows generations (a directory each; `CURRENT` names the one that counts), the writer lock, and what each verb of the
`Index` port needs. Refuses to know formats and scores, which have files of their own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import BankBusy, BankDamaged, BankReadOnly, BankUnavailable, InvalidInput, StoreError
from reasoningbank.core.patterns import pattern
from reasoningbank.core.types import EmbedderIdentity
from reasoningbank.index.changes import change, copy_live, find
from reasoningbank.index.codes import encode, widened
from reasoningbank.index.door import names_faults
from reasoningbank.index.durable import full_disk_is_an_error, sync_directory, write_durably
from reasoningbank.index.generation import Generation, Shape, Snapshot
from reasoningbank.index.header import Header
from reasoningbank.index.lock import WriterLock
from reasoningbank.index.policy import COMPACTION
from reasoningbank.index.search import Scratch, search
from reasoningbank.index.vectors import present
from reasoningbank.ports import Candidates, IndexBatch, IndexInfo, Probe

Floats = NDArray[np.float32]
_CREATE_WAIT_S = 10.0
_MOST_ATTEMPTS = 20
_SPARE_SCRATCHES = 2
_ENCODED_AT_A_TIME = 4096
_GENERATION = pattern(r"gen-[0-9]{1,15}")
_SLOT_BITS = 32
_SLOT_OF_HANDLE = (1 << _SLOT_BITS) - 1


@names_faults
class EmbeddedIndex:
    def __init__(self, directory: Path, shape: Shape, *, read_only: bool) -> None:
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

    @classmethod
    def open(
        cls, directory: Path, identity: EmbedderIdentity, facets: tuple[str, ...], *, read_only: bool = False
    ) -> Self:
        """Damage raises `BankDamaged`: remove the directory, open again and replay the feed."""
        index = cls(directory, Shape(identity=identity, facets=facets), read_only=read_only)
        if not index._pointer.exists():
            if read_only:
                raise BankUnavailable(f"There is no index in {directory} yet.")
            index._create()
        index._latest()
        return index

    def _create(self) -> None:
        with full_disk_is_an_error(self._pointer):
            self._directory.mkdir(parents=True, exist_ok=True)
            granted = self._lock.acquire(_CREATE_WAIT_S)
        if not granted:
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
                seen = (stat.st_ino, stat.st_mtime_ns)
                if self._generation is not None and seen == self._current:
                    return self._generation
                name = self._pointer.read_text("utf-8", "replace").strip()
                if not _GENERATION.fullmatch(name):
                    break
                try:
                    generation = Generation(self._directory / name, self._shape, writable=not self._read_only)
                except FileNotFoundError:
                    # Compacted away between the two reads, or damaged: the next round tells which.
                    continue
                if self._generation is not None:
                    self._generation.close()
                self._generation, self._current = generation, seen
                return generation
        raise BankDamaged(f"The index {self._directory} names files that do not exist; build the index again.")

    def _point_at(self, name: str) -> None:
        write_durably(self._pointer, [name.encode() + b"\n"])
        sync_directory(self._directory)

    def _remove_others(self, keep: str) -> None:
        for path in self._directory.glob("gen-*"):
            if path.name != keep:
                # Where a mapped file cannot be removed, the next writer tries again.
                _remove(path)

    def _compact(self, without: Sequence[int] = ()) -> None:
        old = self._latest()
        name = f"gen-{old.number + 1}"
        _remove(self._directory / name)
        fresh = Generation.create(self._directory / name, self._shape, Header(sequence=1))
        try:
            copy_live(old, fresh, frozenset(without))
        finally:
            fresh.close()
        self._point_at(name)
        self._latest()
        self._remove_others(name)

    def _snapshot(self) -> Snapshot:
        return self._now()[1]

    def _now(self) -> tuple[Generation, Snapshot]:
        # Under the lock to the end: a thread that compacts closes the generation that others have just been given.
        with self._switching:
            generation = self._latest()
            return generation, generation.snapshot()

    # ------------------------------------------------------------ the port

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def identity(self) -> EmbedderIdentity:
        return self._shape.identity

    @property
    def applied(self) -> int:
        return self._snapshot().header.applied

    @property
    def mark(self) -> int:
        return self._snapshot().header.mark

    def info(self) -> IndexInfo:
        generation, snapshot = self._now()
        rows = snapshot.rows.count
        alive = snapshot.rows.span("alive", 0, rows) == 1
        return IndexInfo(
            kind="embedded",
            memories=int(np.count_nonzero(alive)),
            awaiting_vectors=int(np.count_nonzero(alive[snapshot.header.embedded :])),
            applied=snapshot.header.applied,
            bytes_on_disk=generation.bytes_on_disk(),
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

    def _writer(self) -> Generation:
        if not self._lock.held:
            raise StoreError("The index is written without the right to: call this inside `writing()`.")
        return self._latest()

    def apply(self, batch: IndexBatch) -> None:
        generation = self._writer()
        if batch.erased:
            buried = find(generation.snapshot(), batch.erased, alive=False)
            if buried:
                self._compact([slot for slots in buried.values() for slot in slots])
                generation = self._latest()
        change(generation, batch)
        rows = generation.snapshot().rows
        dead = rows.count - int(np.count_nonzero(rows.span("alive", 0, rows.count)))
        if dead > max(COMPACTION.dead_rows, COMPACTION.dead_share * rows.count):
            self._compact()

    def awaiting_vectors(self, limit: int) -> list[str]:
        generation, snapshot = self._now()
        first, rows = snapshot.header.embedded, snapshot.rows
        if first == rows.count:
            return []
        slots = first + np.flatnonzero(rows.span("alive", first, rows.count))[:limit]
        ids = rows.ids(slots)
        self._handed.slots = dict(zip(ids, slots.tolist(), strict=True))
        self._handed.generation = generation.number
        return ids

    def embed(self, ids: Sequence[str], vectors: Mapping[str, Floats]) -> None:
        generation = self._writer()
        snapshot = generation.snapshot()
        handed: dict[str, int] = getattr(self._handed, "slots", {})
        if any(memory_id not in handed for memory_id in ids):
            raise InvalidInput("Vectors may be given only for the ids that `awaiting_vectors` returned last.")
        shape = (len(ids), self.identity.dimension)
        if any(vectors[facet].shape != shape for facet in self._shape.facets):
            raise InvalidInput(f"Each facet's vectors must have the shape {shape}.")
        if ids and self._handed.generation != generation.number:
            # Compacted in between: the slots have moved, and asking again is cheaper than guessing.
            return
        first, rows = snapshot.header.embedded, snapshot.rows
        row_of = {handed[memory_id]: row for row, memory_id in enumerate(ids)}
        last = max(row_of, default=first - 1) + 1
        alive = rows.span("alive", first, last) == 1
        ready = [not living or slot in row_of for slot, living in enumerate(alive.tolist(), first)]
        count = ready.index(False) if False in ready else len(ready)
        header = snapshot.header
        for start in range(first, first + count, _ENCODED_AT_A_TIME):
            stop = min(first + count, start + _ENCODED_AT_A_TIME)
            given = [slot for slot in range(start, stop) if slot in row_of and alive[slot - first]]
            encoded = []
            for facet in self._shape.facets:
                block = np.zeros((stop - start, self.identity.dimension), np.float32)
                block[[slot - start for slot in given]] = vectors[facet][[row_of[slot] for slot in given]]
                encoded.append(encode(block, generation.rotation))
            header = generation.append_vectors(header, encoded, stop - start)
        if count > 0:
            generation.commit(header)

    def search(self, probe: Probe) -> Candidates:
        generation, snapshot = self._now()
        if probe.vector is not None and np.size(probe.vector) != self.identity.dimension:
            raise InvalidInput(
                f"The query has {np.size(probe.vector)} dimensions, the index {self.identity.dimension}."
            )
        rows = snapshot.header.rows
        scratch = self._scratch(rows)
        # A handle names its generation, because another process may compact before the handle is used.
        found = search(snapshot, probe, scratch, generation.number << _SLOT_BITS)
        if len(self._scratches) < _SPARE_SCRATCHES:
            self._scratches.append(scratch)
        return found

    def _scratch(self, rows: int) -> Scratch:
        try:
            scratch = self._scratches.pop()
        except IndexError:
            return Scratch.of(rows)
        return scratch if scratch.fits(rows) else Scratch.of(rows)

    def vectors(self, handles: NDArray[np.int64]) -> Floats:
        """One vector for each handle, of the first facet that has one; zeros where there is none any more."""
        generation, snapshot = self._now()
        slots = handles & _SLOT_OF_HANDLE
        known = (handles >> _SLOT_BITS == generation.number) & (slots < snapshot.header.embedded)
        if known.all() and present(snapshot.facets[0].signs, slots).all():
            return widened(snapshot.facets[0].full[slots])
        found = np.zeros((len(handles), self.identity.dimension), np.float32)
        lacking = np.flatnonzero(known)
        for facet in snapshot.facets:
            there = present(facet.signs, slots[lacking])
            found[lacking[there]] = widened(facet.full[slots[lacking[there]]])
            lacking = lacking[~there]
        return found

    def close(self) -> None:
        with self._switching:
            if self._generation is not None:
                self._generation.close()
                self._generation = None


def _remove(directory: Path) -> None:
    # Imported here: it brings every compression format along, and most processes remove nothing.
    from shutil import rmtree

    rmtree(directory, ignore_errors=True)
