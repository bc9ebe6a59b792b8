"""Parses a patch of `apply_patch` (`*** Begin Patch`) into the edits of files that it makes.

A patch comes as the text of a call, or in a here-document of a shell command. What cannot be read of it is left out:
whoever is told of no edit knows less, and nothing wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern

LONGEST_PATCH_CHARS = 200_000
MOST_FILES = 50
_PATCH = pattern(r"(?:\A\s*|\bapply_?patch\b[^\n]*\n)(\*\*\* Begin Patch\n.*)", re.DOTALL)
_FILE = pattern(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVED = "*** Move to: "
_END = "*** End Patch"
_TOOLS = {"Add": "Write", "Update": "Edit", "Delete": "Delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchedFile:
    path: str
    tool: str
    """As Claude Code calls what does the same: Edit, Write; or Delete."""
    old: str = ""
    new: str = ""

    @property
    def action(self) -> str:
        """The edit as a call, in the form in which the edits of other agents are kept."""
        arguments = {"file_path": self.path}
        if self.tool == "Edit":
            arguments |= {"old_string": self.old, "new_string": self.new}
        elif self.tool == "Write":
            arguments |= {"content": self.new}
        return f"{self.tool}({json.dumps(arguments, ensure_ascii=False)})"


def patch_in(text: object) -> str:
    """The patch that a call or a command is; "" where it is something else."""
    if not isinstance(text, str) or "*** Begin Patch" not in text[:LONGEST_PATCH_CHARS]:
        return ""
    match = _PATCH.search(text[:LONGEST_PATCH_CHARS])
    return match[1] if match else ""


def edits_in(patch: str) -> list[PatchedFile]:
    """The edits of a patch, one for each file."""
    edits = []
    for kind, path, lines in _files(patch):
        body = [line for line in lines if line[:1] in " +-" or not line]
        old = "\n".join(line[1:] for line in body if line[:1] != "+")
        new = "\n".join(line[1:] for line in body if line[:1] != "-")
        edits.append(PatchedFile(path=path, tool=_TOOLS[kind], old=old, new=new))
    return edits


def _files(patch: str) -> Iterator[tuple[str, str, list[str]]]:
    """Kind, path and lines of each file; the marks of a patch and of its parts are not among the lines."""
    kind, path, lines = "", "", list[str]()
    count = 0
    for line in patch.splitlines():
        header = _FILE.match(line)
        if (header or line.startswith(_END)) and path:
            yield kind, path, lines
            kind, path = "", ""
            count += 1
        if line.startswith(_END) or count >= MOST_FILES:
            return
        if header:
            kind, path, lines = header[1], header[2].strip(), []
        elif not line.startswith(("***", "@@")):
            lines.append(line)
    if path:
        yield kind, path, lines
