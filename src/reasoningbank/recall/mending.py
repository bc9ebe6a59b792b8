"""Compares an index with the records, and rebuilds what of it is damaged.

The feed tells which memories an index should hold as of the change that it has come to. How it keeps them, and how it
notices damage, is its own business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from reasoningbank.core.errors import BankDamaged, EmbedderMismatch
from reasoningbank.core.types import Op, Scope, Signal, State
from reasoningbank.lexical.word_rows import word_rows
from reasoningbank.ports import Damage, Filter, Halves, Index, IndexBatch, IndexPosition, IndexUpkeep
from reasoningbank.recall.index_follower import Follower, text_to_embed

CHANGES_PER_PAGE = 10_000
ROWS_PER_BATCH = 2_000
LOOKS = 3
"""Somebody may be writing: what is wrong is found each time."""


def batches_to_restore(follower: Follower, whole: Sequence[str]) -> Iterator[IndexBatch]:
    """Batches of the rows that an index lacks which has only the `whole` ids left."""
    position = follower.index.position
    there = _ids_as_of(follower, position.applied)
    present = set(whole)
    for ids in _pages([i for i in there if i not in present]):
        rows = follower.rows(ids)
        standings = follower.standings(rows)
        entries = [(row, standings[i]) for i, row in rows.items()]
        yield IndexBatch(added=entries, applied=position.applied, mark=position.mark)


def mend(follower: Follower, wait_s: float, *, thorough: bool = False) -> bool:
    """Build again what is damaged, keeping the rest; False when nothing is, or somebody else has the index.

    `thorough` holds all of it against the records besides: damage that the checksums do not show is of our own making.
    """
    upkeep = follower.index.upkeep
    if upkeep is None and not _is_to_begin_anew(follower, thorough=thorough):
        # Looked at before anybody is kept from writing: to hold a server against the records takes a while.
        return False
    with follower.writing(wait_s) as is_writer:
        if not is_writer:
            return False
        if _is_to_begin_anew(follower, thorough=thorough) if upkeep is None else follower.is_astray():
            follower.index.clear()
            return True
        if upkeep is None:
            return False
        has_damage = bool(upkeep.damage())
        if has_damage:
            upkeep.heal(lambda whole: batches_to_restore(follower, whole))
        # What is whole and yet says otherwise than the records.
        differing_ids = list(_unlike(follower, upkeep)) if thorough else []
        for ids in _pages(differing_ids):
            follower.index.apply(follower.as_they_are(ids))
        return bool(differing_ids) or has_damage


def empty(follower: Follower, wait_s: float) -> bool:
    """Begin an index in a server anew, that cannot be mended, unless another process just has; False where somebody
    else keeps it.
    """
    position = follower.seen_position()
    with follower.writing(wait_s) as is_writer:
        if is_writer and (position is None or _position_of(follower.index) in (None, position)):
            follower.index.clear()
        return is_writer


def _position_of(index: Index) -> IndexPosition | None:
    try:
        return index.position
    except (BankDamaged, EmbedderMismatch):
        return None


def find_damage(follower: Follower) -> list[Damage]:
    """Damage of the index, and its differences from the records: lacking, surplus, stale."""
    if follower.is_astray():
        problem = "it followed another history than that of the records"
        return [Damage(kind="index", id="", problem=problem)]
    upkeep = follower.index.upkeep
    if upkeep is None:
        return _halves_differences(follower)
    damages = _found_once(follower, upkeep)
    for _ in range(1, LOOKS):
        if not damages:
            break
        again = set(_found_once(follower, upkeep))
        damages = [damage for damage in damages if damage in again]
    return damages


def _is_to_begin_anew(follower: Follower, *, thorough: bool) -> bool:
    """True if an index in a server is of another history, or looked at closely lacks something."""
    return follower.is_astray() or (thorough and bool(_halves_differences(follower)))


def _halves_differences(follower: Follower) -> list[Damage]:
    """Differences of an index in a server from the records: what it lacks, has too much of or knows otherwise. Not
    every one can be asked for all that it holds; how many memories of each tenant, and which have vectors, every
    one can.
    """
    halves, seq = follower.index.halves, follower.index.position.applied
    if seq == 0:
        # None is there: whatever lies in its place is none, and goes when one is built.
        return []
    there = _ids_as_of(follower, seq)
    owed = set(follower.index.awaiting_vectors(len(there) + 1))
    examination, recent_ids = halves.examination, _changed_since(follower, seq)
    problems: list[tuple[str, str]] = []
    if (count := halves.words.count()) != len(there):
        problems.append(("", f"it holds {_memories(count)} where the records have {len(there):,}"))
    of_tenants = Counter[str]()
    for ids in _pages(there):
        rows = follower.rows(ids)
        of_tenants.update(row.tenant for row in rows.values())
        if examination is not None:
            differences = examination.differences(word_rows([row for i, row in rows.items() if i not in recent_ids]))
            problems += differences.items()
        due = [i for i in ids if i not in owed]
        lacking = set(due).difference(halves.vectors.fetch(due))
        problems += [
            (i, "the index has no vector of it")
            for i, row in rows.items()
            if i in lacking and text_to_embed(row).strip()
        ]
    if sum(of_tenants.values()) == len(there):
        problems += _tenant_differences(halves, of_tenants)
    if examination is not None:
        problems += [("", problem) for problem in examination.contradictions()]
    # Somebody may have written meanwhile.
    if follower.index.position.applied != seq:
        return []
    return [Damage(kind="index", id=i, problem=problem) for i, problem in problems]


def _tenant_differences(halves: Halves, of_tenants: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    everything = [Filter(tenant=tenant, scopes=tuple(Scope), states=tuple(State)) for tenant in of_tenants]
    for (tenant, count), index_count in zip(of_tenants.items(), halves.words.counts(everything), strict=True):
        if index_count != count:
            yield "", f"it holds {_memories(index_count)} of the tenant {tenant} where the records have {count:,}"


def _memories(count: int) -> str:
    return f"{count:,} {'memory' if count == 1 else 'memories'}"


def _found_once(follower: Follower, upkeep: IndexUpkeep) -> list[Damage]:
    damages = upkeep.damage()
    ids = {damage.id for damage in damages}
    return damages + [
        Damage(kind="index", id=i, problem=problem) for i, problem in _unlike(follower, upkeep).items() if i not in ids
    ]


def _unlike(follower: Follower, upkeep: IndexUpkeep) -> dict[str, str]:
    """Ids of which the index knows something else than the records, and what."""
    seq = follower.index.position.applied
    there = _ids_as_of(follower, seq)
    differences: dict[str, str] = {}
    for ids in _pages(there):
        rows = follower.rows(ids)
        standings = follower.standings(rows)
        differences.update(upkeep.differences([(row, standings[i]) for i, row in rows.items()]))
    differences.update((i, "the index holds it and the records do not") for i in set(upkeep.ids()).difference(there))
    for i in _changed_since(follower, seq):
        differences.pop(i, None)
    return differences


def _ids_as_of(follower: Follower, seq: int) -> list[str]:
    """The ids that there were as of a change, whether the records still have them or not."""
    there: dict[str, None] = {}
    after = 0
    while after < seq and (changes := follower.store.changes(after, CHANGES_PER_PAGE)):
        for change in changes:
            if change.kind not in follower.kinds or change.seq > seq:
                continue
            if change.op is Op.REMOVE:
                there.pop(change.id, None)
            else:
                there[change.id] = None
        after = changes[-1].seq
    return list(there)


def _changed_since(follower: Follower, seq: int) -> set[str]:
    ids: set[str] = set()
    after = seq
    while changes := follower.store.changes(after, CHANGES_PER_PAGE):
        ids.update(change.id for change in changes if change.kind in follower.kinds)
        signals = [change.id for change in changes if change.kind == "signal"]
        ids.update(signal.memory_id for signal in follower.store.unscoped(Signal, signals).values())
        after = changes[-1].seq
    return ids


def _pages(ids: Sequence[str]) -> Iterable[list[str]]:
    return (list(ids[start : start + ROWS_PER_BATCH]) for start in range(0, len(ids), ROWS_PER_BATCH))
