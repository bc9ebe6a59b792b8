"""`completion SHELL`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.cli.command import Command
from reasoningbank.cli.terminal import Terminal

SHELLS = ("bash", "zsh", "fish")


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def _run(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank.cli.completion_scripts import script

    text = script(args.shell)
    if terminal.as_json:
        terminal.json({"shell": args.shell, "script": text})
    else:
        terminal.verbatim(text)
    return 0


COMMANDS = {
    "completion": Command(
        run=_run, options=_options, about="For bash: `source <(reasoningbank completion bash)` in ~/.bashrc."
    )
}
