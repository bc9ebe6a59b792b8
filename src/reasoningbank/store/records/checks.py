"""Check that the feed, the kept trust and the tokens of a bank agree with its records.

Views that follow the feed would stop at a wrong line of it, or miss a memory; and who is believed hangs on what is kept
beside the memories. Rows and the medium itself are the engine's to check.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from reasoningbank.core.errors import StoreError
from reasoningbank.core.origins import Trust
from reasoningbank.core.record_kinds import RECORDS
from reasoningbank.core.types import Op
from reasoningbank.ports import Damage
from reasoningbank.store.records.tokens import ALTERED, token_from
from reasoningbank.store.selection import Join, Selection, equal
from reasoningbank.store.tables import FEED, KIN, MARKS, MEMORIES, NUM, TOKENS, TRUST

if TYPE_CHECKING:
    from reasoningbank.store.engine import Row

Scan = Callable[[Selection], Iterable["Row"]]
_NOTHING = "[]"
_OF_A_MEMORY = (("memory_id", "id"), ("tenant", "tenant"))


def find_inconsistencies(scan: Scan) -> Iterator[Damage]:
    for kind, problem, find in _CHECKS:
        try:
            for record_id in find(scan):
                yield Damage(kind=kind, id=str(record_id), problem=problem)
        except (StoreError, TypeError, ValueError) as error:
            yield Damage(kind=kind, id="", problem=f"unreadable: {error}")


def _unknown_changes(scan: Scan) -> Iterable[int]:
    vocabulary = (("op", [op.value for op in Op]), ("kind", [kind.noun for kind in RECORDS]))
    selections = [Selection(FEED, ("seq",), ((column, "not in", words),)) for column, words in vocabulary]
    return sorted({number for selection in selections for (number,) in scan(selection)})


def _changes_of_nothing(scan: Scan) -> Iterable[int]:
    removals = {name for (name,) in scan(Selection(FEED, ("id",), equal(kind="memory", op=Op.REMOVE)))}
    without = Join(MEMORIES, (("id", "id"), ("tenant", "tenant")))
    orphans = scan(Selection(FEED, ("id", "min:seq"), equal(kind="memory"), without=without))
    return sorted(number for name, number in orphans if name not in removals)


def _wrong_levels(scan: Scan) -> Iterable[str]:
    return _ids(scan(Selection(TRUST, ("memory_id",), (("level", "not in", [int(level) for level in Trust]),))))


def _trust_of_nothing(scan: Scan) -> Iterable[str]:
    return _ids(scan(Selection(TRUST, ("memory_id",), without=Join(MEMORIES, _OF_A_MEMORY))))


def _derived_without_trust(scan: Scan) -> Iterable[str]:
    without = Join(TRUST, (("id", "memory_id"), ("tenant", "tenant")))
    return _ids(scan(Selection(MEMORIES, ("id",), (("parents", "not", _NOTHING),), without=without)))


def _missing_kin(scan: Scan) -> Iterable[str]:
    return sorted({child for _, _, child in _families(scan) - _kin(scan)})


def _wrong_kin(scan: Scan) -> Iterable[str]:
    # What hung under an erased memory keeps hanging there; what was itself erased is nobody's.
    orphans = set(_ids(scan(Selection(KIN, ("memory_id",), without=Join(MEMORIES, _OF_A_MEMORY)))))
    return sorted({child for _, _, child in _kin(scan) - _families(scan)} - orphans)


def _marks_of_nothing(scan: Scan) -> Iterable[str]:
    orphans = scan(Selection(MARKS, ("memory",), without=Join(MEMORIES, (("memory", NUM),))))
    return sorted({str(number) for (number,) in orphans})


def _altered_tokens(scan: Scan) -> Iterable[str]:
    tokens = map(token_from, scan(Selection(TOKENS, TOKENS.written, order=("created_at", "id"))))
    return [token.id for token in tokens if not token.intact]


def _families(scan: Scan) -> set[tuple[str, str, str]]:
    rows = scan(Selection(MEMORIES, ("tenant", "id", "parents"), (("parents", "not", _NOTHING),)))
    return {(tenant, parent, child) for tenant, child, parents in rows for parent in json.loads(parents)}


def _kin(scan: Scan) -> set[tuple[str, str, str]]:
    return {(tenant, parent, child) for tenant, parent, child in scan(Selection(KIN, KIN.written))}


def _ids(rows: Iterable[Row]) -> list[str]:
    return [name for (name,) in rows]


_CHECKS: tuple[tuple[str, str, Callable[[Scan], Iterable[object]]], ...] = (
    ("feed", "a change of no known kind", _unknown_changes),
    ("feed", "a change of a memory that never was", _changes_of_nothing),
    ("trust", "a kept trust that is none", _wrong_levels),
    ("trust", "a kept trust without its memory", _trust_of_nothing),
    ("trust", "no kept trust, though it was made from others", _derived_without_trust),
    ("trust", "not found under one of its parents", _missing_kin),
    ("trust", "found under a parent that it does not have", _wrong_kin),
    ("trust", "a mark without its memory", _marks_of_nothing),
    ("token", ALTERED, _altered_tokens),
)
