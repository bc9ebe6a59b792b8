"""A repository as `git clone` leaves one, for tests that need a project and not git: written here in a millisecond."""

from __future__ import annotations

import time
import zlib
from hashlib import sha1
from pathlib import Path

COMMIT = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nstart\n"


def a_clone(folder: Path, url: str) -> Path:
    """A folder whose `.git` has the commit, the tracking ref and the reflog of a clone that was made this second."""
    stored = b"commit %d\0%s" % (len(COMMIT), COMMIT)
    commit = sha1(stored, usedforsecurity=False).hexdigest()
    config = (
        f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
    )
    git = folder / ".git"
    for name, data in {
        "HEAD": b"ref: refs/heads/main\n",
        "config": config.encode(),
        "refs/heads/main": f"{commit}\n".encode(),
        "refs/remotes/origin/main": f"{commit}\n".encode(),
        f"objects/{commit[:2]}/{commit[2:]}": zlib.compress(stored),
        "logs/HEAD": f"{'0' * 40} {commit} a <a@b> {time.time():.0f} +0000\tclone: from {url}\n".encode(),
    }.items():
        (git / name).parent.mkdir(parents=True, exist_ok=True)
        (git / name).write_bytes(data)
    return folder


def a_worktree(folder: Path, repository: Path) -> Path:
    """A folder that shares the `.git` of a repository, as `git worktree add` leaves both."""
    kept = repository / ".git" / "worktrees" / "tree"
    kept.mkdir(parents=True)
    (kept / "commondir").write_text("../..\n")
    (kept / "gitdir").write_text(f"{folder / '.git'}\n", "utf-8")
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {kept}\n", "utf-8")
    return folder
