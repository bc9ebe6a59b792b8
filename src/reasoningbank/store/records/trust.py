"""Trust in memories: levels, the parents under which they hang, and marks to know their text again by.

Views of origins, parents and rulings, kept so that no search has to walk a family.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reasoningbank.core.types import Memory
from reasoningbank.ports import FEWEST_WORDS_ALIKE
from reasoningbank.store.coding import table_of
from reasoningbank.store.records.reading import RecordRows, pairs
from reasoningbank.store.selection import Join, Selection, any_of, equal
from reasoningbank.store.tables import KIN, MARKS, MEMORIES, NUM, TRUST, IfTaken

if TYPE_CHECKING:
    from reasoningbank.store.engine import RowTransaction

_MOST_WITH_A_WORD = 24
"""Most memories, the newest, that are looked at for one word that many may have."""
_MARKED = (Join(MEMORIES, (("memory", NUM),)),)


def kept_levels(ids: Sequence[str]) -> Selection:
    return Selection(TRUST, ("memory_id", "level"), any_of("memory_id", ids))


class TrustRows(RecordRows):
    def trust_levels(self, ids: Sequence[str]) -> dict[str, int]:
        return pairs(self._rows.scan(kept_levels(ids)))

    def trust_and_memories(
        self, ids: Sequence[str], memory_ids: Sequence[str]
    ) -> tuple[dict[str, int], dict[str, Memory]]:
        coding = table_of(Memory)
        selections = [
            kept_levels(ids),
            Selection(coding.table, coding.row, any_of("id", memory_ids)),
        ]
        levels, rows = self._rows.scan_each(selections)
        return pairs(levels), {row[0]: coding.decode(row) for row in rows if coding.intact(row)}

    def derived_ids(self, ids: Sequence[str]) -> list[str]:
        rows = self._rows.scan(Selection(KIN, ("memory_id",), any_of("parent_id", ids)))
        return sorted({memory_id for (memory_id,) in rows})

    def matching_fingerprints(self, marks: Sequence[int], words: Sequence[int] = ()) -> dict[str, int]:
        selections = [
            Selection(MARKS, ("memories.id", "count"), any_of("mark", tuple(dict.fromkeys(marks))), _MARKED),
            Selection(MARKS, ("memories.id", "count"), any_of("mark", tuple(words)), _MARKED, latest=_MOST_WITH_A_WORD),
        ]
        in_a_row, by_words = (pairs(rows) for rows in self._rows.scan_each(selections))
        matches = {memory_id: times + by_words.pop(memory_id, 0) for memory_id, times in in_a_row.items()}
        return matches | {memory_id: times for memory_id, times in by_words.items() if times >= FEWEST_WORDS_ALIKE}


def put_trust(rows: RowTransaction, memory: Memory, level: int, marks: Sequence[int]) -> None:
    rows.put(TRUST, [(memory.tenant, memory.id, int(level))], IfTaken.REPLACE)
    if memory.revision > 1:
        rows.delete(KIN, (*equal(memory_id=memory.id), ("parent_id", "not in", memory.parents)))
    if memory.parents:
        rows.put(KIN, [(memory.tenant, parent, memory.id) for parent in memory.parents], IfTaken.KEEP)
    if marks:
        rows.put(MARKS, [(mark, memory.id) for mark in marks], IfTaken.KEEP)


def delete_marks(rows: RowTransaction, memory_id: str) -> None:
    """Delete the marks of a memory. They are found by mark only: this reads all of them, which an erasure may take,
    and only trust has any.
    """
    if list(rows.scan(Selection(TRUST, ("level",), equal(memory_id=memory_id)))):
        for (number,) in list(rows.scan(Selection(MEMORIES, (NUM,), equal(id=memory_id)))):
            rows.delete(MARKS, equal(memory=number))
