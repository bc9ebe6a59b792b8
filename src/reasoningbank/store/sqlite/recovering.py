"""Put a backup in the place of a bank, so that a kill at any moment leaves the one or the other.

The backup is copied beside the bank under a passing name, brought up to date and checked row by row; only then is the
bank locked, given a second name under which it is kept, and replaced by one rename. The log of a bank that opens is
first copied into it, so that there is one file to replace. One that does not open keeps its log under the second name
too; a kill between the rename and the removal of that log leaves a pair that `store.sqlite.pairing` refuses, and
running the command again finishes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import apsw

from reasoningbank.core.errors import BankDamaged, BankForeign, BankUnavailable, InvalidInput, StoreError
from reasoningbank.files import make_private_folder, sync_folder
from reasoningbank.location import file_location
from reasoningbank.ports import Contents, Recovered
from reasoningbank.store.sqlite.acknowledged import note_beside
from reasoningbank.store.sqlite.calls import connect
from reasoningbank.store.sqlite.copying import Progress, fill, passing_file
from reasoningbank.store.sqlite.durable import sync_file
from reasoningbank.store.sqlite.error_mapping import NAMED, faults_named, translate
from reasoningbank.store.sqlite.holders import check_not_open_here, held_alone
from reasoningbank.store.sqlite.opening import bring_up_to_date, known_version, number_from
from reasoningbank.store.sqlite.pairing import check_pair, log_bytes
from reasoningbank.store.sqlite.verify_backup import damage_in

_COMPANIONS = ("-wal", "-shm", "-journal")
_BUSY_MS = 2_000


def recover(
    place: Path,
    backup: Path,
    *,
    kept_as: str,
    settings: Mapping[str, Callable[[str], str]],
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Recovered:
    """Put a backup in the place of a bank. `kept_as` is what the name of a replaced bank ends with; `settings` are
    rewritten in what takes its place.
    """
    with faults_named(str(place)):
        return _recover(place, backup, kept_as, settings, progress, dry_run=dry_run)


def _recover(
    place: Path,
    backup: Path,
    kept_as: str,
    settings: Mapping[str, Callable[[str], str]],
    progress: Progress | None,
    *,
    dry_run: bool,
) -> Recovered:
    _check_places(place, backup)
    here = file_location(str(place))
    make_private_folder(place.parent)
    with passing_file(place) as staging:
        after = _stage(backup, staging, settings, progress)
        before, trouble = _present(place, settle=not dry_run)
        if dry_run:
            return Recovered(bank=here, before=before, trouble=trouble, after=after, kept=None)
        with held_alone(place):
            old_bank = _swap(place, staging, kept_as)
    return Recovered(
        bank=here, before=before, trouble=trouble, after=after, kept=None if old_bank is None else str(old_bank)
    )


def _check_places(place: Path, backup: Path) -> None:
    if place.is_dir():
        raise BankForeign(f"{place} is a folder. Name a file in it, such as {place / 'bank.db'}.")
    if not backup.is_file():
        raise BankUnavailable(f"There is no backup at {backup}.")
    if place.exists() and place.samefile(backup):
        raise InvalidInput(f"{backup} is the bank itself. Copy it elsewhere first, to go on with what is in it.")
    check_not_open_here(place)


# ---------------------------------------------------------------- the backup


def _stage(
    backup: Path, staging: Path, settings: Mapping[str, Callable[[str], str]], progress: Progress | None
) -> Contents:
    """A whole and checked bank under the passing name; whatever is wrong with the backup is said here."""
    if hasattr(os, "pread"):
        check_pair(backup)
    with faults_named(str(backup)), closing(_read_only(backup)) as source:
        if known_version(source, str(backup)) == 0:
            raise BankForeign(f"{backup} is empty: there is no bank in it.")
        lines = [str(line) for (line,) in source.execute("PRAGMA integrity_check(5)")]
        if lines != ["ok"]:
            raise BankDamaged(f"The backup {backup} is damaged ({lines[0]}). Nothing was changed: use another one.")
        fill(staging, source, progress)
    with faults_named(str(staging)), closing(connect(staging.absolute().as_uri())) as copy:
        bring_up_to_date(copy, str(staging), read_only=False)
        damages = list(damage_in(copy, str(staging)))
        if damages:
            examples = "; ".join(" ".join(filter(None, (d.kind, d.id, d.problem))) for d in damages[:3])
            raise BankDamaged(
                f"The backup {backup} is damaged in {len(damages):,} places ({examples}). Nothing was changed: use "
                "another one, or `export` what can be read of it and `import` that."
            )
        for name, rewritten in settings.items():
            for (value,) in copy.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchall():
                copy.execute("UPDATE settings SET value = ? WHERE name = ?", (rewritten(str(value)), name))
        after = _contents(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
    sync_file(staging)
    return after


def _read_only(path: Path) -> apsw.Connection:
    # Without a log, and without anybody there who might write one, SQLite need not leave files of its own beside it.
    quiet = not log_bytes(path) and not Path(f"{path}-shm").exists()
    suffix = "?immutable=1" if quiet or not os.access(path.parent, os.W_OK) else ""
    connection = connect(f"{path.absolute().as_uri()}{suffix}", apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(_BUSY_MS)
    return connection


def _contents(connection: apsw.Connection) -> Contents:
    newest: list[tuple[float | None]] = connection.execute("SELECT max(at) FROM feed").fetchall()  # type: ignore[assignment]
    return Contents(
        memories=number_from(connection, "SELECT count(*) FROM memories WHERE state = 'active'"),
        changes=number_from(connection, "SELECT coalesce(max(seq), 0) FROM feed"),
        newest_at=newest[0][0],
    )


# ---------------------------------------------------------------- the bank that is there


def _present(place: Path, *, settle: bool) -> tuple[Contents | None, str]:
    """Contents of the bank, or why they cannot be told. With `settle` its log is copied into it."""
    if not place.exists():
        return None, ""
    with held_alone(place):
        pass
    try:
        if hasattr(os, "pread"):
            check_pair(place)
        with closing(_read_only(place) if not settle else connect(place.absolute().as_uri())) as connection:
            connection.set_busy_timeout(_BUSY_MS)
            if not settle:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            if known_version(connection, str(place)) == 0:
                return None, "It is empty."
            contents = _contents(connection)
            if settle:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            return contents, ""
    except NAMED as error:
        return None, str(translate(error, str(place)))
    except StoreError as error:
        if isinstance(error, BankForeign) and "other program" in str(error):
            raise
        return None, str(error)


def _swap(place: Path, staging: Path, kept_as: str) -> Path | None:
    """Exchange the names of both banks, with the lock held. Names only change from here on."""
    old_bank: Path | None = None
    if place.exists():
        old_bank = _free_name(place, kept_as)
        _also_named(place, old_bank)
        if log_bytes(place):
            _also_named(Path(f"{place}-wal"), Path(f"{old_bank}-wal"))
        sync_folder(place.parent)
    elif log_bytes(place):
        # A log without its file: of no use to anybody here, and not ours to throw away.
        _also_named(Path(f"{place}-wal"), Path(f"{_free_name(place, kept_as)}-wal"))
    staging.replace(place)
    sync_folder(place.parent)
    for ending in _COMPANIONS:
        Path(f"{place}{ending}").unlink(missing_ok=True)
    note_beside(place).unlink(missing_ok=True)
    sync_folder(place.parent)
    return old_bank


def _free_name(place: Path, kept_as: str) -> Path:
    path = place.with_name(f"{place.name}.{kept_as}")
    number = 2
    while path.exists() or Path(f"{path}-wal").exists():
        path = place.with_name(f"{place.name}.{kept_as}-{number}")
        number += 1
    return path


def _also_named(path: Path, name: Path) -> None:
    """Give a file a second name, so that there is always one; where a disk has no such thing, a new name."""
    try:
        os.link(path, name)
    except OSError:
        path.replace(name)
