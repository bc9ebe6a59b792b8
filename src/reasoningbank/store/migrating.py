"""Move a bank from any store to any other: go on after a kill, and compare both sides row by row at the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from reasoningbank.core.errors import InvalidInput
from reasoningbank.store import feed
from reasoningbank.store.row_copy import Place, Progress, check_equal, copy_rows, count_all_rows, count_rows
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.tables import FEED, SETTINGS, TABLES, TOKENS, IfTaken

if TYPE_CHECKING:
    from reasoningbank.ports import Edits
    from reasoningbank.store.engine import Engine, RowTransaction

_NOTE = "migrating"
"""The setting of a bank that is not whole yet: where it comes from, and how far it has come."""


class Migrated(NamedTuple):
    rows: int
    went_on: bool
    """A copy that was begun before was finished."""
    missing: int
    """Changes that came to the source meanwhile, and are not at the target."""


def migrate(
    source: Engine, target: Engine, settings: Edits, *, dry_run: bool = False, progress: Progress | None = None
) -> Migrated:
    """Copy one moment of the source into a target without records; `settings` are rewritten there."""
    with source.read(None) as rows:
        ((last,),) = rows.scan(Selection(FEED, ("max:seq",)))
        head = int(last or 0)
        origin = [str(source.info.location), head]
        start = _place_to_go_on(target, origin)
        if dry_run:
            return Migrated(count_all_rows(rows), start is not None, 0)
        if start is None:
            target.write(None, _empty)

        def note(written: RowTransaction, place: Place) -> None:
            written.put(SETTINGS, [(_NOTE, json.dumps([origin, place]))], IfTaken.REPLACE)

        copy_rows(rows, target, progress, start=start, note=note)
        with target.read(None) as copied:
            checked = check_equal(rows, copied, str(target.info.location), but=_NOTE)
    target.write(None, lambda written: _finish(written, settings))
    return Migrated(checked, start is not None, feed.head(source) - head)


def _place_to_go_on(target: Engine, origin: list[Any]) -> Place | None:
    """None: from the beginning. A bank that holds something of its own is refused."""
    noted = target.scan(Selection(SETTINGS, ("value",), equal(name=_NOTE)))
    if not noted:
        with target.read(None) as rows:
            if count_rows(rows, FEED) or count_rows(rows, TOKENS):
                raise InvalidInput(
                    f"{target.info.location} holds a bank already. Name a new place, or remove that bank first."
                )
        return None
    begun, (table, place) = json.loads(noted[0][0])
    # What has changed since is told by no place: then it is begun anew.
    return (table, tuple(place)) if begun == origin else None


def _empty(rows: RowTransaction) -> None:
    for table in reversed(TABLES):
        rows.delete(table, ())


def _finish(rows: RowTransaction, settings: Edits) -> None:
    for name, rewritten in settings.items():
        for (value,) in list(rows.scan(Selection(SETTINGS, ("value",), equal(name=name)))):
            rows.put(SETTINGS, [(name, rewritten(str(value)))], IfTaken.REPLACE)
    rows.delete(SETTINGS, equal(name=_NOTE))
