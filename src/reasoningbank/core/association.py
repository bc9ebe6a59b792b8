"""How sure it is that two things belong together: lift over chance, difference of two shares, a share, each from below.

Counts may be fractions, since old evidence counts less. `z` says how sure: 1.96 for one comparison, more where many are
made at once, of which some would hold by chance.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from reasoningbank.core.frozen import dataclass

DOUBT = 0.05
"""The chance at which one of all comparisons may be wrong."""
_HALF = 0.5
"""Added to each cell of a table (Haldane), so that an empty one says little instead of everything."""


def surely(comparisons: int) -> float:
    """The z from which one of so many comparisons is no work of chance (Bonferroni)."""
    return NormalDist().inv_cdf(1.0 - DOUBT / (2.0 * max(1, comparisons)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Among so many tasks, those with the first, with the second, and with both."""

    tasks: float
    first: float
    second: float
    both: float

    @property
    def expected(self) -> float:
        """With both, if the two had nothing to do with each other."""
        return self.first * self.second / self.tasks if self.tasks else 0.0

    def log_lift(self, z: float) -> tuple[float, float]:
        """The logarithm of the odds ratio, and its lower bound; 0 is chance."""
        cells = (
            self.both + _HALF,
            max(0.0, self.first - self.both) + _HALF,
            max(0.0, self.second - self.both) + _HALF,
            max(0.0, self.tasks - self.first - self.second + self.both) + _HALF,
        )
        value = math.log(cells[0] * cells[3] / (cells[1] * cells[2]))
        return value, value - z * math.sqrt(math.fsum(1.0 / cell for cell in cells))


def difference(with_it: tuple[float, float], without: tuple[float, float], z: float) -> tuple[float, float]:
    """Difference of two shares, each as (of how many, how many), and its lower bound (Agresti and Caffo)."""
    p, q = ((hits + 1.0) / (of + 2.0) for of, hits in (with_it, without))
    spread = p * (1.0 - p) / (with_it[0] + 2.0) + q * (1.0 - q) / (without[0] + 2.0)
    value = with_it[1] / max(with_it[0], 1e-9) - without[1] / max(without[0], 1e-9)
    return value, p - q - z * math.sqrt(spread)


def least_share(hits: float, of: float, z: float) -> float:
    """The lower bound of a share (Wilson)."""
    if of <= 0.0:
        return 0.0
    share = hits / of
    centre = share + z * z / (2.0 * of)
    half = z * math.sqrt(share * (1.0 - share) / of + z * z / (4.0 * of * of))
    return max(0.0, (centre - half) / (1.0 + z * z / of))
