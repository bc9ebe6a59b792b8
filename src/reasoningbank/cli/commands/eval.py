"""`eval …`: the commands of the evaluation, which is a package of its own beside this one."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from reasoningbank.cli.command import Command
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import NotFound

_PACKAGE = "reasoningbank_eval"
_IN_A_CHECKOUT = Path(__file__).parents[4] / "evaluation" / "src"


def _command(part: str) -> Command:
    command: Command = import_module(f"{_PACKAGE}.commands.{part}").COMMAND
    return command


def _is_there() -> bool:
    if find_spec(_PACKAGE) is None and (_IN_A_CHECKOUT / _PACKAGE).is_dir():
        sys.path.append(str(_IN_A_CHECKOUT))
    return find_spec(_PACKAGE) is not None


def _no_options(parser: ArgumentParser) -> None:
    parser.usage = "%(prog)s …"


def _missing(_args: Namespace, _terminal: Terminal) -> int:
    raise NotFound("The evaluation is not installed: pip install 'reasoningbank[eval]'.")


_PARTS = ("retrieval", "learning", "world", "graph")
_ABSENT = Command(run=_missing, options=_no_options, raw=True, about="It comes with the extra `eval`.")
COMMANDS = {f"eval {part}": _command(part) if _is_there() else _ABSENT for part in _PARTS}
