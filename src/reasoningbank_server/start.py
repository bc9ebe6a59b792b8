"""Starts the HTTP server from the options of `serve`.

The defaults are safe: open to this machine's user on loopback, a token for everybody else.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.core.frozen import dataclass
from reasoningbank.serve.allowed_hosts import bracket, hosts_of_server, is_loopback, public_parts
from reasoningbank.serve.workers import Staffing
from reasoningbank_server.admission import Setup
from reasoningbank_server.answer import App
from reasoningbank_server.identity import Resolver
from reasoningbank_server.limits import Limits
from reasoningbank_server.oauth import OAuth, OAuthSettings
from reasoningbank_server.service import Service
from reasoningbank_server.ui.entrance import Entrance


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Options of `reasoningbank serve`."""

    host: str
    port: int
    require_token: bool = False
    public_url: str | None = None
    oauth: OAuthSettings | None = None
    tls: tuple[str, str] | None = None
    traces: bool = False
    limits: Limits = Limits()
    staffing: Staffing = Staffing()
    ui: bool = False
    """True if the page is served too."""


def needs_token(options: ServeOptions) -> bool:
    """True if callers need a token: a server that others can reach, directly or through a proxy, is open to nobody."""
    return options.require_token or options.public_url is not None or not is_loopback(options.host)


def address_of(options: ServeOptions, sock: socket.socket) -> str:
    scheme = "http" if options.tls is None else "https"
    return f"{scheme}://{bracket(options.host)}:{sock.getsockname()[1]}"


def service_for(
    bank: Bank,
    options: ServeOptions,
    sock: socket.socket,
    apps: Mapping[str, App],
    clock: Callable[[], float] = time.time,
) -> Service:
    jwt = None if options.oauth is None else OAuth(options.oauth, clock=clock)
    public_url = options.public_url
    if public_url is not None:
        parts: Any = public_parts(public_url)
        public_url = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")
    port = sock.getsockname()[1]
    encrypted = options.tls is not None or (options.public_url or "").startswith("https:")
    setup = Setup(
        hosts=hosts_of_server(options.host, port, options.public_url, tls=options.tls is not None),
        resolver=Resolver(bank.context.store, clock=clock, open_to_local=not needs_token(options), jwt=jwt),
        limits=options.limits,
        public_url=public_url or address_of(options, sock),
        oauth=options.oauth,
        mounted=apps,
        traces=options.traces,
        staffing=options.staffing,
        entrance=Entrance(port=port, clock=clock, secure=encrypted) if options.ui else None,
    )
    return Service(bank, setup)
