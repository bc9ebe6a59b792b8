"""`python -m reasoningbank_eval learning|world|graph|retrieval`: a measurement as tables, or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from reasoningbank import BankError
from reasoningbank.cli.command import Command, Misuse, Parser
from reasoningbank.cli.terminal import Terminal

_MEASUREMENTS = {
    "learning": "measure on real episodes what the bank learns",
    "world": "measure in a simulated world what credit is worth",
    "graph": "measure what a walk over the memory graph reaches",
    "retrieval": "measure recall on labelled data",
}


def main(arguments: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    terminal = Terminal.of_process(as_json="--json" in given)
    try:
        asked = _parser().parse_args(given)
        code: int = asked.run(asked, terminal)
        terminal.finish()
    except BankError as error:
        if isinstance(error, Misuse) and error.usage:
            terminal.tell(error.usage.rstrip())
        terminal.tell(f"error: {error}")
        return error.exit_code
    return code


def _parser() -> Parser:
    parser = Parser(prog="python -m reasoningbank_eval", allow_abbrev=False)
    measurements = parser.add_subparsers(metavar="MEASUREMENT", required=True)
    for name, summary in _MEASUREMENTS.items():
        command: Command = import_module(f"reasoningbank_eval.commands.{name}").COMMAND
        about = f"{summary[0].upper()}{summary[1:]}. {command.about}"
        own = measurements.add_parser(name, help=summary, description=about, allow_abbrev=False)
        command.options(own)
        own.add_argument("--json", action="store_true", help="print JSON")
        own.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
