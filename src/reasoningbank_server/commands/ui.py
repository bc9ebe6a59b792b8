"""`ui`: the page to look at the bank with, for this user on this machine."""

from __future__ import annotations

import webbrowser
from argparse import ArgumentParser, Namespace

from reasoningbank.cli.command import Command
from reasoningbank.cli.serving import add_serving
from reasoningbank.cli.terminal import Terminal
from reasoningbank.core.errors import BankUnavailable
from reasoningbank_server.commands.serve import http_options, require_server, serve_http

USUAL_PORT = 8711
"""The same each time, so that an address that was kept leads somewhere."""


def _options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"{USUAL_PORT}, or a free one where that is taken; 0 takes a free one"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the link and open nothing")


def _run(args: Namespace, terminal: Terminal) -> int:
    require_server()
    parser = ArgumentParser()
    http_options(parser)
    add_serving(parser)
    # Whoever looks changes nothing by looking: nobody distils or tidies up meanwhile. And a link is needed, for other
    # users of this machine can reach the port too.
    looking = ["--ui", "--require-token", "--workers", "0", "--no-consolidate"]
    options = Namespace(**{**vars(parser.parse_args(looking)), **vars(args), "port": _port(args.port)})
    return serve_http(options, terminal, lambda link: _open(link, terminal, browser=not args.no_browser))


def _port(port: int | None) -> int:
    if port is not None:
        return port
    from reasoningbank_server.server import listening_socket

    try:
        listening_socket("127.0.0.1", USUAL_PORT).close()
    except BankUnavailable:
        return 0
    return USUAL_PORT


def _open(link: str, terminal: Terminal, *, browser: bool) -> None:
    if terminal.as_json:
        terminal.json({"link": link})
        terminal.out.flush()
    is_open = browser and webbrowser.open(link)
    terminal.tell(f"{'Opened in your browser' if is_open else 'Open this in your browser, once, within 10 minutes'}:")
    terminal.tell(link)
    terminal.tell("Ctrl+C ends it.")


COMMANDS = {
    "ui": Command(
        run=_run,
        options=_options,
        about="Only this user on this machine: the link works once. For a team, `serve --ui` and tokens: docs/page.md.",
    )
}
