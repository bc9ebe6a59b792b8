"""The `Command` type: a parser, a run function, and options that commands share.

Knows the options that every command takes, and turns a misuse into an error with the usage line instead of
ending the process.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

from reasoningbank.cli.table import COMMANDS
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.core.frozen import dataclass

PROGRAM = "reasoningbank"
VALUED_GLOBALS = ("--bank", "--index", "--namespace", "--domain", "--config")
MEMORY = "memory"
"""May stand before any command: other programs have their memory commands under this word."""


@dataclass(frozen=True, slots=True)
class Command:
    run: Callable[[argparse.Namespace, Terminal], int]
    options: Callable[[argparse.ArgumentParser], None]
    about: str = ""


class Misuse(InvalidInput):
    """The options make no sense; carries the usage line."""

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message)
        self.usage = usage


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Misuse(message, self.format_usage())

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """The words to choose from as they are typed. The usage would bury them, so it is left out."""
        if action.choices is not None and value not in action.choices:
            name = "/".join(action.option_strings) or action.metavar or action.dest
            words = ", ".join(str(choice) for choice in action.choices)
            raise Misuse(f"{name} cannot be {value!r}: use one of {words}.", "")


def command_named(name: str) -> Command:
    module = COMMANDS[name].module
    loaded = import_module(module if "." in module else f"reasoningbank.cli.commands.{module}")
    command: Command = loaded.COMMANDS[name]
    return command


def parser_for(name: str, command: Command) -> Parser:
    summary = COMMANDS[name].summary
    about = f"{summary[0].upper()}{summary[1:]}."
    parser = Parser(
        prog=f"{PROGRAM} {name}",
        description=f"{about} {command.about}".strip(),
        allow_abbrev=False,
        formatter_class=_Draft,
    )
    command.options(parser)
    add_globals(parser)
    parser.formatter_class = _Formatter
    return parser


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)


class _Draft(argparse.HelpFormatter):
    """What argparse checks each option with. Told the width, it need not import `shutil` to ask for it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80)


def add_globals(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for every command")
    group.add_argument("--bank", metavar="PATH", help="the bank's file or URL, instead of this user's")
    group.add_argument(
        "--index", metavar="ENGINE", help="where a new bank keeps its index; `reindex --index` moves it there"
    )
    group.add_argument(
        "--namespace", "--domain", metavar="NAME", help="the project, instead of the repository around you"
    )
    group.add_argument("--config", metavar="FILE", help="the configuration, instead of config.toml; none reads none")
    group.add_argument("--json", action="store_true", help="print JSON")
    group.add_argument("--traceback", action="store_true", help=argparse.SUPPRESS)
    # Where several memories are to choose from, this names ours. Here there is no other.
    group.add_argument("--reasoningbank", action="store_true", help=argparse.SUPPRESS)


def split(words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """Options before the command, the command's name if there is one, and what follows it."""
    position = 0
    while position < len(words) and words[position].startswith("-") and words[position] != "-":
        position += 2 if words[position] in VALUED_GLOBALS else 1
    leading, rest = words[:position], words[position:]
    if len(rest) > 1 and rest[0] == MEMORY and (rest[1] in COMMANDS or " ".join(rest[1:3]) in COMMANDS):
        rest = rest[1:]
    if not rest:
        return leading, None, []
    two_words = " ".join(rest[:2])
    if two_words in COMMANDS and " " in two_words:
        return leading, two_words, rest[2:]
    return leading, rest[0], rest[1:]


# ---------------------------------------------------------------- options that several commands take


def add_reference(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="ID|KEY", help="a memory's id, or its key in this namespace")


def add_policy(parser: argparse.ArgumentParser) -> None:
    # Imported here: it brings arithmetic along that most commands need not load.
    from reasoningbank.core.confidence import policies

    parser.add_argument(
        "--policy",
        choices=list(policies()),
        help="how confidence is reckoned from evidence; the bank remembers it (a new one: bayes)",
    )


def add_limit(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument(
        "--limit", type=int, default=default, metavar="N", help=f"at most this many (default {default})"
    )
