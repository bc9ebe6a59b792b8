"""Move a bank to another store: find both backends, bring everything over, and give the target an index of its own."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from reasoningbank.config import from_environment
from reasoningbank.core.errors import InvalidInput
from reasoningbank.location import FILES, Location, file_location
from reasoningbank.store.closed import why_closed
from reasoningbank.store.migrating import Migrated, Migration, Watch, undo
from reasoningbank.store.record_store import RecordStore
from reasoningbank.wiring.backends import backend_of
from reasoningbank.wiring.kept_index import DEFAULT_INDEX, make_kept_index, other_build, parse_kept_index
from reasoningbank.wiring.replaced_index import drop_index

if TYPE_CHECKING:
    from reasoningbank.ports import Edits

__all__ = ["migrate_bank", "undo_migration", "why_closed"]
_IN_POSTGRESQL = "pgvector"
"""The index that only a bank in PostgreSQL can have."""


def migrate_bank(source: Location, target: Location, *, dry_run: bool = False, watch: Watch | None = None) -> Migrated:
    """Nothing is made at the target by a dry run, nor for a bank that cannot be moved."""
    source, target = _absolute(source), _absolute(target)
    if source == target:
        raise InvalidInput(f"{source} cannot be moved to itself: name another place.")
    with closing(_store(source, create=False, read_only=dry_run)) as there:
        if not backend_of(target).exists(target):
            from reasoningbank.store.memory import MemoryEngine

            rehearsal = Migration(there.engine, MemoryEngine(), {}).rehearse()
            if dry_run:
                return rehearsal
        with closing(_store(target, create=not dry_run, read_only=dry_run)) as here:
            migration = Migration(
                there.engine,
                here.engine,
                _settings_at(target),
                watch=watch,
                before_opening=lambda: drop_index(target, from_environment()),
            )
            return migration.rehearse() if dry_run else migration.run()


def undo_migration(source: Location, target: Location | None) -> None:
    """Without the target, nobody looks whether it holds something new."""
    with closing(_store(_absolute(source), create=False)) as there:
        if target is None:
            undo(there.engine, None, ())
            return
        with closing(_store(_absolute(target), create=False)) as here:
            undo(there.engine, here.engine, _settings_at(target))


def _settings_at(target: Location) -> Edits:
    """An index is a view of the records that it has followed, never of those in another place."""

    def index(setting: str) -> str:
        kept = parse_kept_index(setting)
        if kept.engine == _IN_POSTGRESQL and target.scheme == FILES:
            return str(make_kept_index(kept.identity, DEFAULT_INDEX, ""))
        return other_build(setting)

    return {"index": index, "reindex": lambda _: ""}


def _absolute(location: Location) -> Location:
    """A bank that was moved names the other one, to whoever reads it wherever."""
    return file_location(location.absolute_url) if location.scheme == FILES else location


def _store(location: Location, *, create: bool, read_only: bool = False) -> RecordStore:
    backend = backend_of(location)
    store = backend.open(location, durability="full", create=create, read_only=read_only, clock=time.time)
    if not isinstance(store, RecordStore):
        raise InvalidInput(f"{location} keeps its records in a way of its own: use export and import.")
    return store
