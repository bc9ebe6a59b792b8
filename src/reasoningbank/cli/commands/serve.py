"""`serve`: the bank for other programs."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.cli.banks import opened
from reasoningbank.cli.command import Command, Misuse
from reasoningbank.cli.terminal import Terminal


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--mcp", action="store_true", help="speak MCP on standard input and output, for one client")


def _run(args: Namespace, _: Terminal) -> int:
    if not args.mcp:
        raise Misuse("say what to serve: --mcp.", "")
    from reasoningbank.serve.mcp import stdio

    stdio.require_sdk()
    with opened(args, create=True) as found:
        stdio.serve(found.bank)
    return 0


COMMANDS = {
    "serve": Command(
        run=_run,
        options=_options,
        about="With --mcp nothing but JSON-RPC goes to standard output; it ends when the client closes its end.",
    )
}
