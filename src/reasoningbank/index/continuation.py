"""A generation continued in the memory of one process: what is appended or changed here nobody else sees.

The pages of the files are shared until they are written to, so that beginning one costs next to nothing whatever the
size of the index. It is searched like any other; a commit is a new snapshot and no more.
"""

from __future__ import annotations

import numpy as np

from reasoningbank.core.frozen import replace
from reasoningbank.index.content import Content, Snapshot
from reasoningbank.index.examine import examine
from reasoningbank.index.generation import Generation
from reasoningbank.index.header import Header
from reasoningbank.index.segments import Tail

_SLOTS_AT_ONCE = 8192


class Continuation(Content):
    def __init__(self, base: Generation) -> None:
        snapshot = base.snapshot()
        super().__init__(base.directory, base.shape, base.rotation, base.continued())
        self._segments = {(segment.first, segment.last): segment for segment in snapshot.segments}
        self._tail = snapshot.tail
        self._snapshot = self._snapshot_at(snapshot.header)

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def commit(self, header: Header) -> Snapshot:
        sequence = self._snapshot.header.sequence + 1
        self._snapshot = self._snapshot_at(replace(header, sequence=sequence))
        return self._snapshot

    def heal(self) -> None:
        """Leave out every slot that does not match its checksums, and take the words from the entries alone."""
        snapshot = self._snapshot
        sick = examine(self, snapshot).sick
        slots = np.flatnonzero(sick)
        header, rows = replace(snapshot.header, segments=()), snapshot.rows
        tail = Tail(0)
        whole = ~sick
        for first in range(0, header.rows, _SLOTS_AT_ONCE):
            last = min(header.rows, first + _SLOTS_AT_ONCE)
            bounds = self.entry_bounds(header, rows, first, last)
            counts = np.where(whole[first:last], np.diff(bounds), 0)
            starts = np.where(whole[first:last], bounds[:-1], 0)
            places = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
            tail = tail.extended(self.all_entries(header)[places], counts, rows.span("length", first, last))
        if len(slots):
            rows.put("alive", slots, 0)
            rows.seal(slots)
        self._segments, self._tail = {}, tail
        self.commit(header)
