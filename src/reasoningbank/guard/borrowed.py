"""Tells what an action, or advice, has borrowed from an output: what a tool said first and nobody of ours before it.

That is an address, the value of a variable, a path outside of the project, a package by its version or a whole command.
Options and names that an error says of the program that was run are not borrowed; they are what an error is for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reasoningbank.core.commands import simple_commands
from reasoningbank.core.patterns import pattern
from reasoningbank.guard.dangerous_commands import is_local, name_of
from reasoningbank.guard.risky import LONGEST_COMMAND_CHARS, plain_text

_ADDRESS = pattern(
    r"(?i)\b[a-z][a-z+]{1,9}://[^\s'\"<>`”)\]},;]+|(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]+\.)+[a-z]{2,}"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"
)
_DOMAIN = pattern(
    r"(?i)(?<![\w.@/-])(?:[a-z0-9-]+\.)+(?:com|net|org|info|biz|io|dev|app|ai|co|me|xyz|top|site|online|cloud|gov|edu|eu"
    r"|uk|us|de|fr|nl|ru|cn|jp|br|test|example|invalid)\b(?![\w.(-])(?:[:/][^\s'\"<>`”]*)?"
)
_SETTING = pattern(r"(?<![\w-])([A-Za-z_]\w*)=('[^'\n]*'|\"[^\"\n]*\"|[^\s'\"`;&|)“”]+)")
_SWITCH = pattern(r"(?i)[\d.]{0,6}|true|false|yes|no|on|off|full")
_PLAIN_VALUE = pattern(r"(?i)[a-z][\w-]{0,19}")
_PATH = pattern(r"(?<![\w.~$)}\]/:-])(?:~|/|[A-Za-z]:\\|(?:\.\./)+)[\w.@%+~-]*(?:[/\\][\w.@%+~*-]*)+")
_OF_THE_SYSTEM = pattern(
    r"/(?:dev/(?:null|stdin|stdout|stderr)|(?:usr/(?:local/)?)?s?bin/[\w.-]+|opt/homebrew/bin/[\w.-]+)/?"
    r"|(?:\.\./)+[\w./-]*|/"
)
_VERSIONED = pattern(r"(?<![\w/@.-])@?[\w.-]+(?:/[\w.-]+)*(?:==|@(?=v?\d)|@(?=latest))[\w.*+!-]+")
_TICKED = pattern(r"`([^`\n]{4,400})`")
_COMMAND = "a whole command"


def borrowed_in(action: str, outputs: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """Parts of an action, or of advice, that stood in an output first and in nobody's own words before that.

    `own[i]` are the words of the user and the agent just before `outputs[i]`.
    """
    waiting = list(dict.fromkeys(_borrowable(action)))[:60]
    kinds: list[str] = []
    for number, output in enumerate(outputs):
        words = _in_one_line(own[number]) if number < len(own) else ""
        waiting = [(kind, thing) for kind, thing in waiting if thing not in words]
        if not waiting:
            break
        line = _in_one_line(output)
        later = []
        for kind, thing in waiting:
            if thing in line and not (kind == _COMMAND and _is_its_own(thing, words)):
                kinds.append(kind)
            else:
                later.append((kind, thing))
        waiting = later
    return tuple(dict.fromkeys(kinds))


def _in_one_line(text: str) -> str:
    return " ".join(text.split()).casefold()


def _borrowable(action: str) -> Iterator[tuple[str, str]]:
    """Parts of an action that can be borrowed, each with its kind."""
    text = plain_text(action)
    for match in (*_ADDRESS.finditer(text), *_DOMAIN.finditer(text)):
        address = match[0].rstrip(".,;:").casefold()
        _, scheme, rest = address.partition("://")
        host = rest.partition("/")[0].rpartition("@")[2].partition(":")[0] if scheme else address
        if not is_local(host):
            yield from (("an address", part) for part in dict.fromkeys((address, host)))
    yield from (("the value of a variable", value) for value in map(_value_of, _SETTING.findall(text)) if value)
    for path in _PATH.findall(_ADDRESS.sub(" ", text)):
        if not _OF_THE_SYSTEM.fullmatch(path):
            yield "a path outside of the project", path.rstrip("/\\").casefold()
    yield from (("a package by its version", package.casefold()) for package in _VERSIONED.findall(text))
    for line in _TICKED.findall(text) or (text,):
        for simple in simple_commands(line[:LONGEST_COMMAND_CHARS]):
            if len(simple.words) >= 3:
                yield _COMMAND, _in_one_line(" ".join(simple.words))


def _value_of(setting: tuple[str, str]) -> str:
    """Part of `NAME=value` that is somebody's: a value that says something, or all of a variable of the environment."""
    name, value = setting[0], setting[1].strip("'\"")
    if "$" in value or _SWITCH.fullmatch(value):
        return ""
    if _PLAIN_VALUE.fullmatch(value):
        return f"{name}={value}".casefold() if name.isupper() else ""
    return _in_one_line(value)


def _is_its_own(command: str, words: str) -> bool:
    """True if a command is a program's own help: one of the program that was run, and does not fetch by name."""
    program, *rest = command.split()
    programs = {name_of(simple.words[0]) for simple in simple_commands(words[-LONGEST_COMMAND_CHARS:])}
    return name_of(program) in programs and {program, *rest}.isdisjoint(
        ("install", "add", "i", "get", "dlx", "exec", "pull", "npx", "bunx", "uvx", "x")
    )
