"""Admits a request before any path is looked at: Host and Origin, credentials, rate.

Checks come in this order, each with its answer for those who do not pass.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from reasoningbank.core.errors import Refused
from reasoningbank.core.frozen import dataclass
from reasoningbank.serve.allowed_hosts import AllowedHosts
from reasoningbank.serve.workers import Staffing
from reasoningbank_server.answer import App, Scope
from reasoningbank_server.identity import LOCAL_AGENT, PAGE_USER, Principal, Resolver
from reasoningbank_server.limits import Buckets, Limits, too_many_requests
from reasoningbank_server.oauth import FETCH_WITHIN_S, OAuthSettings
from reasoningbank_server.problems import Problem
from reasoningbank_server.request import Request
from reasoningbank_server.routes import ENDPOINTS
from reasoningbank_server.thread_pools import Lane
from reasoningbank_server.tokens import PREFIX
from reasoningbank_server.ui.entrance import Entrance, PageSession

PUBLIC = frozenset({"/healthz", "/readyz", "/openapi.json"})
METADATA = "/.well-known/oauth-protected-resource"
PAGE = "/ui"
_BEARER_CHARS = len("Bearer ")
_SCOPES = {(endpoint.method, endpoint.path): endpoint.scope for endpoint in ENDPOINTS if endpoint.scope != "operator"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Options of a service that come from outside."""

    hosts: AllowedHosts
    resolver: Resolver
    limits: Limits
    public_url: str
    oauth: OAuthSettings | None = None
    mounted: Mapping[str, App]
    """Other applications behind the same checks, by path: they find the principal in scope["state"], and `in_lane`, an
    awaitable way to run what takes a while where this tenant keeps nobody else waiting."""
    traces: bool = False
    staffing: Staffing = Staffing()
    entrance: Entrance | None = None
    """The entrance of the page, where the page is served."""


def check_hosts(
    allowlist: AllowedHosts, hosts: list[bytes], origins: list[bytes], fetch: tuple[bytes | None, bytes | None]
) -> None:
    """Refuse a request with a foreign Host or Origin. `fetch` is what a browser says of itself: Sec-Fetch-Site and
    Sec-Fetch-Mode.
    """
    if len(hosts) != 1:
        raise Problem(400, "invalid_input", "A request needs exactly one Host.")
    if not allowlist.has_host(hosts[0]):
        raise Problem(421, "misdirected", "This server does not answer to that Host.")
    site, mode = fetch
    foreign = site in (b"cross-site", b"same-site") and mode != b"navigate"
    if foreign or (origins and (len(origins) > 1 or not allowlist.has_origin(origins[0]))):
        raise Problem(403, "origin_refused", "Requests from other sites are refused.")


class Admission:
    def __init__(self, setup: Setup, checking: Lane, looking_up: Lane) -> None:
        """Signatures are checked in one lane, tokens looked up in the other where that means to ask another machine."""
        self._setup = setup
        self._checking = checking
        self._looking_up = looking_up
        limits = setup.limits
        self._rates = Buckets(limits.requests_per_s, limits.burst)
        self._refusals = Buckets(limits.refusals_per_s, limits.refusals_per_s)

    async def admit(self, request: Request, scope: Scope) -> None:
        request.check()
        check_hosts(self._setup.hosts, request.hosts, request.origins, request.fetch)
        if self._is_public(scope["path"]):
            return
        session = self._page_session(request)
        principal = PAGE_USER if _is_local(session) else await self.principal(request, scope)
        if principal is not PAGE_USER and principal is not LOCAL_AGENT:
            wait = self._rates.wait_s(f"{principal.tenant}\0{principal.name}", time.monotonic())
            if wait:
                raise too_many_requests(wait)
        request.principal, request.admitted_at = principal, time.monotonic()
        # Without the request itself, which would then be kept until the next sweep.
        request.still_stands = partial(
            self._stands, principal, request.authorization, session, direct=not request.forwarded
        )
        scope.setdefault("state", {})["principal"] = principal

    def _is_public(self, path: str) -> bool:
        if self._setup.entrance is not None and (path in ("/", PAGE) or path.startswith(f"{PAGE}/")):
            return True
        return path in PUBLIC or (path.startswith(METADATA) and self._setup.oauth is not None)

    def _page_session(self, request: Request) -> PageSession | None:
        """The session of a request that names no credentials itself; it then has those that the session began with."""
        if self._setup.entrance is None or request.authorization is not None:
            return None
        session = self._setup.entrance.session(request.text(b"cookie"))
        if session is not None:
            request.authorization = session.authorization
        return session

    def _stands(
        self, principal: Principal, authorization: str | None, session: PageSession | None, *, direct: bool
    ) -> bool:
        if session is not None and self._setup.entrance is not None and not self._setup.entrance.stands(session):
            return False
        return _is_local(session) or self._setup.resolver.stands(principal, authorization, direct=direct)

    async def principal(self, request: Request, scope: Scope) -> Principal:
        """The principal of a request's credentials. What cannot be believed costs its address something."""
        credentials = request.authorization
        address = (scope.get("client") or ("unknown", 0))[0]
        try:
            if credentials is None or credentials[_BEARER_CHARS:].startswith(PREFIX):
                if credentials is None or not self._setup.resolver.asks_afar:
                    return self._resolve(request)
                return await self._in_turn(self._looking_up, request, address)
            return await self._of_issuer(request, credentials[_BEARER_CHARS:], address)
        except Refused as error:
            wait = self._refusals.wait_s(address, time.monotonic()) if credentials is not None else 0.0
            raise (too_many_requests(wait) if wait else error) from None

    async def _of_issuer(self, request: Request, token: str, address: str) -> Principal:
        """The principal of an issuer's token. A signature takes a while and its key may have to be fetched: neither
        keeps anybody else waiting.
        """
        jwt = self._setup.resolver.jwt if (request.authorization or "").lower().startswith("bearer ") else None
        principal = None if jwt is None else jwt.known(token)
        if principal is not None:
            return principal
        fetching = None if jwt is None else jwt.missing_key(token)
        if fetching is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(FETCH_WITHIN_S):
                    await asyncio.shield(asyncio.wrap_future(fetching))
        return await self._in_turn(self._checking, request, address)

    async def _in_turn(self, lane: Lane, request: Request, address: str) -> Principal:
        # By address, which is all that is known of whoever sent it.
        principal: Principal = await lane.submit(lambda: self._resolve(request), tenant=f"from {address}")
        return principal

    def _resolve(self, request: Request) -> Principal:
        return self._setup.resolver.principal(request.authorization, direct=not request.forwarded)

    def challenged(self, problem: Problem, request: Request, method: str) -> Problem:
        """A 401 or 403 with what OAuth wants to hear: where to get a token, and with which scope."""
        if problem.code not in ("unauthenticated", "forbidden"):
            return problem
        parts = ['Bearer realm="reasoningbank"']
        if self._setup.oauth is not None:
            parts.append(f'resource_metadata="{self._setup.public_url}{METADATA}"')
        scope = _SCOPES.get((method, request.route))
        if problem.code == "forbidden":
            parts += ['error="insufficient_scope"', *([f'scope="{scope}"'] if scope else [])]
        elif request.authorization is not None:
            parts.append('error="invalid_token"')
        challenge = ", ".join(parts).encode()
        return Problem(
            problem.status, problem.code, problem.detail, (*problem.headers, (b"www-authenticate", challenge))
        )


def _is_local(session: PageSession | None) -> bool:
    """True if a session began with the one-time link, which only this machine's user was given."""
    return session is not None and session.authorization is None
