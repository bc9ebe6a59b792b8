"""Finds pairs of similar memories from the vectors that the index keeps.

A blocked matrix product: no vector is made here, and no loop over pairs runs in Python. Each row keeps its nearest few,
so that a bank of ten thousand copies of one text costs no more than any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from reasoningbank.core.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reasoningbank.ports import Floats

MOST_NEIGHBOURS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """Thresholds of the cosine from which two memories are compared by words, for each purpose."""

    same: float
    opposed: float
    analogous: float


NEARNESS: Mapping[str, Nearness] = {
    "local": Nearness(same=0.80, opposed=0.60, analogous=0.55),
    # Here a cosine counts common words and letters; it knows nothing of meaning.
    "hash": Nearness(same=0.50, opposed=0.40, analogous=0.65),
}
"""Nearness by embedder; another one is taken to be like `local`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Vector space of the memories: the embedder's name, and the vectors that the index keeps."""

    embedder: str
    vectors: Callable[[Sequence[str]], Floats]
    """A row for each id, zeros where there is none."""

    @property
    def nearness(self) -> Nearness:
        return NEARNESS.get(self.embedder, NEARNESS["local"])


_CELLS = 1 << 23
"""Most cells of one block of the product: 32 MB."""
Pair = tuple[int, int, float]


def near_pairs(
    vectors: Floats,
    least: float,
    *,
    groups: NDArray[np.int64],
    within: bool = True,
    most: int = MOST_NEIGHBOURS,
) -> list[Pair]:
    """(row, row, cosine), the lower row first, each pair once: rows of one group, or with `within` false of two."""
    import numpy as np

    if within:
        pairs: list[Pair] = []
        for group in np.unique(groups):
            rows = np.flatnonzero(groups == group)
            pairs += [(int(rows[a]), int(rows[b]), c) for a, b, c in _among(vectors[rows], least, None, most)]
        return pairs
    return _among(vectors, least, groups, most)


def _among(vectors: Floats, least: float, apart: NDArray[np.int64] | None, most: int) -> list[Pair]:
    import numpy as np

    count = len(vectors)
    if count < 2:
        return []
    step = max(1, min(count, _CELLS // count))
    near_rows, near_columns, cosines = [], [], []
    for start in range(0, count, step):
        block = vectors[start : start + step]
        products = block @ vectors.T
        products[np.arange(len(block)), np.arange(start, start + len(block))] = -1.0
        if apart is not None:
            products[apart[start : start + len(block), None] == apart[None, :]] = -1.0
        near = products >= least
        full_rows = np.flatnonzero(np.count_nonzero(near, axis=1) > most)
        if len(full_rows):
            nearest = np.argpartition(products[full_rows], count - most, axis=1)[:, count - most :]
            near[full_rows] = False
            near[full_rows[:, None], nearest] = True
        rows, columns = np.nonzero(near)
        near_rows.append(rows + start)
        near_columns.append(columns)
        cosines.append(products[rows, columns])
    ends, far_ends = np.concatenate(near_rows), np.concatenate(near_columns)
    low, high = np.minimum(ends, far_ends), np.maximum(ends, far_ends)
    # Most pairs were found from both ends.
    _, first = np.unique(low * count + high, return_index=True)
    return list(zip(low[first].tolist(), high[first].tolist(), np.concatenate(cosines)[first].tolist(), strict=True))


def crowded_rows(pairs: Sequence[Pair], most: int = MOST_NEIGHBOURS) -> set[int]:
    """Rows with so many near ones that not all of them may be among the pairs. A pair is missed only between two."""
    degree = Counter(row for a, b, _ in pairs for row in (a, b))
    return {row for row, count in degree.items() if count >= most}
