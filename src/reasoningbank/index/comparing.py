"""Compares what an index knows of memories with the memories themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reasoningbank.core.types import Memory, Standing
from reasoningbank.index.changes import columns_of, find, text_of
from reasoningbank.index.content import Snapshot

_NAMES = {
    "tenant": "tenant", "namespace": "namespace", "agent": "agent", "task_type": "task type",
    "conversation": "conversation", "scope": "scope", "outcome": "outcome", "state": "state", "standing": "evidence",
}  # fmt: skip


def differences(snapshot: Snapshot, records: Sequence[tuple[Memory, Standing]]) -> dict[str, str]:
    """The problem with each of those memories that the index lacks or knows otherwise, by id."""
    slots = find(snapshot, [memory.id for memory, _ in records])
    problems = {memory.id: "it is not in the index" for memory, _ in records if memory.id not in slots}
    here = [pair for pair in records if pair[0].id in slots]
    if not here:
        return problems
    at = np.array([slots[memory.id][-1] for memory, _ in here], np.int64)
    for memory, _ in here:
        if len(slots[memory.id]) > 1:
            problems[memory.id] = "it is in the index more than once"
    texts = snapshot.rows.take("text", at).tolist()
    for (memory, _), text in zip(here, texts, strict=True):
        if text != text_of(memory):
            problems.setdefault(memory.id, "the index knows other words of it")
    for name, values in columns_of(here).items():
        column = snapshot.rows.take(name, at)
        for (memory, _), value, record_value in zip(here, column.tolist(), values.tolist(), strict=True):
            if value != record_value:
                problems.setdefault(memory.id, f"the index knows another {_NAMES[name]} of it")
    return problems
