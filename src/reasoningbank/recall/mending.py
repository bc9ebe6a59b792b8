"""Compares an index with the records, and rebuilds what of it is damaged.

Knows which memories an index should hold as of the change that it has come to. How it keeps them, and how it knows that
something is damaged, is its own business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reasoningbank.core.types import Op, Signal
from reasoningbank.ports import Damage, IndexBatch, IndexUpkeep
from reasoningbank.recall.index_follower import Follower

CHANGES_PER_PAGE = 10_000
ROWS_PER_BATCH = 2_000
LOOKS = 3
"""Somebody may be writing: what is wrong is found each time."""


def batches_to_restore(follower: Follower, whole: Sequence[str]) -> Iterator[IndexBatch]:
    """What an index lacks that has only the `whole` ids left."""
    position = follower.index.position
    there = ids_as_of(follower, position.applied)
    held = set(whole)
    for ids in _pages([i for i in there if i not in held]):
        rows = follower.rows(ids)
        standings = follower.standings(rows)
        added = [(row, standings[i]) for i, row in rows.items()]
        yield IndexBatch(added=added, applied=position.applied, mark=position.mark)


def mend(follower: Follower, wait_s: float, *, thorough: bool = False) -> bool:
    """Build again what is damaged, keeping the rest; False when nothing is, or somebody else has the index.

    `thorough` holds all of it against the records besides: damage that the checksums do not show is of our own making.
    """
    with follower.writing(wait_s) as granted:
        if not granted:
            return False
        if follower.is_astray():
            follower.index.clear()
            return True
        upkeep = follower.index.upkeep
        if upkeep is None:
            return False
        damaged = bool(upkeep.damage())
        if damaged:
            upkeep.heal(lambda whole: batches_to_restore(follower, whole))
        return (thorough and _correct(follower, upkeep)) or damaged


def find_damage(follower: Follower) -> list[Damage]:
    """What of the index is damaged, or differs from the records: lacking, surplus, stale."""
    if follower.is_astray():
        problem = "it followed another history than that of the records"
        return [Damage(kind="index", id="", problem=problem)]
    upkeep = follower.index.upkeep
    if upkeep is None:
        return []
    found = _found_once(follower, upkeep)
    for _ in range(1, LOOKS):
        if not found:
            break
        again = set(_found_once(follower, upkeep))
        found = [damage for damage in found if damage in again]
    return found


def _found_once(follower: Follower, upkeep: IndexUpkeep) -> list[Damage]:
    found = upkeep.damage()
    named = {damage.id for damage in found}
    return found + [
        Damage(kind="index", id=i, problem=problem)
        for i, problem in _unlike(follower, upkeep).items()
        if i not in named
    ]


def _unlike(follower: Follower, upkeep: IndexUpkeep) -> dict[str, str]:
    """Ids of which the index knows something else than the records, and what."""
    applied = follower.index.position.applied
    there = ids_as_of(follower, applied)
    found: dict[str, str] = {}
    for ids in _pages(there):
        rows = follower.rows(ids)
        standings = follower.standings(rows)
        found.update(upkeep.differences([(row, standings[i]) for i, row in rows.items()]))
    found.update((i, "the index holds it and the records do not") for i in set(upkeep.ids()).difference(there))
    for i in _changed_since(follower, applied):
        found.pop(i, None)
    return found


def _correct(follower: Follower, upkeep: IndexUpkeep) -> bool:
    """Let the index know what the records say, where it is whole and yet says otherwise; whether it was."""
    wrong = list(_unlike(follower, upkeep))
    for ids in _pages(wrong):
        follower.index.apply(follower.as_they_are(ids))
    return bool(wrong)


def ids_as_of(follower: Follower, applied: int) -> list[str]:
    """The ids that there were as of a change, whether the records still have them or not."""
    there: dict[str, None] = {}
    after = 0
    while after < applied and (changes := follower.store.changes(after, CHANGES_PER_PAGE)):
        for change in changes:
            if change.kind not in follower.kinds or change.seq > applied:
                continue
            if change.op is Op.REMOVE:
                there.pop(change.id, None)
            else:
                there[change.id] = None
        after = changes[-1].seq
    return list(there)


def _changed_since(follower: Follower, applied: int) -> set[str]:
    changed: set[str] = set()
    after = applied
    while changes := follower.store.changes(after, CHANGES_PER_PAGE):
        changed.update(change.id for change in changes if change.kind in follower.kinds)
        signals = [change.id for change in changes if change.kind == "signal"]
        changed.update(signal.memory_id for signal in follower.store.unscoped(Signal, signals).values())
        after = changes[-1].seq
    return changed


def _pages(ids: Sequence[str]) -> Iterable[list[str]]:
    return (list(ids[start : start + ROWS_PER_BATCH]) for start in range(0, len(ids), ROWS_PER_BATCH))
