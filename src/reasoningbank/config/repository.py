"""Finds the project that a folder belongs to: the identity of the repository around it, which is its namespace.

A repository is known by its remote, so that worktrees and clones share what was learned. A `.git/config` alone can
name any remote, so the remote counts where git's own traces in the folder speak for it (`config.clones`), where they
once did (this machine remembers the places), or where the user has joined the folder. Any other folder is known by its
place.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from reasoningbank.config.clones import (
    fetched_urls,
    is_older_than_the_rule,
    is_owned,
    remote_tips,
    shares_history,
)
from reasoningbank.core.digest import blake2b
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import DEFAULT_NAMESPACE
from reasoningbank.files import make_private_folder, read_plain, whole_file

_JOINED = "joined"
_MOST_CLONES = 64
_TIPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    namespace: str
    place: Path | None = None
    """The git folder that it is known by, or a `.git` that points to one and is not answered; None outside of any."""
    remote: str | None = None
    """The identity that its remote would give."""

    @property
    def is_doubtful(self) -> bool:
        """True if the folder claims a remote that nothing on this machine speaks for."""
        return self.remote is not None and self.namespace != self.remote


def find_project(directory: Path, home: Path | None, *, remember: bool) -> Project:
    """The project around `directory`. `home` is where places of clones are remembered; `remember` adds this one."""
    repository = _repository(directory)
    if repository is None:
        return Project(namespace=DEFAULT_NAMESPACE)
    common, place, is_answered = repository
    name, remote = _remote(common)
    memory = None if home is None else _ClonesOfThisMachine(home)
    own_namespace = memory.joined(place) if memory else None
    if own_namespace:
        namespace = own_namespace
    elif remote and is_answered and _is_clone(common, name, remote, memory, remember=remember):
        namespace = remote
    else:
        folder = os.fsencode(place.parent.name).decode("utf-8", "replace")
        namespace = f"{folder}-{_digest(place, 4)}"
    return Project(namespace=namespace, place=place, remote=None if own_namespace else remote)


def join_project(project: Project, namespace: str, home: Path) -> None:
    """Remember, by the user's word, that a folder belongs to a project."""
    assert project.place is not None
    _ClonesOfThisMachine(home).remember(project.place, namespace, (), _JOINED)


def repository_branch(directory: Path) -> str | None:
    """The branch that is checked out around `directory`; None outside of a repository or on no branch."""
    entry = _git_entry(directory)
    git = _pointed_to(entry) if entry else None
    match = re.match(r"ref: refs/heads/(\S+)", _text(git / "HEAD")) if git else None
    return match[1] if match else None


def remote_namespace(url: str) -> str | None:
    """The identity that a remote's address gives: without scheme, user, port or ending."""
    if re.match(r"(/|\.|~|file:|[A-Za-z]:[\\/])", url):
        # A remote that is a folder of this machine says no more than the folder itself.
        return None
    address = re.sub(r"^[a-z+]+://", "", url, flags=re.IGNORECASE)
    address = re.sub(r"^[^@/]*@", "", address)
    address = re.sub(r":\d+/", "/", address).replace(":", "/")
    return re.sub(r"(\.git)?/*$", "", address)[-200:].strip("/") or None


# ---------------------------------------------------------------- the git folder


def _repository(directory: Path) -> tuple[Path, Path, bool] | None:
    """The git folder that worktrees have in common, the place that it is known by, and whether it owns the work folder.

    A `.git` may point to any repository of this machine. A worktree and a submodule are named in the repository that
    they point to; of what is not, the pointer itself is the place.
    """
    entry = _git_entry(directory)
    git = _pointed_to(entry) if entry else None
    if entry is None or git is None:
        return None
    pointer = _text(git / "commondir").strip()
    common = Path(os.path.realpath(git / pointer if pointer else git))
    if stat.S_ISDIR(os.lstat(entry).st_mode):
        is_answered = not pointer
    elif entry.is_symlink():
        is_answered = False
    elif pointer:
        back = _text(git / "gitdir").strip()
        is_answered = Path(os.path.realpath(git)).parent == common / "worktrees" and _is_same(git / back, entry)
    else:
        folders = re.findall(r"(?m)^[ \t]*worktree[ \t]*=(.+)", _text(git / "config") + _text(git / "config.worktree"))
        is_answered = any(_is_same(git / folder.strip().strip('"'), entry.parent) for folder in folders)
    if is_answered or is_older_than_the_rule(entry):
        return common, common, True
    return common, Path(os.path.realpath(entry.parent)) / ".git", False


