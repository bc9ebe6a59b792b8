"""`help COMMAND`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.cli import overview
from reasoningbank.cli.command import PROGRAM, Command, Misuse, command_named, parser_for
from reasoningbank.cli.table import COMMANDS as TABLE
from reasoningbank.cli.table import families
from reasoningbank.cli.terminal import Terminal


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("words", metavar="COMMAND", nargs="*", help="such as query, or session end")


def _run(args: Namespace, terminal: Terminal) -> int:
    name = " ".join(args.words)
    if terminal.as_json:
        commands = {n: e for n, e in TABLE.items() if not name or n == name or n.startswith(f"{name} ")}
        terminal.json({"commands": [{"name": n, "group": e.group, "summary": e.summary} for n, e in commands.items()]})
    elif not name:
        terminal.say(overview.everything())
    elif name in TABLE:
        terminal.say(parser_for(name, command_named(name)).format_help().rstrip())
    elif name in families():
        terminal.say(overview.family(name))
    else:
        near = overview.nearest(name)
        hint = f" Did you mean `{near}`?" if near else ""
        raise Misuse(f"there is no command {name!r}.{hint} `{PROGRAM} help` lists them.", "")
    return 0


COMMANDS = {"help": Command(run=_run, options=_options)}
