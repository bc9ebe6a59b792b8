"""Answers to writes that carried a key: kept with the change that they answer, so that it is done once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reasoningbank.core.types import KeptReply
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.tables import REPLIES

if TYPE_CHECKING:
    from reasoningbank.store.engine import RowTransaction

_SAID = REPLIES.written[1:]


def find_reply(rows: RowTransaction, caller: str, key: str) -> KeptReply | None:
    for row in rows.scan(Selection(REPLIES, _SAID, equal(caller=caller, key=key))):
        return KeptReply(**dict(zip(_SAID, row, strict=True)))
    return None


def put_reply(rows: RowTransaction, reply: KeptReply, drop_before: float | None) -> None:
    if drop_before is not None:
        rows.of_all_tenants().delete(REPLIES, (("at", "<", drop_before),))
    rows.put(REPLIES, [(rows.tenant, *(getattr(reply, column) for column in _SAID))])


def drop_replies_about(rows: RowTransaction, record_id: str) -> None:
    """An erased record must not live on in an answer that was kept about it."""
    rows.delete(REPLIES, (("body", "holds", record_id.encode("utf-8", "surrogatepass")),))
