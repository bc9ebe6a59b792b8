"""Authenticates callers and their scopes: one resolver for every door.

Leads from a request's credentials to a principal with scopes. Independent of HTTP: a door hands over the value of its
Authorization header, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Protocol

from reasoningbank.core.errors import Refused, Unauthenticated
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import AGENT, USER
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank.guard.speakers import origin_of
from reasoningbank.ports import Store
from reasoningbank_server import tokens

SCOPES = ("read", "write", "admin")
"""Each includes those before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    tenant: str
    scopes: frozenset[str]
    name: str
    origin: str
    """The most that a memory written by this principal may claim to come from: "user", "agent" or lower."""
    operator: bool = False
    """Runs this server: may see what concerns every tenant, such as metrics, and keep the bank as a whole."""
    until: float | None = None
    """When the credentials end by themselves, if that is known without asking again."""


LOCAL_AGENT = Principal(tenant=DEFAULT_TENANT, scopes=frozenset(SCOPES), name="local", origin=AGENT, operator=True)
"""Whoever reaches an open server on this machine without credentials: an agent with `curl`, for all that is known."""
PAGE_USER = Principal(tenant=DEFAULT_TENANT, scopes=frozenset(SCOPES), name="page", origin=USER, operator=True)
"""Whoever opened the page by its one-time link, which only this machine's user was given."""


class JwtReader(Protocol):
    def principal(self, token: str) -> Principal: ...

    def known(self, token: str) -> Principal | None:
        """The principal of a token that was found good lately. Takes no time."""
        ...

    def missing_key(self, token: str) -> Future[None] | None:
        """The fetch to wait for before `principal` is asked, because the token names a key that is being fetched."""
        ...


def grant(scopes: Iterable[str]) -> frozenset[str]:
    """The scopes with all that they include."""
    names = set(scopes)
    unknown = sorted(names - set(SCOPES))
    if unknown:
        raise Refused(f"There is no scope {', '.join(unknown)}: use {', '.join(SCOPES)}.")
    highest = max((SCOPES.index(scope) for scope in names), default=-1)
    return frozenset(SCOPES[: highest + 1])


def require(principal: Principal, scope: str) -> None:
    if scope == "operator":
        if not principal.operator:
            raise Refused("Only whoever runs this server may do this: it concerns every tenant.")
    elif scope not in principal.scopes:
        raise Refused(f"This needs the scope {scope}; the credentials have {', '.join(sorted(principal.scopes))}.")


def origin_for(principal: Principal, claim: object) -> str:
    """The origin to write down: what was asked for, unless it claims more than the principal is."""
    return origin_of(claim, principal.origin)


def source_for(principal: Principal) -> str:
    """The name under which this principal's evidence counts. Fixed, so that nobody can agree with himself."""
    return USER if principal is PAGE_USER else f"{principal.origin}:{principal.name}"[:200]


class Resolver:
    """From the credentials of a request to a principal. Never falls back: bad credentials are worse than none."""

    def __init__(
        self, store: Store, *, clock: Callable[[], float], open_to_local: bool, jwt: JwtReader | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._open_to_local = open_to_local
        self.asks_afar = store.info.location.is_remote
        """True if a token is looked up over a network: then not on the event loop."""
        self.jwt = jwt

    def principal(self, authorization: str | None, *, direct: bool) -> Principal:
        """`direct` is True when nothing stands between this process and whoever asks."""
        if authorization is None:
            if self._open_to_local and direct:
                return LOCAL_AGENT
            raise Unauthenticated("A token is needed: send it as 'Authorization: Bearer …'.")
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() != "bearer" or not credentials or credentials != credentials.strip():
            raise Unauthenticated("Only bearer tokens are known here: send 'Authorization: Bearer …'.")
        if credentials.startswith(tokens.PREFIX):
            return self._of_token(credentials)
        if self.jwt is not None:
            return self.jwt.principal(credentials)
        raise Unauthenticated(tokens.UNKNOWN)

    def stands(self, principal: Principal, authorization: str | None, *, direct: bool) -> bool:
        """True if the same credentials would be admitted now as they once were, and may still read."""
        if principal.until is not None and self._clock() >= principal.until:
            return False
        if authorization is not None and not authorization.partition(" ")[2].startswith(tokens.PREFIX):
            return True
        try:
            now = self.principal(authorization, direct=direct)
        except Refused:
            return False
        return now.tenant == principal.tenant and "read" in now.scopes

    def _of_token(self, text: str) -> Principal:
        token = tokens.find_token(self._store, text, self._clock())
        scopes = grant(token.scopes)
        return Principal(
            tenant=token.tenant,
            scopes=scopes,
            name=token.id,
            origin=token.origin,
            operator=token.tenant == DEFAULT_TENANT and "admin" in scopes,
            until=token.expires_at,
        )
