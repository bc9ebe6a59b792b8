"""Reads what a step of a coding agent changed in files: lines taken out, lines put in, by file.

An edit comes as an old and a new text, a whole file, a patch, or blocks to search for and replace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from reasoningbank.core.frozen import dataclass, replace
from reasoningbank.core.learning import EpisodeStep
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.ingest import patches
from reasoningbank.learn.offline.words import arguments

MOST_LINES = 400
LONGEST_READ_CHARS = 60_000
_PATHS = ("file_path", "filePath", "path", "notebook_path", "target_file", "relative_path", "absolute_path", "filename")
_OLD = ("old_string", "oldString", "old_str", "oldText", "old_text", "search")
_NEW = ("new_string", "newString", "new_str", "newText", "new_text", "replace", "insert_text")
_WHOLE = ("content", "contents", "file_text", "text", "new_source")
_WRITES = pattern(r"(?i)write|create|edit|replace|patch|insert|save")
_FILE_OF_DIFF = pattern(r"\+\+\+ (?:b/)?(\S{1,300})")
_BLOCK = pattern(
    r"(?s)(?:<<<<<<<|-------) SEARCH\r?\n(.*?)\r?\n?=======\r?\n(.*?)\r?\n?(?:>>>>>>>|\+\+\+\+\+\+\+) REPLACE"
)
_EDITOR_LINE = re.compile(
    r"\s*(?:edit|insert|append|create)\b[^\n]*\n(.*?)\n?\s*end_of_\w+\s*"
    r"|\s*str_replace_editor\s+(?:create|str_replace|insert)\b.*",
    re.DOTALL,
)
"""Lines with which a harness lets an agent edit the open file."""
_SED = pattern(
    r"\bsed\s+(?:-E\s+|-r\s+)?-i(?:\s+''|\.\w+)?\s+(?:-E\s+|-e\s+)?(['\"])s([/"
    r"|#,])(.{1,200}?)\2(.{0,200}?)\2[gi]*\1\s+(\S+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedLines:
    path: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    is_new: bool = False
    """The whole file was written; what stood there before is not known."""


@lru_cache(maxsize=512)
def _edits_in(action: str) -> tuple[EditedLines, ...]:
    return tuple(_read(action))


def edits_in(step: EpisodeStep) -> tuple[EditedLines, ...]:
    """Lines that a step changed in files; nothing where it is no edit or failed."""
    if step.ok is False or len(step.action) > LONGEST_READ_CHARS:
        return ()
    return _edits_in(step.action)


def _read(action: str) -> Iterator[EditedLines]:
    start = action.find("*** Begin Patch")
    if start >= 0:
        patch = action[start:]
        if "\\n" in patch and "\n" not in patch:
            # Handed over as the text of a string.
            patch = patch.encode("utf-8", "replace").decode("unicode_escape", "replace")
        yield from _of_patch(patch)
        return
    match = _EDITOR_LINE.fullmatch(action)
    if match:
        yield EditedLines(path="", removed=(), added=tuple((match.group(1) or "").splitlines()[:MOST_LINES]))
        return
    values = arguments(action)
    if values is not None:
        yield from _of_call(action.split("(", 1)[0], values)
        return
    for _, _, old, new, path in _SED.findall(action):
        yield EditedLines(path=path, removed=(old,), added=(new,))


def _of_call(tool: str, values: Mapping[str, object]) -> Iterator[EditedLines]:
    path = next((value for name in _PATHS if isinstance(value := values.get(name), str)), "")
    patch = next(
        (value for name in ("patch", "diff", "input", "patchText") if isinstance(value := values.get(name), str)), ""
    )
    if "*** Begin Patch" in patch:
        yield from _of_patch(patch)
    elif "SEARCH" in patch:
        yield from (_changed(path, old, new) for old, new in _BLOCK.findall(patch))
    elif patch.startswith(("---", "diff ", "@@")):
        yield from _of_diff(patch.splitlines(), path)
    if not path:
        return
    entries = values.get("edits")
    for entry in [values, *(entries if isinstance(entries, list) else [])]:
        if not isinstance(entry, Mapping):
            continue
        old, new = _first(entry, _OLD), _first(entry, _NEW)
        if new is not None and (old is not None or "insert_line" in entry):
            yield _changed(path, old or "", new)
    whole = _first(values, _WHOLE)
    if whole is not None and _first(values, _OLD) is None and _WRITES.search(tool):
        yield EditedLines(path=path, removed=(), added=tuple(whole.splitlines()[:MOST_LINES]), is_new=True)


def _first(values: Mapping[str, object], names: Sequence[str]) -> str | None:
    return next((value for name in names if isinstance(value := values.get(name), str)), None)


def _changed(path: str, old: str, new: str) -> EditedLines:
    """The lines that really differ."""
    before, after = old.splitlines()[:MOST_LINES], new.splitlines()[:MOST_LINES]
    old_lines: list[str] = []
    new_lines: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            old_lines += before[i1:i2]
            new_lines += after[j1:j2]
    return EditedLines(path=path, removed=_telling(old_lines), added=_telling(new_lines))


def _telling(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line.strip())


def _of_patch(patch: str) -> Iterator[EditedLines]:
    for edit in patches.edits_in(patches.patch_in(patch)):
        yield replace(_changed(edit.path, edit.old, edit.new), is_new=edit.tool == "Write")


def _of_diff(lines: Sequence[str], path: str) -> Iterator[EditedLines]:
    target = next((match[1] for line in lines if (match := _FILE_OF_DIFF.match(line))), path)
    body = [line for line in lines if not re.match(r"(?:---|\+\+\+|diff |index |@@)", line)]
    old_lines = [line[1:] for line in body if line.startswith("-")]
    new_lines = [line[1:] for line in body if line.startswith("+")]
    if target and (old_lines or new_lines):
        yield _changed(target, "\n".join(old_lines), "\n".join(new_lines))
