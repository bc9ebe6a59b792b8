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


def differences(snapshot: Snapshot, known: Sequence[tuple[Memory, Standing]]) -> dict[str, str]:
    """Of those memories that the index lacks or knows otherwise, what is the matter with each."""
    slots = find(snapshot, [memory.id for memory, _ in known])
    found = {memory.id: "it is not in the index" for memory, _ in known if memory.id not in slots}
    here = [pair for pair in known if pair[0].id in slots]
    if not here:
        return found
    at = np.array([slots[memory.id][-1] for memory, _ in here], np.int64)
    for memory, _ in here:
        if len(slots[memory.id]) > 1:
            found[memory.id] = "it is in the index more than once"
    texts = snapshot.rows.take("text", at).tolist()
    for (memory, _), text in zip(here, texts, strict=True):
        if text != text_of(memory):
            found.setdefault(memory.id, "the index knows other words of it")
    for name, values in columns_of(here).items():
        held = snapshot.rows.take(name, at)
        for (memory, _), one, other in zip(here, held.tolist(), values.tolist(), strict=True):
            if one != other:
                found.setdefault(memory.id, f"the index knows another {_NAMES[name]} of it")
    return found
