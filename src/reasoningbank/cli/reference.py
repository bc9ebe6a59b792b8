"""docs/commands.md, written from the parsers: `python -m reasoningbank.cli.reference [FILE]`."""

from __future__ import annotations

import sys
from pathlib import Path

from reasoningbank.cli.command import PROGRAM
from reasoningbank.cli.shape import Argument, CommandShape, global_arguments, shapes
from reasoningbank.cli.table import COMMANDS, GROUPS
from reasoningbank.config import VARIABLES
from reasoningbank.core.errors import BankError

_TITLES = {
    "start": "To start",
    "remember": "To remember",
    "ask": "To ask",
    "learn": "To learn",
    "change": "To change",
    "trust": "To decide whom to believe",
    "keep": "To keep it safe",
    "agents": "Coding agents",
    "serve": "To serve others",
    "more": "More",
}
_INTRODUCTION = f"""# Commands

Written by `python -m reasoningbank.cli.reference`; a test fails when it lags behind. `{PROGRAM}` is also
installed as `rbank`.

Data goes to standard output and talk to standard error, so `id=$({PROGRAM} store KEY VALUE)` holds an id and
nothing else. A bank that was named and is not there is an error, except for commands that store something:
they make it. A memory is named by its id everywhere, or by its key within the namespace. Data that cannot be
written is an error; talk that cannot (a full disk, a reader that left) changes neither what is done nor the exit code.
"""


def page() -> str:
    parts = [_INTRODUCTION, "## For every command\n\n" + _table(global_arguments())]
    by_group: dict[str, list[CommandShape]] = {group: [] for group in GROUPS}
    for shape in shapes():
        by_group[COMMANDS[shape.name].group].append(shape)
    for group, members in by_group.items():
        parts.append(f"## {_TITLES[group]}\n")
        parts.extend(_section(shape) for shape in members)
    parts += [_exit_codes(), _variables()]
    return "\n".join(parts)


def _section(shape: CommandShape) -> str:
    usage = " ".join([PROGRAM, shape.name, *(_usage(argument) for argument in shape.arguments)])
    lines = [f"### {shape.name}\n", f"{shape.description}\n", f"```\n{usage}\n```\n"]
    if shape.arguments:
        lines.append(_table(shape.arguments))
    return "\n".join(lines)


def _usage(argument: Argument) -> str:
    text = argument.metavar if argument.positional else f"{argument.flags[0]} {argument.metavar}".rstrip()
    text += " …" if argument.repeatable else ""
    return text if argument.required else f"[{text}]"


def _table(arguments: tuple[Argument, ...]) -> str:
    rows = ["| option | meaning |", "|---|---|"]
    for argument in arguments:
        name = ", ".join(argument.flags) or argument.metavar
        value = f" {argument.metavar}" if argument.flags and argument.metavar else ""
        meaning = argument.help
        if argument.choices and argument.metavar != "|".join(argument.choices):
            meaning = f"{meaning} ({', '.join(argument.choices)})".strip()
        rows.append(f"| `{_cell(name + value)}` | {_cell(meaning)} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _exit_codes() -> str:
    by_code: dict[int, list[str]] = {}
    waiting: list[type[BankError]] = [BankError]
    while waiting:
        kind = waiting.pop(0)
        waiting.extend(kind.__subclasses__())
        if kind.__module__ == BankError.__module__:
            by_code.setdefault(kind.exit_code, []).append(kind.__name__)
    rows = ["## Exit codes\n", "| code | meaning |", "|---|---|", "| 0 | done; finding nothing is done too |"]
    rows += [f"| {code} | {', '.join(names)} |" for code, names in sorted(by_code.items())]
    rows += ["| 130 | interrupted |", "| 141 | whoever read the output went away |"]
    return "\n".join(rows) + '\n\nWith `--json` a failure prints `{"error": {"type": …, "message": …}}` as well.\n'


def _variables() -> str:
    rows = ["## Environment\n", "| variable | meaning |", "|---|---|"]
    rows += [f"| `{name}` | {meaning} |" for name, meaning in VARIABLES.items()]
    rows.append("| `NO_COLOR` | any value: plain text |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else "docs/commands.md").write_text(page(), "utf-8")
