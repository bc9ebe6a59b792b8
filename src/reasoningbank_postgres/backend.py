"""Banks in PostgreSQL, asked before one is opened: whether it is there, what is wrong with its server or role.

Loads psycopg only when it is asked something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reasoningbank.core.errors import BankError, MissingExtra, StoreError
from reasoningbank.ports import Check

if TYPE_CHECKING:
    from reasoningbank.location import Location
    from reasoningbank.ports import Edits, Recovered, Store, Tick
    from reasoningbank_postgres.connections import TimedConnection

T = TypeVar("T")
_VERIFY = "`reasoningbank verify` checks every row; pages are the server's to check (data checksums, pg_amcheck)"


class PostgresBackend:
    def exists(self, location: Location) -> bool:
        from reasoningbank_postgres.migrations import version_of

        return _ask(location, lambda connection: version_of(connection) > 0)

    def open(
        self, location: Location, *, durability: str, create: bool, read_only: bool, clock: Callable[[], float]
    ) -> Store:
        _require_library()
        from reasoningbank_postgres.store import PostgresStore

        return PostgresStore(location, durability=durability, create=create, read_only=read_only, clock=clock)

    def recover(
        self, location: Location, backup: Path, *, kept_as: str, settings: Edits, dry_run: bool, progress: Tick | None
    ) -> Recovered:
        _require_library()
        from reasoningbank_postgres.recovering import recover

        return recover(location, backup, kept_as=kept_as, settings=settings, dry_run=dry_run, progress=progress)

    def checks(self, location: Location) -> Iterator[Check]:
        try:
            _require_library()
        except MissingExtra as error:
            yield Check.fail("psycopg", str(error))
            return
        import psycopg

        yield Check.ok("psycopg", f"{psycopg.__version__}, libpq {psycopg.pq.version() // 10_000}")
        try:
            yield from _ask(location, lambda connection: _place(connection, location))
        except BankError as error:
            yield Check.fail("bank", str(error))

    def integrity(self, location: Location) -> Check:
        from reasoningbank_postgres.migrations import missing_parts

        try:
            missing = _ask(location, missing_parts)
        except StoreError as error:
            return Check.fail("integrity", str(error))
        if missing:
            names = ", ".join(missing[:5])
            return Check.fail(
                "integrity", f"{names} not there. `reasoningbank recover BACKUP` puts a backup in its place."
            )
        return Check.ok("integrity", f"every table is there; {_VERIFY}")


def _require_library() -> None:
    try:
        import psycopg  # noqa: F401 - whether it is there
    except ImportError as error:
        raise MissingExtra(package="psycopg", extra="postgres", purpose="A bank in PostgreSQL") from error


def _ask(location: Location, question: Callable[[TimedConnection], T]) -> T:
    """One look at a server through a connection of its own."""
    _require_library()
    import psycopg

    from reasoningbank_postgres.address import parse_address
    from reasoningbank_postgres.connections import connect
    from reasoningbank_postgres.error_mapping import translate

    address = parse_address(location)
    try:
        with closing(connect(address)) as connection:
            return question(connection)
    except psycopg.Error as error:
        raise translate(error, address) from error


def _place(connection: TimedConnection, location: Location) -> list[Check]:
    from reasoningbank_postgres.address import parse_address
    from reasoningbank_postgres.opening import check_server, check_version

    address = parse_address(location)
    facts = check_server(connection, address)
    checks = [Check.ok("postgresql", f"{facts.version}, as {connection.info.user}")]
    if facts.sees_everything:
        checks.append(
            Check.warn(
                "tenants",
                f"The role {connection.info.user} is past row-level security: tenants are kept apart by our queries "
                "alone. Connect as a role that is no superuser and has no BYPASSRLS.",
            )
        )
    else:
        checks.append(Check.ok("tenants", "kept apart by every query and by row-level security"))
    try:
        version = check_version(connection, address)
    except BankError as error:
        return [*checks, Check.fail("bank", str(error))]
    if version == 0:
        says = f"There is no bank at {location}. `reasoningbank store KEY VALUE` creates one."
        return [*checks, Check.warn("bank", says)]
    if facts.is_replica:
        return [*checks, Check.warn("bank", f"{location} is a read replica: it can be read, and not written.")]
    return [*checks, Check.ok("bank", f"{location} (schema {address.schema}, version {version} of the tables)")]
