"""`serve`: the bank for other programs, over HTTP or, with `--mcp`, over this process's own input and output."""

from __future__ import annotations

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import Any

from reasoningbank.cli import figures
from reasoningbank.cli.banks import OpenedBank, open_bank
from reasoningbank.cli.command import Command, add_policy
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import named_namespace
from reasoningbank.core.errors import InvalidInput, MissingExtra
from reasoningbank.core.frozen import replace

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8710
DEFAULT_WORKERS = 2
MOST_WORKERS = 64
GREETED_BY_S = 0.5
"""When whoever started this over MCP has its first answers; what can wait begins then."""


def serve_options(parser: ArgumentParser) -> None:
    parser.add_argument("--ui", action="store_true", help="a page to look at the bank with, at /ui")
    parser.add_argument("--mcp", action="store_true", help="speak MCP on standard input and output instead of HTTP")
    parser.add_argument("--host", default=DEFAULT_HOST, metavar="ADDRESS", help=f"where to listen ({DEFAULT_HOST})")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, metavar="N", help=f"0 takes a free one ({DEFAULT_PORT})"
    )
    add_policy(parser)
    parser.add_argument("--require-token", action="store_true", help="also from programs on this machine")
    parser.add_argument(
        "--public-url", metavar="URL", help="the address that clients use, when a proxy stands in front"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="serve https with this certificate")
    parser.add_argument("--tls-key", metavar="FILE", help="the certificate's private key")
    parser.add_argument("--oauth-issuer", metavar="URL", help="accept access tokens of this issuer too")
    parser.add_argument("--oauth-keys", metavar="FILE|URL", help="the issuer's JSON Web Key Set")
    parser.add_argument("--oauth-audience", metavar="URL", help="who the access tokens must be for (the public URL)")
    parser.add_argument(
        "--oauth-tenant-claim", default="tenant", metavar="NAME", help="the claim that names the tenant"
    )
    parser.add_argument(
        "--rate", type=float, default=200.0, metavar="N", help="requests a second for each token; 0 is no limit (200)"
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help=f"how many distil finished sessions meanwhile; 0 is nobody ({DEFAULT_WORKERS}, or as configured)",
    )
    parser.add_argument(
        "--no-consolidate", action="store_true", help="leave memories as they are; else once a day, when at rest"
    )
    parser.add_argument("--bus", metavar="HOST:PORT", help="exchange with other banks too, reachable there (UDP)")
    parser.add_argument("--bus-public", metavar="HOST[:PORT]", help="where other banks are told that it is")
    parser.add_argument("--traces", action="store_true", help="send OpenTelemetry spans; OTEL_… variables say where")


def _run(args: Namespace, terminal: Terminal) -> int:
    if args.mcp:
        return _serve_mcp(args, terminal)
    return serve_http(args, terminal)


def require_server() -> None:
    for package in ("uvicorn", "starlette", "httptools"):
        if find_spec(package) is None:
            raise MissingExtra(package=package, extra="serve", purpose="Serving over HTTP")


def _listening_for_hooks(found: OpenedBank, *, after_s: float = 0.0) -> AbstractContextManager[None]:
    """A server that runs anyway is the quickest to answer the hooks of coding agents."""
    from reasoningbank.agents.hook_listener import serve_hooks

    return serve_hooks(found.bank, found.location, after_s=after_s)


@contextmanager
def _on_the_bus(found: OpenedBank, listen: str | None, public: str | None) -> Iterator[str]:
    """A node of the bus beside the server, and where it listens; "" without one."""
    if listen is None:
        if public is not None:
            raise InvalidInput("--bus-public says where a node of the bus is found: --bus HOST:PORT starts one.")
        yield ""
        return
    from reasoningbank.bus import Bus

    with Bus.open(found.bank) as bus:
        from reasoningbank.bus.service import running_node

        with running_node(bus, listen, public) as node:
            yield node.listen


def _serve_mcp(args: Namespace, terminal: Terminal) -> int:
    from reasoningbank.serve.mcp import stdio

    stdio.require_sdk()
    with open_bank(args, create=True) as found, _listening_for_hooks(found, after_s=GREETED_BY_S):
        try:
            # Standard output belongs to the protocol.
            stdio.serve(found.bank, workers=_workers(args, found) > 0)
        except OSError as error:
            terminal.unwritten.append(error)
    return 0


def serve_http(args: Namespace, terminal: Terminal, opened: Callable[[str], None] | None = None) -> int:
    """Serve until a signal. `opened` is told the page's one-time link instead of what else is served."""
    require_server()
    from reasoningbank.serve.http.server import listening_socket, make_server, run
    from reasoningbank.serve.http.start import address_of, needs_token, service_for

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    asked = _wishes(args)
    with (
        open_bank(args, create=True) as found,
        listening_socket(args.host, args.port) as sock,
        _listening_for_hooks(found),
        _on_the_bus(found, args.bus, args.bus_public) as bus_address,
    ):
        bank = found.bank
        options = replace(asked, staffing=_staffing(args, found))
        mounted, lifespan = _mcp_app(bank, names_project=bool(args.namespace or named_namespace()))
        service = service_for(bank, options, sock, mounted)
        address = address_of(options, sock)

        def ready() -> None:
            if opened is not None and service.entrance is not None:
                opened(f"{address}/ui/enter#{service.entrance.make_link_code()}")
                return
            _tell(terminal, bank.status(), address, options, mounted, open_to_local=not needs_token(options))
            if bus_address:
                terminal.tell_labelled(f"{'bus':11} ", f"listening at {bus_address} (UDP)")

        run(make_server(service, options.limits, ready=ready, lifespan=lifespan, tls=options.tls), sock)
    terminal.tell("Ended; every request that was taken is answered.")
    return 0


