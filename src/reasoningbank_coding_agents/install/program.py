"""The command that starts this very installation, as other programs must write it down.

Scripts lie where the environment has them, and a shell wants a path quoted. An agent starts its hooks with another PATH
than the terminal had, so a path is absolute unless the settings are shared with other people.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from reasoningbank.core.frozen import dataclass

NAME = "reasoningbank"
_OURS = re.compile(
    r"(?:^|[\s\"'/\\])(?:reasoningbank|rbank)(?:\.exe)?[\"']?"
    r"(?:\s+--\w+(?:\s+|=)(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+)*\s+hook\s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    words: tuple[str, ...]
    """Beginning of the command line, such as one path, or a Python with `-m reasoningbank`."""
    options: tuple[str, ...] = ()
    """Options of every call, such as `--bank PATH`."""
    windows: bool = False

    def call(self, *arguments: str) -> list[str]:
        return [*self.words, *self.options, *arguments]

    def line(self, *arguments: str) -> str:
        """As one line for a shell."""
        return " ".join(_quote(word, windows=self.windows) for word in self.call(*arguments))


def program_in(scripts: Path, python: str, *, windows: bool, options: tuple[str, ...] = ()) -> Program:
    """The script that was installed beside `python`; where there is none, the module."""
    script = scripts / (f"{NAME}.exe" if windows else NAME)
    words = (str(script),) if script.is_file() else (python, "-m", NAME)
    return Program(words=words, options=options, windows=windows)


def is_ours(command: object) -> bool:
    """True if a command line of somebody's settings calls a hook of ours, from whatever installation."""
    return isinstance(command, str) and _OURS.search(command) is not None


def _quote(word: str, *, windows: bool) -> str:
    if not windows:
        return shlex.quote(word)
    # Slashes and double quotes mean the same to Git Bash, in which hooks run there, and to cmd.
    word = word.replace("\\", "/")
    return f'"{word}"' if re.search(r"[\s&|<>^()%!\"']", word) else word
