"""Options of every command, read from its own parser: for the reference page and the completion scripts."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from reasoningbank.cli.command import Parser, add_globals, command_named, parser_for
from reasoningbank.cli.table import COMMANDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    flags: tuple[str, ...]
    """Empty for a positional one."""
    metavar: str
    """Empty for a flag without a value."""
    choices: tuple[str, ...]
    required: bool
    repeatable: bool
    help: str

    @property
    def positional(self) -> bool:
        return not self.flags


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandShape:
    name: str
    summary: str
    description: str
    arguments: tuple[Argument, ...]


def shapes() -> list[CommandShape]:
    everywhere = {flag for argument in global_arguments() for flag in argument.flags}
    commands = []
    for name, entry in COMMANDS.items():
        parser = parser_for(name, command_named(name))
        own = tuple(argument for argument in _arguments(parser) if everywhere.isdisjoint(argument.flags))
        about = parser.description or ""
        commands.append(CommandShape(name=name, summary=entry.summary, description=about, arguments=own))
    return commands


def global_arguments() -> tuple[Argument, ...]:
    parser = Parser(add_help=False)
    add_globals(parser)
    return _arguments(parser)


def _arguments(parser: argparse.ArgumentParser) -> tuple[Argument, ...]:
    actions = parser._actions  # noqa: SLF001 - argparse has no public list of what was added to a parser
    return tuple(
        _argument(action)
        for action in actions
        if action.help != argparse.SUPPRESS and "--help" not in action.option_strings
    )


def _argument(action: argparse.Action) -> Argument:
    choices = tuple(str(choice) for choice in action.choices or ())
    takes_value = action.nargs != 0
    metavar = (action.metavar if isinstance(action.metavar, str) else "|".join(choices)) if takes_value else ""
    return Argument(
        flags=tuple(action.option_strings),
        metavar=metavar or ("" if not takes_value else action.dest.upper()),
        choices=choices,
        required=bool(action.required) if action.option_strings else action.nargs not in ("?", "*"),
        repeatable=isinstance(action, argparse._AppendAction) or action.nargs == "*",  # noqa: SLF001 - nor a public name for it
        help=action.help or "",
    )
