"""Starts the HTTP server from the options of `serve`.

Knows which defaults are safe: open to this machine's user on loopback, a token for everybody else.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

from reasoningbank.bank.bank import Bank
from reasoningbank.core.frozen import dataclass
from reasoningbank.serve.allowed_hosts import bracket, hosts_of_server, is_loopback, public_parts
from reasoningbank.serve.http.admission import Setup
from reasoningbank.serve.http.answer import App
from reasoningbank.serve.http.limits import Limits
from reasoningbank.serve.http.service import Service
from reasoningbank.serve.identity import Resolver
from reasoningbank.serve.oauth import OAuth, OAuthSettings
from reasoningbank.serve.workers import Staffing


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What `reasoningbank serve` was told."""

    host: str
    port: int
    require_token: bool = False
    public_url: str | None = None
    oauth: OAuthSettings | None = None
    tls: tuple[str, str] | None = None
    traces: bool = False
    limits: Limits = Limits()
    staffing: Staffing = Staffing()


def needs_token(wishes: Wishes) -> bool:
    """A server that others can reach, directly or through a proxy, is open to nobody."""
    return wishes.require_token or wishes.public_url is not None or not is_loopback(wishes.host)


def address_of(wishes: Wishes, sock: socket.socket) -> str:
    scheme = "http" if wishes.tls is None else "https"
    return f"{scheme}://{bracket(wishes.host)}:{sock.getsockname()[1]}"


def service_for(
    bank: Bank,
    wishes: Wishes,
    sock: socket.socket,
    mounted: Mapping[str, App],
    clock: Callable[[], float] = time.time,
) -> Service:
    jwt = None if wishes.oauth is None else OAuth(wishes.oauth, clock=clock)
    public_url = wishes.public_url
    if public_url is not None:
        parts: Any = public_parts(public_url)
        public_url = f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")
    setup = Setup(
        hosts=hosts_of_server(wishes.host, sock.getsockname()[1], wishes.public_url, tls=wishes.tls is not None),
        resolver=Resolver(bank.context.store, clock=clock, open_to_local=not needs_token(wishes), jwt=jwt),
        limits=wishes.limits,
        public_url=public_url or address_of(wishes, sock),
        oauth=wishes.oauth,
        mounted=mounted,
        traces=wishes.traces,
        staffing=wishes.staffing,
    )
    return Service(bank, setup)
