"""Looks for what git itself left in a git folder when it fetched from a remote, which no archive can carry.

Reads refs, object names, reflogs and times of files; runs no git and asks no network. An archive may hold any bytes,
so bytes alone prove nothing: what counts is a reflog whose last line names the second in which the file system says
that this very file was last changed. Unpacking sets that time (`ctime`) to the moment of unpacking, and no user can set
it otherwise.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from reasoningbank.files import open_plain, read_plain

RULE_CAME_AT = 1_795_046_400
"""19 November 2026. A folder that was there before is taken at its word, as every folder was then."""
_SAME_MOMENT_S = 10
_MOST_REFS = 64
_MOST_PACKED_BYTES = 16_000_000
_ID = rb"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_BY_GIT = (b"clone: from ", b"fetch", b"pull", b"update by push", b"remote update")


def is_older_than_the_rule(*paths: Path) -> bool:
    """True if any of these names was last changed, by the file system's own clock, before identities were checked."""
    for path in paths:
        with suppress(OSError):
            if os.lstat(path).st_ctime < RULE_CAME_AT:
                return True
    return False


def is_owned(folder: Path) -> bool:
    """True if the folder is this user's, which git asks too before it believes a folder (`safe.directory`)."""
    try:
        return sys.platform == "win32" or folder.stat().st_uid == os.geteuid()
    except OSError:
        return False


def remote_tips(common: Path, remote: str) -> tuple[str, ...]:
    """The commits that the tracking refs of a remote name and that are in the object store."""
    ids = dict.fromkeys(
        match[0].decode()
        for file in _files_below(common, f"refs/remotes/{remote}")
        if (match := re.match(_ID, _bytes(file)))
    )
    try:
        with open_plain(common / "packed-refs") as file:
            refs = file.read(_MOST_PACKED_BYTES)
    except OSError:
        refs = b""
    lines = re.finditer(rb"(?m)^(%b) refs/remotes/%b/" % (_ID, re.escape(os.fsencode(remote))), refs)
    ids.update((line[1].decode(), None) for line in islice(lines, _MOST_REFS))
    return tuple(commit for commit in islice(ids, _MOST_REFS) if _has_object(common, commit))


def fetched_urls(common: Path, remote: str) -> tuple[str, ...] | None:
    """The URLs that git cloned and fetched from; None when nothing shows that it ever did, here and for this remote.

    Empty for what was never cloned, as after `git remote add` and a first push or fetch.
    """
    logs = [*_files_below(common, f"logs/refs/remotes/{remote}"), *_files_below(common, "logs/HEAD")]
    if not any(map(_is_witness, logs)):
        return None
    clones = [match[1] for log in logs if (match := re.search(rb"\tclone: from (\S+)", _bytes(log)[:4096]))]
    # The remote may have another address since.
    fetches = re.findall(rb"(?m)^[0-9a-f]{40,64}\t.*? of (\S+)$", _bytes(common / "FETCH_HEAD")) if clones else []
    return tuple(map(os.fsdecode, clones + fetches))


def _has_object(common: Path, object_id: str) -> bool:
    """True if the object store of a repository, or one that it borrows from, holds an object under this name."""
    stores = [common / "objects"]
    alternates = os.fsdecode(_bytes(common / "objects" / "info" / "alternates")).splitlines()
    stores += [stores[0] / line for line in alternates[:5] if line and not line.startswith("#")]
    return any(
        (store / object_id[:2] / object_id[2:]).is_file() or any(_has_packed(idx, object_id) for idx in _indexes(store))
        for store in stores
    )


def shares_history(common: Path, tips: Sequence[str], other: Path, other_tips: Sequence[str]) -> bool:
    """True if either repository holds a commit that the other has from its remote."""
    return any(_has_object(common, tip) for tip in other_tips) or any(_has_object(other, tip) for tip in tips)


def _is_witness(log: Path) -> bool:
    """True if the last line of a reflog is of git's talk with a remote, and was written when the file was changed.

    On Windows a file's time is that of its making, so there it is the first line.
    """
    lines = _bytes(log).splitlines()
    line = re.search(rb"> (\d{1,12}) [+-]\d{4}\t(.*)", lines[0 if sys.platform == "win32" else -1]) if lines else None
    # A commit writes into the log of HEAD too, and says nothing of any remote.
    of_remote = _BY_GIT[:1] if log.parent.name == "logs" else _BY_GIT
    try:
        return (
            line is not None and line[2].startswith(of_remote)
            and abs(os.lstat(log).st_ctime - int(line[1])) <= _SAME_MOMENT_S
        )  # fmt: skip
    except OSError:
        return False


def _files_below(common: Path, place: str) -> Iterator[Path]:
    """A file of the git folder, or those of a folder in it; none through a link, whose time and text are another's."""
    top = Path(os.path.realpath(common / place))
    if top != Path(os.path.realpath(common), place):
        return iter(())
    if top.is_file():
        return iter([top])
    paths = (Path(folder, name) for folder, _, names in islice(os.walk(top), _MOST_REFS) for name in names)
    return (path for path in islice(paths, _MOST_REFS) if not path.is_symlink())


def _indexes(store: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(store / "pack") if entry.name.endswith(".idx")]
    except OSError:
        return []


def _has_packed(index: Path, object_id: str) -> bool:
    """True if the index of a pack (version 2) lists an object: a binary search through its sorted names."""
    name = bytes.fromhex(object_id)
    try:
        with open_plain(index) as file:
            head = file.read(8 + 256 * 4)
            if head[:8] != b"\xfftOc\x00\x00\x00\x02" or len(head) < 8 + 256 * 4:
                return False
            counts = [int.from_bytes(head[at : at + 4]) for at in range(8, len(head), 4)]
            low, high = (counts[name[0] - 1] if name[0] else 0), counts[name[0]]
            while low < high:
                middle = (low + high) // 2
                file.seek(len(head) + middle * len(name))
                entry = file.read(len(name))
                if entry == name:
                    return True
                low, high = (middle + 1, high) if entry < name else (low, middle)
    except OSError:
        pass
    return False


def _bytes(path: Path) -> bytes:
    try:
        return read_plain(path)
    except OSError:
        return b""
