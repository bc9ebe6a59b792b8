"""Finds the project that a folder belongs to: the identity of the repository around it, which is its namespace."""

from __future__ import annotations

import os
import re
from pathlib import Path

from reasoningbank.core.digest import blake2b
from reasoningbank.core.types import DEFAULT_NAMESPACE


def repository_namespace(directory: Path) -> str:
    """The identity of the repository around `directory`: its remote, or else its common git folder.

    Worktrees share both, and a clone elsewhere shares the remote, so the place of a checkout never matters.
    """
    git = _git_folder(directory)
    if git is None:
        return DEFAULT_NAMESPACE
    common = _common_folder(git)
    remote = _remote(common)
    if remote:
        return remote
    place = common.resolve()
    name = os.fsencode(place.parent.name).decode("utf-8", "replace")
    return f"{name}-{blake2b(os.fsencode(place), digest_size=4).hexdigest()}"


def repository_branch(directory: Path) -> str | None:
    """The branch that is checked out around `directory`; None outside of a repository or on no branch."""
    git = _git_folder(directory)
    match = re.match(r"ref: refs/heads/(\S+)", _text(git / "HEAD")) if git else None
    return match[1] if match else None


def _git_folder(directory: Path) -> Path | None:
    for folder in (directory, *directory.parents):
        candidate = folder / ".git"
        if candidate.is_dir():
            return candidate
        if candidate.is_file():
            match = re.match(r"gitdir:\s*(.+)", _path_in(candidate))
            return (folder / match[1].strip()) if match else None
    return None


def _common_folder(git: Path) -> Path:
    pointer = _path_in(git / "commondir").strip()
    return git / pointer if pointer else git


def _remote(common: Path) -> str | None:
    """The identity by `origin`, or by the first remote."""
    urls = re.findall(r'\[remote "([^"]+)"\][^\[]*?^\s*url\s*=\s*(\S+)', _text(common / "config"), re.MULTILINE)
    url = dict(reversed(urls)).get("origin") or (urls[0][1] if urls else None)
    return None if url is None else remote_namespace(url)


def remote_namespace(url: str) -> str | None:
    """The identity that a remote's address gives: without scheme, user, port or ending."""
    if re.match(r"(/|\.|~|file:|[A-Za-z]:[\\/])", url):
        # A remote that is a folder of this machine says no more than the folder itself.
        return None
    address = re.sub(r"^[a-z+]+://", "", url, flags=re.IGNORECASE)
    address = re.sub(r"^[^@/]*@", "", address)
    address = re.sub(r":\d+/", "/", address).replace(":", "/")
    return re.sub(r"(\.git)?/*$", "", address)[-200:].strip("/") or None


def _path_in(file: Path) -> str:
    """What a file of git's says, which is a path in the bytes of the system."""
    try:
        return os.fsdecode(file.read_bytes())
    except OSError:
        return ""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
