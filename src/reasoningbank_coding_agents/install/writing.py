"""Reads and replaces settings files of other programs, with a copy of what was there.

Such a file may be a link, may be private, and may be written by its own program at the same moment. It is either what
it was or what it should be, never half; whoever was faster is never overwritten.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from reasoningbank.core.errors import BankError, Conflict, InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.files import PRIVATE_MODE, read_plain, whole_file

BACKUP = ".reasoningbank-backup-"
MOST_BACKUPS = 5
_MOST_BYTES = 20_000_000
_BOM = "\ufeff"
_LOCK_STALE_S = 10.0
_LOCK_WAIT_S = 3.0
_LOCK_LOOK_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A settings file at the moment it was read."""

    path: Path
    """Behind every link."""
    data: bytes | None
    """None when there is no file."""

    @property
    def text(self) -> str:
        return (self.data or b"").decode("utf-8").removeprefix(_BOM)


def read_seen(path: Path) -> Seen:
    try:
        real = path.resolve()
        data = read_plain(real, _MOST_BYTES) if real.exists() else None
        if data is not None:
            data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not text in UTF-8. Repair it, or move it away. Nothing was written.") from error
    except (OSError, RuntimeError) as error:
        raise BankError(f"{path} cannot be read ({_reason(error)}). Nothing was written.") from error
    return Seen(path=real, data=data)


def replace_file(was: Seen, text: str | None, *, has_lock: bool = False, mode: int = PRIVATE_MODE) -> None:
    """Put `text` in the place of what was seen; None removes the file. `mode` is that of a file that is new."""
    try:
        with _guard(was.path) if has_lock else nullcontext():
            if (read_plain(was.path, _MOST_BYTES) if was.path.exists() else None) != was.data:
                raise Conflict(f"{was.path} was changed by another program meanwhile. Run this again.")
            if text is None:
                was.path.unlink(missing_ok=True)
            else:
                _put(was, text, mode)
    except OSError as error:
        raise BankError(f"{was.path} cannot be written: {_reason(error)}.") from error


def put_back(was: Seen) -> None:
    """The bytes that were seen, whatever is there now."""
    with suppress(OSError):
        if was.data is None:
            was.path.unlink(missing_ok=True)
        else:
            _write(was.path, was.data)


def _put(was: Seen, text: str, mode: int) -> None:
    was.path.parent.mkdir(parents=True, exist_ok=True)
    bom = _BOM if (was.data or b"").startswith(_BOM.encode()) else ""
    _write(was.path, (bom + text).encode("utf-8"), mode)


def _write(path: Path, data: bytes, mode: int = PRIVATE_MODE) -> None:
    mode = path.stat().st_mode & 0o7777 if path.exists() else mode
    draft = path.with_name(f".{path.name}.reasoningbank-{os.getpid()}")
    with whole_file(path, draft=draft) as file:
        file.write(data)
        draft.chmod(mode)


# ---------------------------------------------------------------- copies


def back_up(was: Seen, now: float) -> Path | None:
    """A copy of what was seen, as private as it was; None when there was no file."""
    if was.data is None:
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    copy = was.path.with_name(f"{was.path.name}{BACKUP}{stamp}")
    number = 1
    while copy.exists():
        number += 1
        copy = was.path.with_name(f"{was.path.name}{BACKUP}{stamp}-{number}")
    try:
        mode = was.path.stat().st_mode & 0o7777
        _write(copy, was.data)
        copy.chmod(mode)
        # The first one shows how things were before us, so it outlives those in between.
        for surplus in backups_of(was.path)[1 : -(MOST_BACKUPS - 1)]:
            surplus.unlink(missing_ok=True)
    except OSError as error:
        raise BankError(f"{was.path} cannot be backed up: {_reason(error)}. Nothing was written to it.") from error
    return copy


def backups_of(path: Path) -> list[Path]:
    """Oldest first."""
    return sorted(path.parent.glob(f"{_escape(path.name)}{BACKUP}*")) if path.parent.is_dir() else []


def _escape(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


# ---------------------------------------------------------------- a lock that another program heeds


@contextmanager
def _guard(path: Path) -> Iterator[None]:
    """The lock that Claude Code takes for its own writes: a folder beside the file, stale after ten seconds."""
    lock = path.with_name(f"{path.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            with suppress(OSError):
                if time.time() - lock.stat().st_mtime > _LOCK_STALE_S:
                    lock.rmdir()
                    continue
            if time.monotonic() > until:
                raise Conflict(f"{path} is being written by another program. Run this again.") from None
            time.sleep(_LOCK_LOOK_S)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.rmdir()


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)
