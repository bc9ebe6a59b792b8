"""Every number that trades memory, speed and recall in the embedded index, and where it was measured.

Defaults and their reasons, independent of how they are used. Measurements: `docs/decisions`.
"""

from __future__ import annotations

from reasoningbank.core.frozen import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPolicy:
    tail_rows: int = 4096
    """Rows that are scanned instead of looked up, at most."""
    merge_ratio: int = 2
    """A segment is merged with the one before it unless that one has this many times its rows..."""
    most_rows_per_segment: int = 1 << 18
    """...or the result would be larger than this, which bounds the time and memory of one merge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorPolicy:
    exact_rows: int = 1500
    """Up to this many rows are scored in full, without bits."""
    query_planes: int = 4
    """Bits per dimension of the query; the stored side has one in the second pass and two in the third."""
    second_pass: int = 8_000
    """Rows of the second pass, at least..."""
    second_pass_share: float = 0.1
    """...and this share of all that pass the filter besides."""
    rescored: int = 400
    """Rows that are scored in full, at least: at 20,000 they hold 0.975 of the 64 nearest, 100 of them 0.952 (`local`;
    of `hash` 0.967 and 0.921), in the same time."""
    sure_within: float = 2.6
    """Any other row goes on too, unless its bits put it this many standard errors below the best ones..."""
    refined_part: int = 2
    """...but never more than one in so many of the second pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPolicy:
    dead_rows: int = 1024
    dead_share: float = 0.25
    """Share of dead rows beyond which a generation is compacted; `dead_rows` must be exceeded, too."""


SEGMENTS = SegmentPolicy()
VECTORS = VectorPolicy()
COMPACTION = CompactionPolicy()
