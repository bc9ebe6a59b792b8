"""The terms of memories as rows, as an index of words is given them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from reasoningbank.core.types import Memory
from reasoningbank.lexical.entries import entries_of
from reasoningbank.ports import WordRow


def word_rows(memories: Sequence[Memory]) -> list[WordRow]:
    entries = entries_of(memories)
    bounds = [0, *accumulate(entries.counts.tolist())]
    terms, weights = entries.packed["term"].tolist(), entries.packed["weight"].tolist()
    return [
        WordRow(memory=memory, terms=dict(zip(terms[first:last], weights[first:last], strict=True)), length=length)
        for memory, first, last, length in zip(memories, bounds, bounds[1:], entries.lengths.tolist(), strict=False)
    ]
