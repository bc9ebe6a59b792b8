"""`hook AGENT`: what a coding agent calls at each event of a session. The short way to it is `cli.entry`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.cli.command import Command
from reasoningbank.cli.terminal import Terminal
from reasoningbank_coding_agents.hosts import NAMES


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("agent", choices=NAMES, help="who calls")
    parser.add_argument("--event", metavar="NAME", help="the event, where the agent does not name it in its JSON")


def _run(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank_coding_agents.hooking import run

    terminal.out.flush()
    options = {"--event": args.event, "--bank": args.bank, "--namespace": args.namespace, "--config": args.config}
    return run([args.agent, *(word for name, value in options.items() if value for word in (name, value))])


COMMANDS = {
    "hook": Command(
        run=_run,
        options=_options,
        about="Reads the event as JSON from standard input and prints advice in the agent's own form, or nothing. "
        "Always ends with 0, within its deadline. `install` sets it up; docs/coding-agents.md tells the rest.",
    )
}
