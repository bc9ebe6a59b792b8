"""Applies a batch of changes to the rows of a generation.

Some changes need a new slot and others are made in place, so that replaying a batch after a crash changes nothing
twice. Independent of locks, files and compaction's switch.

A new slot is needed only when the words change: title, description, content, key or tags. A change of state, scope,
outcome, namespace, agent or task type happens in place and keeps the vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.frozen import replace
from reasoningbank.core.turns import conversation_of
from reasoningbank.core.types import Memory, Standing
from reasoningbank.index.content import Content, Snapshot
from reasoningbank.index.examine import examine_slots
from reasoningbank.index.header import Header
from reasoningbank.index.masks import OUTCOMES, SCOPES, STATES
from reasoningbank.index.rows import BLOCK_ROWS, COPIED, Slots, packed_ids, packed_standings
from reasoningbank.lexical.entries import Entries, entries_of
from reasoningbank.lexical.forms import pack as packed_forms
from reasoningbank.lexical.hashing import ABSENT, id_term, name_key, text_key
from reasoningbank.ports import IndexBatch

_AT_A_TIME = 8192
Columns = dict[str, NDArray[Any]]
Known = tuple[Memory, Standing]


def find(snapshot: Snapshot, ids: Collection[str], *, alive: bool = True) -> dict[str, list[int]]:
    """The slots of each id that has any, oldest first; the dead ones too unless `alive`."""
    if not ids or not snapshot.header.rows:
        return {}
    terms = np.unique(np.array([id_term(memory_id) for memory_id in ids], np.uint32))
    # Once each: a word of one memory may happen to have the term of another's id.
    slots = np.unique(np.concatenate(slots_with(snapshot, terms)))
    if alive:
        slots = slots[snapshot.rows.take("alive", slots) == 1]
    id_set, slots_by_id = set(ids), dict[str, list[int]]()
    for memory_id, slot in zip(snapshot.rows.ids(slots), slots.tolist(), strict=True):
        if memory_id in id_set:
            slots_by_id.setdefault(memory_id, []).append(slot)
    return slots_by_id


def slots_with(snapshot: Snapshot, terms: NDArray[np.uint32]) -> list[NDArray[np.int64]]:
    """The slots that hold each term, dead ones too."""
    if not len(terms):
        return []
    order = terms.argsort()
    parts: list[list[NDArray[Any]]] = [[snapshot.tail.slots[at]] for at in snapshot.tail.find(terms[order])]
    for segment in snapshot.segments:
        start, stop = segment.find(terms[order])
        for i in (stop > start).nonzero()[0].tolist():
            parts[i].append((segment.postings(start[i], stop[i]) >> np.uint32(8)) + np.uint32(segment.first))
    slots = [np.concatenate(of_term).astype(np.int64) for of_term in parts]
    return [slots[i] for i in order.argsort().tolist()]


def change(content: Content, batch: IndexBatch) -> None:
    """Apply everything in the batch but the erasures, as one commit."""
    snapshot = content.snapshot()
    rows, header = snapshot.rows, snapshot.header
    news: dict[str, Known] = {memory.id: (memory, standing) for memory, standing in (*batch.added, *batch.revised)}
    for memory_id in batch.standings.keys() & news.keys():
        news[memory_id] = (news[memory_id][0], batch.standings[memory_id])
    slots_by_id = find(snapshot, [*news, *(i for i in batch.standings if i not in news)])
    fresh, same, dead = _sorted_out(snapshot, news, slots_by_id)
    standings = {
        slots_by_id[i][-1]: standing for i, standing in batch.standings.items() if i in slots_by_id and i not in news
    }
    torn = slots_in_doubt(snapshot)
    slots_to_change = np.array(sorted({*dead, *(slot for slot, _ in same), *standings}), np.int64)
    _check_sound(content, snapshot, np.setdiff1d(slots_to_change, torn))
    for start in range(0, len(fresh), _AT_A_TIME):
        header = _append(content, header, fresh[start : start + _AT_A_TIME], batch.applied)
    rows.announce(slots_to_change, batch.applied)
    if same:
        slots = np.array([slot for slot, _ in same])
        for name, values in columns_of([pair for _, pair in same]).items():
            rows.put(name, slots, values)
    if standings:
        rows.put("standing", np.array(list(standings)), packed_standings(list(standings.values())))
    _put(snapshot, "alive", np.array(dead, np.int64), 0)
    rewritten = np.union1d(slots_to_change, torn)
    if len(rewritten):
        rows.seal(rewritten)
    rows.settle(torn, min(batch.applied, header.applied))
    if batch.applied > header.applied:
        header = replace(header, applied=batch.applied, mark=batch.mark)
    content.commit(header)


def bury(content: Content, ids: Collection[str]) -> None:
    """Hide memories from every search without taking them away: for an index that is in memory only."""
    snapshot = content.snapshot()
    slots = np.array([slot for slots in find(snapshot, ids).values() for slot in slots], np.int64)
    if len(slots):
        _put(snapshot, "alive", slots, 0)
        snapshot.rows.seal(slots)
        content.commit(snapshot.header)


def slots_in_doubt(snapshot: Snapshot) -> Slots:
    """Slots that a batch has changed which never came to count: its writer died, or the power went."""
    rows, position = snapshot.header.rows, np.uint64(snapshot.header.applied)
    blocks = snapshot.rows.blocks("changed")
    whole, rest = divmod(rows, BLOCK_ROWS)
    slots = np.flatnonzero(blocks[:whole] > position)
    # No further than the last row: on a full disk in memory there may be no page to look at behind it.
    return (
        np.concatenate((slots, whole * BLOCK_ROWS + np.flatnonzero(blocks[whole, :rest] > position))) if rest else slots
    )


def _put(snapshot: Snapshot, name: str, slots: Slots, value: int) -> None:
    if len(slots):
        snapshot.rows.put(name, slots, value)


def _check_sound(content: Content, snapshot: Snapshot, slots: Slots) -> None:
    """Raise for damaged rows that are to be changed: they must not be given a new checksum."""
    unsound = slots[~snapshot.rows.sound(slots)] if len(slots) else slots
    # Where an index is continued in memory, another process may have begun to change one meanwhile, and said so first.
    if len(unsound) and (snapshot.rows.take("changed", unsound) <= np.uint64(snapshot.header.applied)).any():
        raise BankDamaged(f"Rows of the index {content.directory.parent} do not match their checksums.")


def _sorted_out(
    snapshot: Snapshot, news: Mapping[str, Known], slots_by_id: Mapping[str, list[int]]
) -> tuple[list[Known], list[tuple[int, Known]], list[int]]:
    """Sort memories into those that get a new slot and those that are changed in theirs; and slots that die."""
    fresh, same, dead = [], [], []
    for memory_id, pair in news.items():
        slots = slots_by_id.get(memory_id, [])
        match = [slot for slot in slots if int(snapshot.rows.take("text", np.array([slot]))[0]) == text_of(pair[0])][
            -1:
        ]
        if match:
            same.append((match[0], pair))
        else:
            fresh.append(pair)
        dead += [slot for slot in slots if slot not in match]
    return fresh, same, dead


def _append(content: Content, header: Header, pairs: Sequence[Known], position: int) -> Header:
    memories = [memory for memory, _ in pairs]
    ids, heap = packed_ids([memory.id for memory in memories], header.heap)
    texts = np.array([text_of(memory) for memory in memories], np.uint64)
    forms = packed_forms([(memory.title, memory.description) for memory in memories])
    alive = np.ones(len(pairs), np.uint8)
    numbers = np.full(len(pairs), position, np.uint64)
    columns = {**columns_of(pairs), "id": ids, "text": texts, "form": forms, "alive": alive, "changed": numbers}
    return content.append(header, columns, entries_of(memories), heap)


def text_of(memory: Memory) -> int:
    return text_key(memory.title, memory.description, memory.content, memory.key or "", *memory.tags)


def _conversation(memory: Memory) -> int:
    """Key of the conversation that a memory is a turn of; `ABSENT` if it is no turn."""
    conversation = conversation_of(memory.content, memory.source, memory.metadata)
    return ABSENT if conversation is None else name_key(memory.tenant, memory.namespace, conversation)


def columns_of(pairs: Sequence[Known]) -> Columns:
    """Columns that may change without a new slot."""
    memories = [memory for memory, _ in pairs]
    return {
        "tenant": np.array([name_key(memory.tenant) for memory in memories], np.uint64),
        "namespace": np.array([name_key(memory.tenant, memory.namespace) for memory in memories], np.uint64),
        "agent": np.array([name_key(memory.agent) for memory in memories], np.uint64),
        "task_type": np.array([name_key(memory.task_type) for memory in memories], np.uint64),
        "conversation": np.array([_conversation(memory) for memory in memories], np.uint64),
        "scope": np.array([SCOPES.index(memory.scope) for memory in memories], np.uint8),
        "outcome": np.array([OUTCOMES.index(memory.outcome) for memory in memories], np.uint8),
        "state": np.array([STATES.index(memory.state) for memory in memories], np.uint8),
        "standing": packed_standings([standing for _, standing in pairs]),
    }


def copy_live(source: Content, target: Content, without: Collection[int], *, healing: bool = False) -> None:
    """Copy the live rows but `without`, in order, with whatever vectors they have; then commit.

    A slot that does not match its checksums is left out when `healing`, and an error otherwise.
    """
    snapshot = source.snapshot()
    old, rows, header = snapshot.header, snapshot.rows, target.snapshot().header
    for first in range(0, old.rows, BLOCK_ROWS):
        last = min(old.rows, first + BLOCK_ROWS)
        by_row, by_words, by_vectors = examine_slots(source, snapshot, first, last)
        sick = by_row | by_words | by_vectors
        if sick.any() and not healing:
            raise BankDamaged(f"Parts of the index {source.directory.parent} do not match their checksums.")
        keep = (rows.span("alive", first, last) == 1) & ~sick
        keep[[slot - first for slot in without if first <= slot < last]] = False
        slots = first + np.flatnonzero(keep)
        if not len(slots):
            continue
        bounds = source.entry_bounds(old, rows, first, last)
        counts = np.diff(bounds)[keep]
        starts = bounds[:-1][keep]
        places = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        entries = Entries(packed=snapshot.entries[places], counts=counts, lengths=rows.take("length", slots))
        ids, heap = packed_ids(rows.ids(slots), header.heap)
        columns = {name: rows.take(name, slots) for name in COPIED}
        header = target.append(header, {**columns, "id": ids}, entries, heap)
        slots_with_vectors = slots[slots < old.embedded]
        if len(slots_with_vectors):
            old_vectors = snapshot.vectors
            vectors = (
                old_vectors.signs[slots_with_vectors],
                old_vectors.finer[slots_with_vectors],
                old_vectors.full[slots_with_vectors],
            )
            header = target.append_vectors(header, vectors, len(slots_with_vectors))
    target.commit(replace(header, applied=old.applied, mark=old.mark))
