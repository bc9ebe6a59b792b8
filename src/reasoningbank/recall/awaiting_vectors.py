"""Ranks memories whose vectors are not made yet: until then, only their words can speak for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reasoningbank.recall.relevance import words_met

if TYPE_CHECKING:
    from reasoningbank.ports import Candidates

WORDS_ENOUGH = 0.2
"""Share of a query's words, weighed by rarity: a text that says each once has 0.45, so this is about half of them."""


def is_told_by_words(candidates: Candidates) -> NDArray[np.bool_]:
    """True if a candidate has no vector yet and says about half of the words of the query.

    Its relevance lacks what the model would say, so a floor that was set with the model would refuse all of them.
    """
    flags: NDArray[np.bool_] = np.isnan(candidates.cosine) & (words_met(candidates) >= WORDS_ENOUGH)
    return flags
