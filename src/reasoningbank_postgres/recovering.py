"""Put a backup in the place of a bank in PostgreSQL, and what was there aside.

The backup fills a schema beside the bank's and is checked there row by row; then both change their names in one
transaction. So a kill at any moment leaves the one or the other, and undoing it is another change of names.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from reasoningbank.core.errors import BankDamaged, BankForeign, BankUnavailable, StoreError
from reasoningbank.core.failure import OnError
from reasoningbank.location import Location
from reasoningbank.ports import Contents, Recovered
from reasoningbank.store.record_store import RecordStore
from reasoningbank.store.row_copy import Progress, copy_rows
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.sqlite.store import SqliteStore
from reasoningbank.store.tables import FEED, MEMORIES, SETTINGS, IfTaken
from reasoningbank_postgres.address import PostgresAddress, location_in_schema, parse_address
from reasoningbank_postgres.connections import TimedConnection, connect, patiently, roll_back
from reasoningbank_postgres.error_mapping import translate
from reasoningbank_postgres.migrations import version_of
from reasoningbank_postgres.opening import LOCK, WRITING, lock_number
from reasoningbank_postgres.store import PostgresStore

if TYPE_CHECKING:
    from reasoningbank.ports import Edits
    from reasoningbank.store.engine import Engine

_SCHEMA = "SELECT 1 FROM pg_namespace WHERE nspname = %s"


def recover(
    location: Location, backup: Path, *, kept_as: str, settings: Edits, dry_run: bool, progress: Progress | None
) -> Recovered:
    """Fill a schema beside the bank's, check it row by row, and exchange the names of both in one transaction."""
    address = parse_address(location)
    before, trouble = _present(location)
    if not backup.is_file():
        kept_before = location_in_schema(location, backup.name)
        if not re.fullmatch(rf"{_stem(address)}_replaced_\w+", str(backup)) or not _holds_bank(kept_before):
            raise BankUnavailable(f"There is no backup at {backup}, and no bank that was kept under this name.")
        return _recover_kept(location, kept_before, settings, kept_as, before, dry_run=dry_run)
    staging = location_in_schema(location, f"{_stem(address)}_staged")
    with closing(SqliteStore(backup, create=False, read_only=True)) as source:
        _check_whole(source, backup)
        after = _contents_of(source.engine)
        if dry_run:
            return Recovered(bank=location, before=before, trouble=trouble, after=after, kept=None)
        _drop_bank(staging)
        with OnError(lambda _: _drop_bank(staging)):
            with closing(PostgresStore(staging)) as target, source.engine.read(None) as rows:
                copy_rows(rows, target.engine, progress)
                _rewrite(target.engine, settings)
                _check_whole(target, backup)
            old_name = _exchange(address, parse_address(staging).schema, kept_as)
    return Recovered(bank=location, before=before, trouble=trouble, after=after, kept=old_name)


def _holds_bank(location: Location) -> bool:
    address = parse_address(location)

    def look() -> bool:
        with closing(connect(address)) as connection:
            return version_of(connection) > 0

    return patiently(look, address)


def _recover_kept(
    location: Location, old_bank: Location, settings: Edits, kept_as: str, before: Contents | None, *, dry_run: bool
) -> Recovered:
    """Undo a recovery: what was kept aside takes its old name again."""
    with closing(PostgresStore(old_bank)) as store:
        after = _contents_of(store.engine)
        if not dry_run:
            _rewrite(store.engine, settings)
    address = parse_address(location)
    old_name = None if dry_run else _exchange(address, parse_address(old_bank).schema, kept_as)
    return Recovered(bank=location, before=before, trouble="", after=after, kept=old_name)


def _contents_of(engine: Engine) -> Contents:
    ((memories,),) = engine.scan(Selection(MEMORIES, ("count",), equal(state="active")))
    ((changes, newest),) = engine.scan(Selection(FEED, ("max:seq", "max:at")))
    return Contents(memories=memories, changes=changes or 0, newest_at=newest)


def _present(location: Location) -> tuple[Contents | None, str]:
    try:
        with closing(PostgresStore(location, create=False, read_only=True)) as store:
            return _contents_of(store.engine), ""
    except BankForeign:
        raise
    except BankUnavailable as error:
        # Where nothing is yet, something can be put; a server that does not answer is told when it is needed.
        return None, "" if "There is no bank" in str(error) else str(error)
    except StoreError as error:
        return None, str(error)


def _check_whole(store: RecordStore, backup: Path) -> None:
    damages = store.verify()
    if damages:
        examples = "; ".join(" ".join(filter(None, (damage.kind, damage.id, damage.problem))) for damage in damages[:3])
        raise BankDamaged(f"The backup {backup} is damaged in {len(damages):,} places ({examples}). Use another one.")


def _rewrite(engine: Engine, settings: Edits) -> None:
    for name, rewritten in settings.items():
        for (value,) in engine.scan(Selection(SETTINGS, ("value",), equal(name=name))):
            row = (name, rewritten(str(value)))
            engine.write(None, lambda rows, row=row: rows.put(SETTINGS, [row], IfTaken.REPLACE))  # type: ignore[misc]


def _exchange(address: PostgresAddress, staging: str, kept_as: str) -> str | None:
    """Give the staged schema the bank's name; what was there is kept under another."""

    def exchange() -> str | None:
        with closing(connect(address)) as connection:
            try:
                connection.execute("BEGIN")
                connection.execute(LOCK, (WRITING, lock_number(address.schema)))
                there = connection.execute(_SCHEMA, (address.schema,)).fetchone()
                old_name = (
                    _free_name(connection, f"{_stem(address)}_{kept_as.replace('-', '_').lower()}") if there else None
                )
                if old_name is not None:
                    connection.execute(f'ALTER SCHEMA "{address.schema}" RENAME TO "{old_name}"')
                connection.execute(f'ALTER SCHEMA "{staging}" RENAME TO "{address.schema}"')
                connection.execute("COMMIT")
            finally:
                roll_back(connection)
        return old_name

    try:
        return exchange()
    except psycopg.Error as error:
        raise translate(error, address) from error


def _stem(address: PostgresAddress) -> str:
    """Prefix of the names of schemas beside the bank's, short enough for a moment behind it: a name of PostgreSQL
    ends after 63 characters.
    """
    return address.schema[:34]


def _free_name(connection: TimedConnection, base: str) -> str:
    name, number = base, 2
    while connection.execute(_SCHEMA, (name,)).fetchone() is not None:
        name, number = f"{base}_{number}", number + 1
    return name


def _drop_bank(location: Location) -> None:
    """Remove a schema with all that is in it."""
    address = parse_address(location)

    def drop() -> None:
        with closing(connect(address)) as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{address.schema}" CASCADE')

    patiently(drop, address)
