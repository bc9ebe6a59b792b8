"""The floor of memories whose vectors the index still owes: until then, only their words can speak for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reasoningbank.recall.relevance import words_met

if TYPE_CHECKING:
    from reasoningbank.ports import Candidates, Floats

WORDS_ENOUGH = 0.2
"""Of a query's words, weighed by rarity: a text that says each once has 0.45, so this is about half of them."""


def floors_while_owed(candidates: Candidates, floors: float | Floats) -> Floats:
    """No floor for a candidate without a vector that says about half of the words of the query.

    Its relevance lacks what the model would say, so a floor that was set with the model would refuse all of them.
    """
    by_row = np.broadcast_to(np.asarray(floors, np.float32), (len(candidates.ids),)).copy()
    by_row[np.isnan(candidates.cosine[:, 0]) & (words_met(candidates) >= WORDS_ENOUGH)] = 0.0
    return by_row
