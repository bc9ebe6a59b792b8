"""Matches a command or a tool's failure with the known failures.

Exact rather than generous: a hook speaks unasked, so a warning that does not apply is worse than none. A command is
known again however it is called (`core.commands`), by what was wrong in it: what the way that worked left out, or the
program itself where another one worked. Whoever does it the way that worked is never warned.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from reasoningbank.core.commands import ShellCommand, commands_in
from reasoningbank.core.patterns import pattern
from reasoningbank.core.program_names import command_name
from reasoningbank.learn.offline.failure_kind import kind, message, sealed
from reasoningbank.learn.offline.words import called_tool
from reasoningbank_coding_agents.known_failures_file import Trouble

_LETTERS = pattern(r"[^\W\d_]{2,}")
_NUMBER = pattern(r"\d+")
_SAYS_LITTLE = frozenset({"exit", "code", "error", "status", "failed", "command", "process", "no", "message", "with"})
MOST_FOUND = 3


def before_command(command: str, troubles: Iterable[Trouble], cwd: str = "") -> list[str]:
    """The memories that warn of this command, those that name it exactly first."""
    commands = commands_in(command)
    exact: list[str] = []
    near: list[str] = []
    for trouble in troubles:
        if _is_exact(commands, trouble, cwd):
            exact.append(trouble.memory_id)
        elif _is_near(commands, trouble, cwd):
            near.append(trouble.memory_id)
    return [*exact, *near][:MOST_FOUND]


def same_command(command: str, troubles: Iterable[Trouble], cwd: str = "") -> list[str]:
    """The memories that know this very command to fail, whatever was done before it."""
    commands = commands_in(command)
    return [t.memory_id for t in troubles if not t.first and _is_exact(commands, t, cwd)][:MOST_FOUND]


def before_edit(path: str, cwd: str, troubles: Iterable[Trouble]) -> list[str]:
    """The memories that warn about this file."""
    file = PurePosixPath(path.replace("\\", "/").removeprefix(cwd.replace("\\", "/")).lstrip("/"))
    return [
        trouble.memory_id for trouble in troubles if any(_names(file, PurePosixPath(name)) for name in trouble.files)
    ][:MOST_FOUND]


def after_failure(command: str, error: str, troubles: Iterable[Trouble]) -> list[str]:
    """The memories of failures of the same kind, those of the same program first."""
    text = message(error)
    sort = kind(text)
    if not says_something(sort):
        return []
    programs = {command_name(part.words) for part in commands_in(command)}
    kept_as = (sort, sealed(sort))
    same = [
        trouble
        for trouble in troubles
        if trouble.signature in kept_as and (not trouble.names or any(name in text for name in trouble.names))
    ]
    same.sort(key=lambda trouble: not programs & {command_name(part.words) for part in commands_in(trouble.action)})
    return [trouble.memory_id for trouble in same][:MOST_FOUND]


def command_parts(line: str) -> list[tuple[str, ...]]:
    """The commands of a line, each as its words, then what held for it."""
    return [(*command.words, *sorted(command.around)) for command in commands_in(line)]


def says_something(signature: str) -> bool:
    """More than that something failed."""
    return bool(set(_LETTERS.findall(signature.casefold())) - _SAYS_LITTLE)


# ---------------------------------------------------------------- commands


def _wrong(trouble: Trouble) -> ShellCommand | None:
    """The command that fails: of several on a line, the one that the line that worked does not have."""
    if not trouble.action or called_tool(trouble.action):
        return None
    right = commands_in(trouble.worked)
    commands = commands_in(trouble.action)
    return next((command for command in commands if command not in right), commands[0] if commands else None)


def _right(trouble: Trouble, wrong: ShellCommand) -> ShellCommand | None:
    """Its counterpart in the line that worked."""
    commands = commands_in(trouble.worked)
    return next(
        (command for command in commands if set(command.words) & set(wrong.words)), commands[0] if commands else None
    )


def _is_exact(commands: Iterable[ShellCommand], trouble: Trouble, cwd: str) -> bool:
    wrong = _wrong(trouble)
    if wrong is None:
        return False
    right = _right(trouble, wrong)
    # The same words, numbers aside.
    words = [_NUMBER.sub("0", word) for word in wrong.words]
    return any(
        [_NUMBER.sub("0", word) for word in command.words] == words and not _is_mended(command, wrong, right, cwd)
        for command in commands
    )


def _is_mended(command: ShellCommand, wrong: ShellCommand, right: ShellCommand | None, cwd: str) -> bool:
    """True if a command has what the failing one lacked; a folder to go to may be where it is run already."""
    if right is None:
        return False
    missing = right.all_words - wrong.all_words
    return bool(missing) and {word for word in missing if not _is_there(word, cwd)} <= command.all_words


def _is_there(word: str, cwd: str) -> bool:
    folder = word.removeprefix("cd ").strip("./")
    return word.startswith("cd ") and bool(folder) and cwd.rstrip("/").endswith(folder)


def _is_near(commands: Iterable[ShellCommand], trouble: Trouble, cwd: str) -> bool:
    wrong = _wrong(trouble)
    right = None if wrong is None else _right(trouble, wrong)
    if wrong is None or right is None:
        return False
    return any(_likewise(command, wrong, right) and not _is_mended(command, wrong, right, cwd) for command in commands)


def _likewise(command: ShellCommand, wrong: ShellCommand, right: ShellCommand) -> bool:
    """True if a command makes the mistake that the known one made."""
    if command.words[0] != wrong.words[0]:
        return False
    if right.words[0] != wrong.words[0]:
        # Another program had to be called: it was not what was asked of this one.
        return True
    left_out = set(wrong.words) - set(right.words)
    if left_out:
        return left_out <= set(command.words)
    # Only something was missing: it is missing from whatever else the same program is run on, too.
    options = {word for word in wrong.words if word.startswith("-")}
    has_new_option = any(word.startswith("-") or word.endswith("=") for word in right.all_words - wrong.all_words)
    same_program = command_name(command.words) == command_name(wrong.words)
    return same_program and options <= set(command.words) and has_new_option


def _names(file: PurePosixPath, name: PurePosixPath) -> bool:
    """True if a name in a warning means this file: the same ending, as long as the shorter of the two."""
    length = min(len(file.parts), len(name.parts))
    return length > 0 and file.parts[-length:] == name.parts[-length:] and (length > 1 or len(name.parts) == 1)
