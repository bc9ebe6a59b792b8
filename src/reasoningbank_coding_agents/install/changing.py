"""Installs our entries into the settings of an agent, and uninstalls them.

Everything is worked out before anything is written, so a file that cannot be changed leaves the others alone too.
Nothing is remembered about an installation: where a kept copy with our entries put in is the file that is there, the
copy is all that there was, and taking our entries out gives back its very bytes.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from reasoningbank.core.errors import BankError, InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank_coding_agents.install.targets import Target
from reasoningbank_coding_agents.install.writing import Seen, back_up, backups_of, put_back, read_seen, replace_file

CONTEXT_LINES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    target: Target
    was: Seen
    text: str | None
    """Text that the file should have; None when there should be none."""
    kept: Path | None = None
    """The copy whose bytes these are."""

    @property
    def kind(self) -> str:
        """unchanged, created, changed or removed."""
        if self.text is None:
            return "unchanged" if self.was.data is None else "removed"
        if self.was.data is None:
            return "created"
        return "unchanged" if self.text == self.was.text else "changed"

    @property
    def diff(self) -> str:
        """As `diff -u` has it."""
        name = str(self.target.path)
        lines = difflib.unified_diff(
            self.was.text.splitlines(), (self.text or "").splitlines(), name, name, lineterm="", n=CONTEXT_LINES
        )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    change: FileChange
    backup: Path | None


def installing(targets: Sequence[Target]) -> list[FileChange]:
    changes = []
    for target in targets:
        was = read_seen(target.path)
        changes.append(FileChange(target=target, was=was, text=_add_entries(target, was.text)))
    return changes


def uninstalling(targets: Sequence[Target]) -> list[FileChange]:
    changes = []
    for target in targets:
        was = read_seen(target.path)
        text, copy = _text_before(target, was)
        changes.append(FileChange(target=target, was=was, text=text, kept=copy))
    return changes


def write(changes: Sequence[FileChange], now: float, *, copies: bool = True) -> list[Written]:
    """All of them, or none: what was written before one that fails is put back."""
    results: list[Written] = []
    try:
        for change in changes:
            if change.kind == "unchanged":
                results.append(Written(change=change, backup=None))
                continue
            # What we made alone needs no copy: installing makes it again.
            ours = change.kept is not None or change.text is None
            backup = back_up(change.was, now) if copies and not ours else None
            replace_file(change.was, change.text, has_lock=change.target.guarded, mode=change.target.mode)
            results.append(Written(change=change, backup=backup))
    except BankError:
        for result in results:
            if result.change.kind != "unchanged":
                put_back(result.change.was)
        raise
    for change in changes:
        if change.kept is not None:
            change.kept.unlink(missing_ok=True)
    return results


def _add_entries(target: Target, text: str) -> str:
    try:
        return _with_ours(target, text)
    except InvalidInput as error:
        raise _unusable(target, error) from error


def _with_ours(target: Target, text: str) -> str:
    return target.add(text if text.strip() else target.blank)


def _text_before(target: Target, was: Seen) -> tuple[str | None, Path | None]:
    """The text from before, with its copy, where nothing is newer; else the text without our entries."""
    if was.data is None or not was.text.strip():
        return (None if was.data is None else was.text), None
    for copy in reversed(backups_of(was.path)):
        if _is_all_there_was(target, read_seen(copy).text, was.text):
            return read_seen(copy).text, copy
    try:
        if was.text == _with_ours(target, ""):
            return None, None
        # Where nothing at all is left, the file was ours.
        return target.remove(was.text) or None, None
    except InvalidInput as error:
        raise _unusable(target, error) from error


def _is_all_there_was(target: Target, before: str, now: str) -> bool:
    try:
        # A copy that holds entries of ours is from between two installations.
        clean = not before.strip() or target.remove(before) == before
        return clean and now == _with_ours(target, before) != before
    except InvalidInput:
        return False


def _unusable(target: Target, error: InvalidInput) -> InvalidInput:
    return InvalidInput(
        f"{target.path} cannot be changed: {error}. Repair it or move it away, and run this again. Nothing was written."
    )
