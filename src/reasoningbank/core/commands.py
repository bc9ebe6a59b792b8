"""Takes a shell line apart: the commands in it, each as its words, without what only stands around them.

Reads quotes, pipes, redirections, `cd … &&`, environment and wrappers such as `sudo`, `time`, `timeout` and `bash -lc`.
So the same command is known again however it was called; what stood around it is kept beside its words. Never raises,
whatever the line holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from reasoningbank.core.frozen import dataclass
from reasoningbank.core.patterns import pattern

LONGEST_LINE_CHARS = 8_000
MOST_COMMANDS = 40
MOST_SHELLS = 3
"""Inside one another."""
_TOKEN = pattern(
    r"(?P<space>(?:[ \t\r\f\v]|\\\n)+)"
    r"|(?P<comment>(?<![^\s;&|()])#[^\n]*)"
    r"|(?P<here><<-?[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote))"
    r"|(?P<redirect>(?:\d|&)?(?:>>?|<<?<?)&?[ \t]*(?:\d\b|-(?=\s|$)|(?:'[^']*'|\"[^\"]*\"|[^\s'\";&|<>()])*))"
    r"|(?P<operator>&&|\|\||\|&?|;;?|&|\n|[()])"
    r"|(?P<word>(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\([^()\n]*\)|\\.|[^\s'\"\\;&|<>()])+|.)"
)
_NOISE = (
    pattern(r"[ \t]*(?:2>&1|&>[ \t]*/dev/null|[12]?>[ \t]*/dev/null)"),
    pattern(r"(?:[ \t]*\|&?[ \t]*(?:tail|head|tee|cat|less|more)\b[^|;&\n]*)+$"),
    pattern(r"[ \t]*(?:;[ \t]*echo [^|;&\n]*\$\?[^|;&\n]*)$"),
    pattern(r"^[ \t]*(?:time|timeout(?: -\w+ \S+)* \d+[smh]?)[ \t]+"),
)
_QUOTED = pattern(r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)")
_ESCAPED = pattern(r"\\([\"\\$`])")
_ASSIGNMENT = pattern(r"[A-Za-z_]\w*=")
_DURATION = pattern(r"[\d.]+[smhd]?")
_WRAPPERS: dict[str, str] = {
    "sudo": "ugphCRTUD", "doas": "uC", "time": "fo", "gtime": "fo", "nohup": "", "exec": "a", "command": "",
    "builtin": "", "nice": "n", "ionice": "cnp", "stdbuf": "ioe", "timeout": "sk", "gtimeout": "sk", "env": "uCS",
    "unbuffer": "", "setsid": "", "caffeinate": "", "then": "", "do": "", "else": "", "if": "", "while": "", "{": "",
    "!": "", "xvfb-run": "s", "winpty": "",
}  # fmt: skip
"""Programs and words that only stand before a command, and which of their short options take a value."""
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
_SCENERY = frozenset(
    {
        "cd",
        "pushd",
        "popd",
        "export",
        "set",
        "source",
        ".",
        "unset",
        "umask",
        "ulimit",
        "trap",
        "for",
        "case",
        "fi",
        "done",
        "}",
    }
)
_QUIET_ENDS = frozenset({"true", ":", "echo", "exit", "printf", "sleep"})
"""Commands that may follow another one without being what the line was about."""
_FILTERS = frozenset({
    "tail", "head", "tee", "cat", "less", "more", "grep", "egrep", "rg", "sed", "awk", "sort", "uniq", "wc", "cut",
    "tr", "column", "jq", "nl", "fold", "ts", "strings", "xxd", "Select-Object", "Select-String", "Out-String",
})  # fmt: skip
"""Commands that only pass on what is piped into them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellCommand:
    words: tuple[str, ...]
    """Without their quotes."""
    around: frozenset[str] = frozenset()
    """Its surroundings: `NAME=` of its environment, `cd DIR`, `sudo`, what it was sourced from."""

    @property
    def settings(self) -> frozenset[str]:
        """The surroundings without the folder."""
        return frozenset(word for word in self.around if not word.startswith("cd "))

    @property
    def folders(self) -> frozenset[str]:
        """The relative folders that it goes to, as `cd DIR`."""
        return frozenset(word for word in self.around if word.startswith("cd ") and word[3:4] not in ("/", "~", "$"))

    @property
    def all_words(self) -> frozenset[str]:
        return self.around | frozenset(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleCommand:
    """A command with all that stands around it."""

    words: tuple[str, ...]
    """Without their quotes."""
    is_piped: bool
    """The output of another one is its input."""
    redirects: tuple[str, ...]
    here: str
    """The text that is given to it below its line."""


def commands_in(line: str) -> list[ShellCommand]:
    """The commands that a line was about, in their order; what sets the scene counts where there is nothing else."""
    return list(_commands_in(line[:LONGEST_LINE_CHARS]))


@lru_cache(maxsize=1024)
def _commands_in(line: str) -> tuple[ShellCommand, ...]:
    commands = list(_taken_apart(line, frozenset(), MOST_SHELLS))[:MOST_COMMANDS]
    telling = [command for command, scenery in commands if not scenery]
    return tuple(telling or [command for command, _ in commands])


def tidy_line(line: str) -> str:
    """The line without what only concerns where its output goes; any other text as it is."""
    for noise in _NOISE:
        line = noise.sub("", line)
    return line.strip()


def plain_command(line: str) -> str:
    """The line without what stands around its commands, joined again: equal for lines that do the same."""
    return " && ".join(" ".join(command.words) for command in commands_in(line))


def does_the_same(line: str, other: str) -> bool:
    """True if a later line runs the same in the same surroundings, however it is written.

    Where it is run from may be known by then; a folder that it goes to for the first time is a difference.
    """
    ours, theirs = commands_in(line), commands_in(other)
    if not ours or [(c.words, c.settings) for c in ours] != [(c.words, c.settings) for c in theirs]:
        return False
    return not any(later.folders - earlier.folders for earlier, later in zip(ours, theirs, strict=True))


def _taken_apart(line: str, around: frozenset[str], shells: int) -> Iterator[tuple[ShellCommand, bool]]:
    """Each command, and whether it only sets the scene for others."""
    first = True
    for simple in simple_commands(line):
        bare, own = without_wrappers(simple.words)
        if not bare:
            around |= own
            continue
        inner = shell_line(bare)
        if inner and shells:
            yield from _taken_apart(inner, around | own, shells - 1)
        elif bare[0] in _SCENERY:
            if bare[0] == "export":
                around |= {word[: word.index("=") + 1] for word in bare[1:] if _ASSIGNMENT.match(word)}
            elif bare[0] in ("cd", "pushd", "source", "."):
                around |= {" ".join(bare)}
            yield ShellCommand(words=bare, around=around), True
        else:
            passes_on = (simple.is_piped and bare[0] in _FILTERS) or (not first and bare[0] in _QUIET_ENDS)
            yield ShellCommand(words=bare, around=around | own), passes_on
        first = False


def simple_commands(line: str) -> Iterator[SimpleCommand]:
    """Every command of a line, as it stands there."""
    words: list[str] = []
    redirects: list[str] = []
    here = ""
    is_piped = False
    at = 0
    while at < len(line):
        token = _TOKEN.match(line, at)
        if token is None:
            break
        at = token.end()
        if token["word"] is not None:
            words.append(_unquoted(token["word"]))
        elif token["here"] is not None:
            start, at = at, _after_here_document(line, at, token["end"])
            here = line[start:at]
        elif token["redirect"] is not None:
            redirects.append(token["redirect"])
        elif token["operator"] is not None:
            if words:
                yield SimpleCommand(words=tuple(words), is_piped=is_piped, redirects=tuple(redirects), here=here)
                words, redirects, here = [], [], ""
            is_piped = token["operator"].startswith("|") and token["operator"] != "||"
    if words:
        yield SimpleCommand(words=tuple(words), is_piped=is_piped, redirects=tuple(redirects), here=here)


def _after_here_document(line: str, at: int, end: str) -> int:
    """Where a line goes on after the text that is given to it; that text is no command."""
    body = line.find("\n", at)
    if body < 0:
        return at
    closing = line.find(f"\n{end}", body)
    rest = line[at:body]
    # What stands on the opening line behind the mark belongs to the command, and is rare: it is passed over.
    return len(line) if closing < 0 or not rest.isprintable() else closing + 1 + len(end)


def _unquoted(word: str) -> str:
    def plain(match: object) -> str:
        single, double, letter = match.groups()  # type: ignore[attr-defined]
        if single is not None:
            return str(single)
        return str(letter) if double is None else _ESCAPED.sub(r"\1", double)

    return _QUOTED.sub(plain, word)


def without_wrappers(words: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The command itself, and what its wrappers say of it."""
    around: set[str] = set()
    while words:
        first = words[0]
        if _ASSIGNMENT.match(first):
            around.add(first[: first.index("=") + 1])
            words = words[1:]
            continue
        name = first.rsplit("/", 1)[-1]
        if name not in _WRAPPERS or (name == "command" and words[1:2] == ("-v",)):
            break
        if name in ("sudo", "doas"):
            around.add("sudo")
        words = words[1:]
        while words and words[0].startswith("-") and len(words[0]) > 1:
            takes_value = len(words[0]) == 2 and words[0][1] in _WRAPPERS[name]
            words = words[2:] if takes_value else words[1:]
        if name in ("timeout", "gtimeout") and words and _DURATION.fullmatch(words[0]):
            words = words[1:]
    return words, frozenset(around)


def shell_line(words: tuple[str, ...]) -> str:
    """The line that a shell is given to run, as in `bash -lc "…"`."""
    if words[0].rsplit("/", 1)[-1] not in _SHELLS:
        return ""
    for number, word in enumerate(words[1:], 1):
        if not word.startswith("-"):
            return ""
        if not word.startswith("--") and word.endswith("c"):
            return words[number + 1] if len(words) > number + 1 else ""
    return ""
