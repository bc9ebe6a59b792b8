"""`serve`: the bank for other programs, over HTTP or, with `--mcp`, over this process's own input and output."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from reasoningbank.cli.banks import open_bank
from reasoningbank.cli.command import Command
from reasoningbank.cli.serving import add_serving, services_beside, workers_of
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import InvalidInput
from reasoningbank.plugins import plugins

GREETED_BY_S = 0.5
"""When whoever started this over MCP has its first answers; what can wait begins then."""


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--mcp", action="store_true", help="speak MCP on standard input and output instead of HTTP")
    for plugin in plugins("servers").values():
        plugin.load().options(parser)
    add_serving(parser)


def _run(args: Namespace, terminal: Terminal) -> int:
    if args.mcp:
        return _serve_mcp(args, terminal)
    for plugin in plugins("servers").values():
        code: int = plugin.load().run(args, terminal)
        return code
    raise InvalidInput("This installation has no server for HTTP: `serve --mcp` speaks MCP.")


def _serve_mcp(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank.serve.mcp import stdio

    stdio.require_sdk()
    with open_bank(args, create=True) as opening, services_beside(opening, args, after_s=GREETED_BY_S):
        try:
            # Standard output belongs to the protocol.
            stdio.serve(opening.bank, workers=workers_of(args, opening) > 0)
        except OSError as error:
            terminal.unwritten.append(error)
    return 0


COMMANDS = {
    "serve": Command(
        run=_run,
        options=_options,
        about="Beyond this machine a token is needed: `reasoningbank token create`. docs/server.md tells the rest.",
    )
}