def _git_entry(directory: Path) -> Path | None:
    for folder in (directory, *directory.parents):
        with suppress(OSError):
            # Only a folder or a file is one: git goes on looking above anything else.
            if stat.S_IFMT((folder / ".git").stat().st_mode) in (stat.S_IFDIR, stat.S_IFREG):
                return folder / ".git"
    return None


def _pointed_to(entry: Path) -> Path | None:
    if entry.is_dir():
        return entry
    match = re.match(r"gitdir:\s*(.+)", _text(entry))
    return entry.parent / match[1].strip() if match else None


def _remote(common: Path) -> tuple[str, str | None]:
    """The name and the identity of `origin`, or of the first remote."""
    text = os.fsencode(_text(common / "config")).decode("utf-8", "replace")
    urls = re.findall(r'\[remote "([^"]+)"\][^\[]*?^[ \t]*url[ \t]*=[ \t]*(\S+)', text, re.MULTILINE)
    first = dict(reversed(urls))
    name = "origin" if "origin" in first else urls[0][0] if urls else ""
    return name, remote_namespace(first[name]) if name else None


def _is_same(path: Path, other: Path) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def _text(path: Path) -> str:
    """Text of a file of git's, paths in the bytes of the system; "" for one that is no plain file, or huge."""
    try:
        return os.fsdecode(read_plain(path))
    except OSError:
        return ""


# ---------------------------------------------------------------- who speaks for a remote


def _is_clone(common: Path, name: str, remote: str, memory: _ClonesOfThisMachine | None, *, remember: bool) -> bool:
    """True if a repository is a clone of the remote that its configuration names, as far as this machine can tell."""
    if memory and memory.is_known(common, remote):
        return True
    tips = remote_tips(common, name)
    is_old = is_older_than_the_rule(*(common / part for part in ("description", "config", "HEAD", "packed-refs")))
    if not is_old:
        urls = fetched_urls(common, name) if tips and is_owned(common) else None
        if urls is None or (urls and remote not in map(remote_namespace, urls)):
            return False
        clones = memory.clones_of(remote) if memory else []
        if clones and not any(shares_history(common, tips, *clone) for clone in clones):
            return False
    if memory and remember:
        # A machine that cannot write this down looks again at the next event.
        with suppress(OSError):
            memory.remember(common, remote, tips[:_TIPS], _digest(remote))
    return True


class _ClonesOfThisMachine:
    """The places whose identity is settled, a small file each: reflogs end and are rewritten, a clone remains one."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "projects"

    def joined(self, place: Path) -> str | None:
        """The namespace that the user has given a place."""
        return str(_record(self._file(_JOINED, place)).get("namespace") or "") or None

    def is_known(self, place: Path, remote: str) -> bool:
        return bool(_record(self._file(_digest(remote), place)))

    def clones_of(self, remote: str) -> list[tuple[Path, Sequence[str]]]:
        """The clones of a remote that were here before, and the commits that each had from it."""
        files = islice((self._folder / _digest(remote)).glob("*.json"), _MOST_CLONES)
        records = [record for file in files if (record := _record(file))]
        return [(Path(record["place"]), record["commits"]) for record in records if record["commits"]]

    def remember(self, place: Path, namespace: str, commits: Sequence[str], kind: str) -> None:
        file = self._file(kind, place)
        make_private_folder(file.parent)
        record = {"place": os.fspath(place), "namespace": namespace, "commits": commits}
        with whole_file(file, durable=False) as draft:
            draft.write(json.dumps(record).encode("ascii"))

    def _file(self, kind: str, place: Path) -> Path:
        return self._folder / kind / f"{_digest(place)}.json"


def _record(file: Path) -> dict[str, Any]:
    try:
        record = json.loads(read_plain(file))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _digest(what: Path | str, size: int = 12) -> str:
    return blake2b(os.fsencode(what), digest_size=size).hexdigest()
