"""The feed: every committed change in order, for followers that build views of the records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.errors import BankDamaged
from reasoningbank.core.types import Change, Op, Record
from reasoningbank.store.coding import table_of
from reasoningbank.store.selection import Selection
from reasoningbank.store.tables import FEED

if TYPE_CHECKING:
    from reasoningbank.store.engine import Engine, Row

R = TypeVar("R", bound=Record)
_COLUMNS = ("seq", "kind", "op", "id", "tenant", "at")
_HEAD = Selection(FEED, ("max:seq",))


def head(engine: Engine) -> int:
    """Number of the last committed change; 0 before the first."""
    ((number,),) = engine.scan(_HEAD)
    return number or 0


def changes(engine: Engine, after: int, limit: int) -> list[Change]:
    return decode_changes(engine, engine.scan(after_position(after, limit)))


def after_position(after: int, limit: int) -> Selection:
    return Selection(FEED, _COLUMNS, (("seq", ">", after),), order=("seq",), limit=limit)


def decode_changes(engine: Engine, rows: Sequence[Row]) -> list[Change]:
    try:
        return [
            Change(seq=seq, kind=kind, op=Op(op), id=record_id, tenant=tenant, at=at)
            for seq, kind, op, record_id, tenant, at in rows
        ]
    except ValueError as error:
        location = engine.info.location
        raise BankDamaged(f"The feed of {location} is damaged ({error}). {engine.remedy}") from error


def unscoped(engine: Engine, kind: type[R], ids: Sequence[str]) -> dict[str, R]:
    """Records of any tenant; a damaged one does not keep the others out of a view."""
    coding = table_of(kind)
    rows = engine.salvage(coding.table, ids)
    return {row[0]: coding.decode(row) for row in rows if coding.intact(row)}
