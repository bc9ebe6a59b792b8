"""Move a bank to another store: find both backends, copy, and give the target an index of its own."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from reasoningbank.core.errors import InvalidInput
from reasoningbank.store.migrating import Migrated, migrate
from reasoningbank.store.record_store import RecordStore
from reasoningbank.wiring.backends import backend_of
from reasoningbank.wiring.engine import drop_index, other_build

if TYPE_CHECKING:
    from reasoningbank.location import Location
    from reasoningbank.ports import Tick


def migrate_bank(source: Location, target: Location, *, dry_run: bool, progress: Tick | None = None) -> Migrated:
    """Nothing is made at the target by a dry run."""
    if source == target:
        raise InvalidInput(f"{source} cannot be moved to itself: name another place.")
    with closing(_store(source, create=False, read_only=True)) as there:
        if dry_run and not backend_of(target).exists(target):
            from reasoningbank.store.memory import MemoryEngine

            return migrate(there.engine, MemoryEngine(), {}, dry_run=True)
        with closing(_store(target, create=not dry_run, read_only=dry_run)) as here:
            settings = {"index": other_build, "reindex": lambda _: ""}
            done = migrate(there.engine, here.engine, settings, dry_run=dry_run, progress=progress)
    if not dry_run:
        drop_index(target)
    return done


def _store(location: Location, *, create: bool, read_only: bool) -> RecordStore:
    backend = backend_of(location)
    store = backend.open(location, durability="full", create=create, read_only=read_only, clock=time.time)
    if not isinstance(store, RecordStore):
        raise InvalidInput(f"{location} keeps its records in a way of its own: use export and import.")
    return store
