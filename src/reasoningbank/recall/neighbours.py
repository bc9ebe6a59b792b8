"""The turns just before and after a turn in the same conversation, read from the records: each helps to find the other.

For candidates that are put together from halves; an index with rows of its own finds neighbours there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.recency import position_of
from reasoningbank.core.turns import conversation_of
from reasoningbank.core.types import Memory
from reasoningbank.ports import Filter, Reader, Store
from reasoningbank.recall.reach import is_allowed

Beside = tuple[Memory | None, Memory | None]
"""The turns just before and just after."""


def turns_beside(store: Store, rows: Mapping[str, Memory], where: Filter) -> dict[str, Beside]:
    """The turns beside each row that is a turn of a conversation, as far as they pass the filter."""
    turns = {i: memory for i, memory in rows.items() if _conversation(memory) is not None}
    if not turns:
        return {}
    with store.read(where.tenant) as reader:
        return {
            i: (_same_talk(memory, _before(reader, memory), where), _same_talk(memory, _after(reader, memory), where))
            for i, memory in turns.items()
        }


def places_beside(ids: Sequence[str], beside: Mapping[str, Beside]) -> NDArray[np.int64]:
    """(n, 2): the places of each row's neighbours among the ids; −1 where there is none."""
    place = {memory_id: row for row, memory_id in enumerate(ids)}
    pairs = {i: [None if turn is None else turn.id for turn in pair] for i, pair in beside.items()}
    for i, (before, after) in list(pairs.items()):
        # A neighbour that was found by nothing but its neighbour hears that one all the same.
        if before is not None:
            pairs.setdefault(before, [None, None])[1] = i
        if after is not None:
            pairs.setdefault(after, [None, None])[0] = i
    places = [[place.get(turn or "", -1) for turn in pairs.get(memory_id, (None, None))] for memory_id in ids]
    return np.array(places, np.int64).reshape(-1, 2)


def _conversation(memory: Memory) -> tuple[str, str] | None:
    conversation = conversation_of(memory.content, memory.source, memory.metadata)
    return None if conversation is None else (memory.namespace, conversation)


def _same_talk(memory: Memory, other: Sequence[Memory], where: Filter) -> Memory | None:
    return next((m for m in other if _conversation(m) == _conversation(memory) and is_allowed(m, where)), None)


def _before(reader: Reader, memory: Memory) -> list[Memory]:
    within = {"namespace": memory.namespace}
    return reader.select(Memory, within, newest_first=True, after=position_of(memory), limit=1)


def _after(reader: Reader, memory: Memory) -> list[Memory]:
    """The next memory by id, which tells the order of what was recorded here; ids of imports tell none, so those
    have no next.
    """
    following = reader.select(Memory, {"namespace": memory.namespace}, after=memory.id, limit=1)
    return [other for other in following if other.created_at >= memory.created_at]