def _wishes(args: Namespace) -> Any:
    from reasoningbank.serve.http.limits import Limits
    from reasoningbank.serve.http.start import ServeOptions
    from reasoningbank.serve.oauth import checked_settings

    if bool(args.oauth_issuer) != bool(args.oauth_keys):
        raise InvalidInput("--oauth-issuer and --oauth-keys go together.")
    if bool(args.tls_cert) != bool(args.tls_key):
        raise InvalidInput("--tls-cert and --tls-key go together.")
    if args.workers is not None and not 0 <= args.workers <= MOST_WORKERS:
        raise InvalidInput(f"--workers must be from 0 to {MOST_WORKERS}, not {args.workers}.")
    if not 0 <= args.rate < 1e9:
        raise InvalidInput("--rate must be a number from 0 on.")
    oauth = None
    if args.oauth_issuer:
        audience = args.oauth_audience or args.public_url
        if not audience:
            raise InvalidInput("Say with --oauth-audience or --public-url who the access tokens must be for.")
        oauth = checked_settings(args.oauth_issuer, audience, args.oauth_keys, args.oauth_tenant_claim)
    return ServeOptions(
        host=args.host,
        port=args.port,
        require_token=args.require_token,
        public_url=args.public_url,
        oauth=oauth,
        tls=(args.tls_cert, args.tls_key) if args.tls_cert else None,
        traces=args.traces,
        ui=args.ui,
        limits=replace(Limits(), requests_per_s=args.rate, burst=2 * args.rate),
    )


def _workers(args: Namespace, found: OpenedBank) -> int:
    configured = found.bank.settings.distillation.workers
    return configured if args.workers is None else int(args.workers)


def _staffing(args: Namespace, found: OpenedBank) -> Any:
    from reasoningbank.serve.workers import Staffing

    batch = found.bank.settings.distillation.batch
    return Staffing(workers=_workers(args, found), batch=batch, consolidates=not args.no_consolidate)


def _mcp_app(bank: Any, *, names_project: bool) -> tuple[dict[str, Any], Any]:
    """MCP over HTTP at /mcp, where its library is installed."""
    if find_spec("mcp") is None:
        return {}, None
    from reasoningbank.serve.http.dispatch import tenant_bank
    from reasoningbank.serve.mcp.http import mcp_asgi_app

    made = mcp_asgi_app(
        lambda principal: tenant_bank(bank, principal.tenant),
        lambda scope: scope["state"]["principal"],
        # Both headers are checked before a request comes this far.
        allowed_hosts=None,
        search=bank.settings.search,
        distiller=bank.learning.distiller,
        names_project=names_project,
    )
    return {"/mcp": made}, made


def _tell(
    terminal: Terminal, status: Any, address: str, options: Any, mounted: dict[str, Any], *, open_to_local: bool
) -> None:
    doors = {"REST": f"{address}/v1", "OpenAPI": f"{address}/openapi.json"}
    if "/mcp" in mounted:
        doors["MCP"] = f"{address}/mcp"
    if options.ui:
        doors["page"] = f"{address}/ui/"
    if terminal.as_json:
        terminal.json({"address": address, "doors": doors, "open_to_local": open_to_local})
        terminal.out.flush()
    active = status.memories.get("active", 0)
    facts = {
        **doors,
        # Under /v1 itself nothing answers, and whoever tries the server out begins with what is printed here.
        "REST": f"{doors['REST']}/status and all else under /v1",
        "bank": f"{status.store.location} ({figures.counted(active, 'memory', 'memories')} of {status.tenant})",
        "embedder": str(status.embedder),
        "confidence": f"policy {status.policy}",
        "distiller": status.distiller + _hands(status.distiller, options.staffing.workers),
        "durability": str(status.store.durability),
        "access": _access(options, open_to_local=open_to_local),
    }
    for label, text in facts.items():
        terminal.tell_labelled(f"{label:11} ", text)
    if not open_to_local and options.tls is None and (options.public_url or "").partition(":")[0] != "https":
        terminal.tell("Tokens travel unencrypted: put a proxy with https in front, or use --tls-cert and --tls-key.")


def _hands(distiller: str, workers: int) -> str:
    if distiller == "host":
        return "; finished sessions wait for an agent that asks for them"
    if distiller.startswith("none"):
        return ""
    if not workers:
        return "; nobody distils here (--workers 0)"
    return f", {figures.counted(workers, 'worker')} at work while it serves"


def _access(options: Any, *, open_to_local: bool) -> str:
    if open_to_local:
        return "open to programs on this machine; --require-token closes it"
    return "tokens only (`reasoningbank token create`)" + (f" or {options.oauth.issuer}" if options.oauth else "")


COMMANDS = {
    "serve": Command(
        run=_run,
        options=serve_options,
        about="Beyond this machine a token is needed: `reasoningbank token create`. docs/server.md tells the rest.",
    )
}
