"""Asks a Git repository through the `git` program: only questions, each with a time limit, none that takes a lock.

Just the few that tell whether a commit lasted.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank.core.lazy import lazy

WAIT_S = 30.0
MOST_FILES = 30
"""Files of one commit that are looked at line by line."""
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,40})")
_MAINLINES = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/heads/trunk", "HEAD")


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise InvalidInput(f"{folder} is not a folder. Name a repository.")
        if self._ask_git("rev-parse", "--git-dir") is None:
            raise InvalidInput(f"{folder} is not in a git repository.")

    def commit(self, name: str) -> str | None:
        """The whole name of a commit; None when it is not here."""
        return self._line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    def committed_at(self, commit: str) -> float | None:
        timestamp = self._line("show", "--no-patch", "--no-show-signature", "--format=%ct", commit, "--")
        return float(timestamp) if timestamp else None

    @lazy
    def tips(self) -> tuple[str, ...]:
        """Where work counts as landed: the main branch, wherever it is kept, and what is checked out."""
        commits = [self._line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") for name in _MAINLINES]
        return tuple(dict.fromkeys(name for name in commits if name))

    def is_landed(self, commit: str) -> bool:
        return any(self._ask_git("merge-base", "--is-ancestor", commit, tip) is not None for tip in self.tips)

    @lazy
    def reverts(self) -> dict[str, tuple[str, ...]]:
        """Landed commits whose message says that they take a commit back, by that commit."""
        by_commit: dict[str, list[str]] = {}
        if not self.tips:
            return {}
        log = self._ask_git("log", "--no-show-signature", "--fixed-strings", "--grep=This reverts commit",
                          "--format=%x01%H%n%B", *self.tips, "--") or ""  # fmt: skip
        for entry in log.split("\x01")[1:]:
            by, _, message = entry.partition("\n")
            for name in _REVERTS.findall(message):
                commit = self.commit(name)
                if commit is not None:
                    by_commit.setdefault(commit, []).append(by.strip())
        return {commit: tuple(by) for commit, by in by_commit.items()}

    def is_undone(self, commit: str, tip: str) -> bool:
        """True if every file that a commit changed is in `tip` as it was before the commit."""
        before, after = self._changes(commit)
        if before is None or not before:
            return False
        now = self._blobs(tip, list(before))
        return now == before != after

    def lines_left(self, commit: str, tip: str) -> bool:
        """True if anything that a commit wrote still stands in `tip`."""
        before, after = self._changes(commit)
        if before is None:
            return False
        for path, blob in list(after.items())[:MOST_FILES]:
            if blob is None:
                # It was removed; that lasts as long as it does not come back.
                if self._blobs(tip, [path])[path] is None:
                    return True
                continue
            blame = self._ask_git("blame", "--porcelain", "--no-textconv", "-s", tip, "--", path) or ""
            if any(line.startswith(commit) for line in blame.splitlines()):
                return True
            if self._blobs(tip, [path])[path] == blob:
                return True
        return False

    def _changes(self, commit: str) -> tuple[dict[str, str | None] | None, dict[str, str | None]]:
        """Blob of each changed file before and after; None for a merge."""
        diff = self._ask_git("diff-tree", "--root", "-r", "-z", "--no-commit-id", "--no-renames", commit)
        words = (diff or "").split("\0")
        before: dict[str, str | None] = {}
        after: dict[str, str | None] = {}
        for change, path in zip(words[::2], words[1::2], strict=False):
            _, _, old, new, _ = change.split(" ")
            before[path], after[path] = _blob(old), _blob(new)
        return (before or None), after

    def _blobs(self, tip: str, paths: Sequence[str]) -> dict[str, str | None]:
        blobs: dict[str, str | None] = dict.fromkeys(paths)
        for start in range(0, len(paths), 200):
            listing = self._ask_git("ls-tree", "-z", "-r", tip, "--", *paths[start : start + 200]) or ""
            for entry in filter(None, listing.split("\0")):
                about, _, path = entry.partition("\t")
                if path in blobs:
                    blobs[path] = about.split(" ")[2]
        return blobs

    def _line(self, *words: str) -> str | None:
        output = self._ask_git(*words)
        return output.strip() or None if output is not None else None

    def _ask_git(self, *words: str) -> str | None:
        """Output of git, or None when it says no."""
        command = ["git", "-C", str(self.folder), "--no-pager", "--no-optional-locks", "--literal-pathspecs", *words]
        try:
            process = subprocess.run(  # noqa: S603 - a fixed program and our own words
                command, capture_output=True, timeout=WAIT_S, check=False, stdin=subprocess.DEVNULL
            )
        except FileNotFoundError as error:
            raise BankError(
                "git is not installed, or not on the PATH: what became of commits cannot be told."
            ) from error
        except subprocess.TimeoutExpired as error:
            raise BankError(
                f"git took longer than {WAIT_S:g} s in {self.folder}. Try again when it is idle."
            ) from error
        return process.stdout.decode("utf-8", "replace") if process.returncode == 0 else None


def _blob(name: str) -> str | None:
    return None if not name.strip("0") else name
