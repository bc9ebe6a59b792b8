"""Verifies the checksums of an index on disk, slot by slot and file by file.

Says which part of which slot is damaged. Independent of what the slots should hold (`index.comparing`) and of how
damage is put right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.frozen import dataclass
from reasoningbank.index.checks import bounded_checks, vector_checks
from reasoningbank.index.content import Content, Snapshot
from reasoningbank.index.rows import BLOCK_ROWS

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """Result of an examination: the slots whose row, words or vectors do not match their checksums, and the keyword
    segments that do not.
    """

    rows: Mask
    words: Mask
    vectors: Mask
    segments: tuple[str, ...]

    @property
    def sick(self) -> Mask:
        return self.rows | self.words | self.vectors

    @property
    def is_sound(self) -> bool:
        return not self.segments and not self.sick.any()


def examine(content: Content, snapshot: Snapshot) -> Examined:
    rows = snapshot.header.rows
    blocks = [
        examine_slots(content, snapshot, first, min(rows, first + BLOCK_ROWS)) for first in range(0, rows, BLOCK_ROWS)
    ]
    by_row, by_words, by_vectors = (
        np.concatenate([part[i] for part in blocks] or [np.empty(0, np.bool_)]) for i in range(3)
    )
    return Examined(
        # One that a writer is changing, or was when it died, is put in order by whoever follows the feed next.
        rows=by_row & ~are_in_doubt(snapshot, 0, rows),
        words=by_words,
        vectors=by_vectors,
        segments=tuple(
            f"words-{segment.first}-{segment.last}" for segment in snapshot.segments if not segment.is_sound()
        ),
    )


def are_in_doubt(snapshot: Snapshot, first: int, last: int) -> Mask:
    """Mask of consecutive slots that a batch has changed which does not count, or not yet."""
    mask: Mask = snapshot.rows.span("changed", first, last) > np.uint64(snapshot.header.applied)
    return mask


def examine_slots(content: Content, snapshot: Snapshot, first: int, last: int) -> tuple[Mask, Mask, Mask]:
    """Masks of consecutive slots whose row, whose words and whose vectors are damaged."""
    header, rows = snapshot.header, snapshot.rows
    slots = np.arange(first, last, dtype=np.int64)
    by_row = ~rows.sound(slots)
    # Where one slot's words end is told by where the next one's begin: a damaged row casts doubt on two.
    bounds = content.entry_bounds(header, rows, first, last)
    starts, stops = bounds[:-1], bounds[1:]
    possible = (starts >= 0) & (stops >= starts) & (stops <= header.entries)
    sums = bounded_checks(snapshot.entries, np.where(possible, starts, 0), np.where(possible, stops, 0))
    by_words = ~possible | (sums != rows.span("words", first, last))
    by_vectors = np.zeros(last - first, np.bool_)
    vectors_end = max(first, min(last, header.embedded))
    if vectors_end > first:
        vectors = snapshot.vectors
        parts = [part[first:vectors_end] for part in (vectors.signs, vectors.finer, vectors.full)]
        sums = vector_checks(parts, vectors_end - first)
        by_vectors[: vectors_end - first] = sums != rows.span("vectors", first, vectors_end)
    return by_row, by_words, by_vectors
