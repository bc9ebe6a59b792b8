"""Creation time of a record, and its position in a list that is ordered by it.

Newest first is by the moment a record was made, then by its id: the moment never changes, so an edit moves nothing from
one page to another. An id alone tells no time: those of imports and of captured sessions are hashes.
"""

from __future__ import annotations

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.record_kinds import kind_of
from reasoningbank.core.types import Record

_BETWEEN = "@"


@dataclass(frozen=True, slots=True)
class ListPosition:
    """A place between two records of a list; it holds when the record that it was made from is gone."""

    id: str
    at: float | None
    """None when only an id is known: the record has to be looked up."""


def position_of(record: Record) -> str:
    """The place after a record in a list, newest first: for the page that follows it."""
    field = kind_of(type(record)).made_at
    return record.id if not field else f"{record.id}{_BETWEEN}{float(getattr(record, field))!r}"


def parse_position(text: str) -> ListPosition:
    """A place as `position_of` wrote it, or a bare id."""
    record_id, between, moment = text.rpartition(_BETWEEN)
    if not between:
        return ListPosition(id=text, at=None)
    try:
        return ListPosition(id=record_id, at=float(moment))
    except ValueError:
        raise InvalidInput(f"{text!r} is no place in a list: begin without one.") from None
