"""The bank for other programs over HTTP: `serve` without `--mcp`."""

from __future__ import annotations

import logging
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from reasoningbank.cli import figures
from reasoningbank.cli.banks import OpenedBank, open_bank
from reasoningbank.cli.seams import ServerPlugin
from reasoningbank.cli.serving import check_workers, services_beside, workers_of
from reasoningbank.cli.terminal import Terminal
from reasoningbank.config import named_namespace
from reasoningbank.core.errors import InvalidInput, MissingExtra
from reasoningbank.core.frozen import replace

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8710


def http_options(parser: ArgumentParser) -> None:
    parser.add_argument("--ui", action="store_true", help="a page to look at the bank with, at /ui")
    parser.add_argument("--host", default=DEFAULT_HOST, metavar="ADDRESS", help=f"where to listen ({DEFAULT_HOST})")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, metavar="N", help=f"0 takes a free one ({DEFAULT_PORT})"
    )
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
    parser.add_argument("--traces", action="store_true", help="send OpenTelemetry spans; OTEL_… variables say where")


def require_server() -> None:
    for package in ("uvicorn", "starlette", "httptools"):
        if find_spec(package) is None:
            raise MissingExtra(package=package, extra="serve", purpose="Serving over HTTP")


def serve_http(args: Namespace, terminal: Terminal, opened: Callable[[str], None] | None = None) -> int:
    """Serve until a signal. `opened` is told the page's one-time link instead of what else is served."""
    require_server()
    from reasoningbank_server.server import listening_socket, make_server, run
    from reasoningbank_server.start import address_of, needs_token, service_for

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    asked = _wishes(args)
    with (
        open_bank(args, create=True) as found,
        listening_socket(args.host, args.port) as sock,
        services_beside(found, args) as lines,
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
            for line in lines:
                terminal.tell(line)

        run(make_server(service, options.limits, ready=ready, lifespan=lifespan, tls=options.tls), sock)
    terminal.tell("Ended; every request that was taken is answered.")
    return 0


def _wishes(args: Namespace) -> Any:
    from reasoningbank_server.limits import Limits
    from reasoningbank_server.oauth import checked_settings
    from reasoningbank_server.start import ServeOptions

    if bool(args.oauth_issuer) != bool(args.oauth_keys):
        raise InvalidInput("--oauth-issuer and --oauth-keys go together.")
    if bool(args.tls_cert) != bool(args.tls_key):
        raise InvalidInput("--tls-cert and --tls-key go together.")
    check_workers(args)
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


def _staffing(args: Namespace, found: OpenedBank) -> Any:
    from reasoningbank.serve.workers import Staffing

    batch = found.bank.settings.distillation.batch
    return Staffing(workers=workers_of(args, found), batch=batch, consolidates=not args.no_consolidate)


def _mcp_app(bank: Any, *, names_project: bool) -> tuple[dict[str, Any], Any]:
    """MCP over HTTP at /mcp, where its library is installed."""
    if find_spec("mcp") is None:
        return {}, None
    from reasoningbank.serve.mcp.http import mcp_asgi_app
    from reasoningbank_server.dispatch import tenant_bank

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


SERVER = ServerPlugin(options=http_options, run=serve_http)
