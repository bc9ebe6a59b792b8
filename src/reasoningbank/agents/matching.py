"""Matches a command or a tool's failure with the known failures.

Exact rather than generous: a hook speaks unasked, so a warning that does not apply is worse than none. A command is
known again by what was wrong in it: what the way that worked left out, or the program itself where another one worked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from reasoningbank.agents.known_failures_file import Trouble
from reasoningbank.core.patterns import pattern
from reasoningbank.learn.offline.failure_kind import kind, message, sealed
from reasoningbank.learn.offline.words import called_tool, head, one_line

_PART_ENDS = pattern(r"&&|\|\||[;|\n]")
_BEFORE_COMMAND = pattern(r"(?:(?:sudo|time|nohup|exec|command|then|do|else)\s+|\w+=(?:'[^']*'|\"[^\"]*\"|\S*)\s+)*")
_TOKEN = pattern(r"'[^']*'|\"[^\"]*\"|\S+")
_LETTERS = pattern(r"[^\W\d_]{2,}")
_SAYS_LITTLE = frozenset({"exit", "code", "error", "status", "failed", "command", "process", "no", "message", "with"})
MOST_PARTS = 40
LONGEST_COMMAND_CHARS = 8_000
MOST_FOUND = 3


def before_command(command: str, troubles: Iterable[Trouble]) -> list[str]:
    """The memories that warn of this command, those that name it exactly first."""
    parts = list(_parts(command))
    exact: list[str] = []
    near: list[str] = []
    for trouble in troubles:
        if not trouble.action or called_tool(trouble.action):
            continue
        wrong = next(_parts(trouble.action), ())
        if any(_same(part, wrong) for part in parts):
            exact.append(trouble.memory_id)
        elif any(_likewise(part, wrong, trouble.worked) for part in parts):
            near.append(trouble.memory_id)
    return [*exact, *near][:MOST_FOUND]


def before_edit(path: str, cwd: str, troubles: Iterable[Trouble]) -> list[str]:
    """The memories that warn about this file."""
    edited = PurePosixPath(path.replace("\\", "/").removeprefix(cwd.replace("\\", "/")).lstrip("/"))
    return [
        trouble.memory_id
        for trouble in troubles
        if any(_names(edited, PurePosixPath(named)) for named in trouble.files)
    ][:MOST_FOUND]


def after_failure(command: str, error: str, troubles: Iterable[Trouble]) -> list[str]:
    """The memories of failures of the same kind, those of the same program first."""
    sort = kind(message(error))
    if not says_something(sort):
        return []
    programs = {head(" ".join(part)) for part in _parts(command)}
    kept_as = (sort, sealed(sort))
    same = [trouble for trouble in troubles if trouble.signature in kept_as]
    same.sort(key=lambda trouble: head(trouble.action) not in programs)
    return [trouble.memory_id for trouble in same][:MOST_FOUND]


def command_parts(line: str) -> list[tuple[str, ...]]:
    """The commands of a line, each as its words."""
    return list(_parts(line))


def says_something(signature: str) -> bool:
    """More than that something failed."""
    return bool(set(_LETTERS.findall(signature.casefold())) - _SAYS_LITTLE)


# ---------------------------------------------------------------- commands


def _parts(command: str) -> Iterator[tuple[str, ...]]:
    """The commands of a line, each as its words, without what only stands before one."""
    for part in _PART_ENDS.split(command[:LONGEST_COMMAND_CHARS])[:MOST_PARTS]:
        words = tuple(_TOKEN.findall(_BEFORE_COMMAND.sub("", one_line(part.strip()), count=1)))
        if words and words[0] != "cd":
            yield words


def _same(part: Sequence[str], wrong: Sequence[str]) -> bool:
    """The same words, numbers aside."""
    return bool(wrong) and kind(" ".join(part)) == kind(" ".join(wrong)) and part[0] == wrong[0]


def _likewise(part: Sequence[str], wrong: Sequence[str], worked: str) -> bool:
    """Whether a command makes the mistake that the known one made."""
    right = next((words for words in _parts(worked) if set(words) & set(wrong)), next(_parts(worked), ()))
    if not wrong or not right or part[0] != wrong[0]:
        return False
    missing = set(right) - set(wrong)
    if missing and missing <= set(part):
        return False
    if right[0] != wrong[0]:
        # Another program had to be called: it was not what was asked of this one.
        return True
    left_out = set(wrong) - set(right)
    return bool(left_out) and left_out <= set(part)


def _names(edited: PurePosixPath, named: PurePosixPath) -> bool:
    """Whether a name in a warning means this file: the same ending, as long as the shorter of the two."""
    length = min(len(edited.parts), len(named.parts))
    return length > 0 and edited.parts[-length:] == named.parts[-length:] and (length > 1 or len(named.parts) == 1)
