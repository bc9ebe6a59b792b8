"""Banks in SQLite files, asked before one is opened: whether it is there, what is wrong with its place.

Loads SQLite only for what needs it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.wording import counted, size
from reasoningbank.ports import Check

if TYPE_CHECKING:
    from reasoningbank.location import Location
    from reasoningbank.ports import Edits, Recovered, Store, Tick

SAFE_SQLITE = (3, 51, 3)
"""Older versions can corrupt a WAL file that several processes write."""


class SqliteBackend:
    def exists(self, location: Location) -> bool:
        return location.state is not None and Path(location.url).exists()

    def open(
        self,
        location: Location,
        *,
        durability: str = "full",
        create: bool = True,
        read_only: bool = False,
        clock: Callable[[], float],
    ) -> Store:
        from reasoningbank.store.sqlite.store import SqliteStore

        return SqliteStore(location, durability=durability, create=create, read_only=read_only, clock=clock)

    def recover(
        self, location: Location, backup: Path, *, kept_as: str, settings: Edits, dry_run: bool, progress: Tick | None
    ) -> Recovered:
        from reasoningbank.store.sqlite.recovering import recover

        if location.state is None:
            raise InvalidInput("A bank in memory has no place to put a backup: name a file.")
        return recover(
            Path(location.url), backup, kept_as=kept_as, settings=settings, dry_run=dry_run, progress=progress
        )

    def checks(self, location: Location) -> Iterator[Check]:
        yield _library()
        if location.state is None:
            yield Check.ok("bank", f"{location} is new each time, and gone with its process")
        else:
            yield _place(location)
            yield from _copies(Path(location.url).parent)

    def integrity(self, location: Location) -> Check:
        import apsw

        try:
            lines = _quick_check(Path(location.url))
        except apsw.Error as error:
            lines = [str(error)]
        if lines != ["ok"]:
            remedy = "Run `reasoningbank verify`; `reasoningbank recover BACKUP` puts a backup in its place."
            return Check.fail("integrity", f"{'; '.join(lines)}. {remedy}")
        return Check.ok("integrity", "quick check passed; `verify` checks every row")


def _library() -> Check:
    import apsw

    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")) < SAFE_SQLITE:
        return Check.fail(
            "sqlite",
            f"{version} can damage a bank that several processes write; it is safe from "
            f"{'.'.join(map(str, SAFE_SQLITE))} on. Upgrade it: pip install -U apsw",
        )
    return Check.ok("sqlite", f"{version}, from apsw {apsw.apsw_version()}")


def _place(location: Location) -> Check:
    path = Path(location.url)
    if path.is_dir():
        return Check.fail("bank", f"{location} is a folder. Name a file in it.")
    if not path.exists():
        folder = next(folder for folder in path.absolute().parents if folder.exists())
        is_possible = os.access(folder, os.W_OK)
        absent = f"There is no bank at {location}. `reasoningbank store KEY VALUE` creates one."
        return (
            Check.warn("bank", absent)
            if is_possible
            else Check.fail("bank", f"{location} does not exist, and {folder} cannot be written.")
        )
    if not os.access(path, os.R_OK):
        return Check.fail("bank", f"{location} cannot be read: check its permissions.")
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return Check.warn("bank", f"{location} can be read, but not written: check the permissions of file and folder.")
    beside = (path, *(Path(f"{path}{ending}") for ending in ("-wal", "-shm", ".ack", ".index", ".hooks")))
    open_ones = [name for name in beside if name.exists() and os.name == "posix" and name.stat().st_mode & 0o077]
    if open_ones:
        names = " ".join(shlex.quote(str(name)) for name in open_ones)
        return Check.warn(
            "bank", f"Others on this machine may look into {location}. If that is not meant: chmod -R go= {names}"
        )
    return Check.ok("bank", f"{location} ({size(path.stat().st_size)}, writable)")


def _copies(folder: Path) -> Iterator[Check]:
    """Copies of the whole bank that a killed backup has left."""
    from reasoningbank.store.sqlite.copying import abandoned_in

    sizes = [partial.stat().st_size for partial in abandoned_in(folder)]
    if sizes:
        text = f"{counted(len(sizes), 'copy', 'copies')} of a killed backup ({size(sum(sizes))}) in {folder}"
        yield Check.warn("copies", f"{text}: the next `reasoningbank backup FILE` removes what it finds there.")


def _quick_check(path: Path) -> list[str]:
    import apsw

    # In a folder that cannot be written SQLite cannot make its log's index, and nobody else can write either.
    is_immutable = not os.access(path.parent, os.W_OK) and not Path(f"{path}-shm").exists()
    uri = f"{path.absolute().as_uri()}{'?immutable=1' if is_immutable else ''}"
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(5_000)
        return [str(line) for (line,) in connection.execute("PRAGMA quick_check(5)")]
    finally:
        connection.close()
