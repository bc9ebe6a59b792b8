"""JSON Web Tokens of a trusted issuer: the OAuth 2.1 resource server's side.

Knows which tokens are good (signed by a key of the issuer with an allowed algorithm, meant for this server, not
expired) and how their claims name tenant and scopes. Refuses to know how a client came by one.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reasoningbank.core.drafts import clean_tenant
from reasoningbank.core.errors import BankError, InvalidInput, MissingExtra, Refused, Unauthenticated
from reasoningbank.core.origins import AGENT
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank.core.values import dataclass
from reasoningbank.serve.identity import SCOPES, Principal, granted

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Public keys only. A shared secret is not among them, so a public key can never be taken for one."""
LEEWAY_S = 30.0
KEYS_LAST_S = 600.0
KEYS_AGAIN_AFTER_S = 30.0
MOST_KEY_BYTES = 1 << 20
MOST_TOKEN_CHARS = 16_384
FETCH_WITHIN_S = 5.0
SCOPE_PREFIX = "reasoningbank:"
BAD = "This access token is not valid here."


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    issuer: str
    audience: str
    keys: str
    """The issuer's JSON Web Key Set: a file, or an https address."""
    tenant_claim: str = "tenant"


class OAuth:
    def __init__(self, settings: OAuthSettings, *, clock: Callable[[], float] = time.time) -> None:
        try:
            import jwt
        except ImportError as error:
            raise MissingExtra(package="pyjwt[crypto]", extra="oauth", purpose="Checking access tokens") from error
        self._jwt: Any = jwt
        self.settings = settings
        self._clock = clock
        self._keys = _KeySet(settings.keys, jwt)

    def principal(self, token: str) -> Principal:
        claims = self._claims(token)
        try:
            tenant = clean_tenant(claims.get(self.settings.tenant_claim))
        except InvalidInput:
            raise Unauthenticated(
                f"The access token names no tenant in its claim {self.settings.tenant_claim!r}."
            ) from None
        if tenant.casefold() == DEFAULT_TENANT:
            # The tenant of whoever runs this server. Other tenants' names are told apart by their case; here nobody may
            # come as near as that.
            raise Refused(f"An issuer cannot name the tenant {DEFAULT_TENANT!r}: it is this machine's own.")
        subject = claims.get("sub") or claims.get("client_id")
        if not isinstance(subject, str) or not subject:
            raise Unauthenticated(BAD)
        # Never the operator: who may run this server is not for an issuer to say.
        return Principal(tenant=tenant, scopes=_scopes(claims), name=f"oauth:{subject}"[:150], origin=AGENT)

    def _claims(self, token: str) -> dict[str, Any]:
        jwt = self._jwt
        if len(token) > MOST_TOKEN_CHARS:
            raise Unauthenticated(BAD)
        try:
            header = jwt.get_unverified_header(token)
            algorithm = header.get("alg")
            if algorithm not in ALGORITHMS or header.get("crit"):
                raise Unauthenticated(BAD)
            key = self._keys.key(header.get("kid"), algorithm)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self.settings.audience,
                issuer=self.settings.issuer,
                options={
                    "require": ["exp", "aud", "iss"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise Unauthenticated(BAD) from error
        now = self._clock()
        if not (_number(claims.get("exp"), 0.0) > now - LEEWAY_S and _number(claims.get("nbf"), now) <= now + LEEWAY_S):
            raise Unauthenticated(BAD)
        return claims


def _number(value: object, default: float) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unauthenticated(BAD)
    return float(value)


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    text = claims.get("scope", claims.get("scp", ""))
    named = text.split() if isinstance(text, str) else [word for word in text if isinstance(word, str)]
    ours = {word.removeprefix(SCOPE_PREFIX) for word in named}
    return granted(ours.intersection(SCOPES))


class _KeySet:
    """The issuer's keys, fetched anew when they are old or when a token names one that is not among them."""

    def __init__(self, location: str, jwt: Any) -> None:
        self._location = location
        self._jwt = jwt
        self._lock = threading.Lock()
        self._keys: dict[str | None, Any] = {}
        self._fetched_at: float | None = None

    def key(self, kid: object, algorithm: str) -> Any:
        with self._lock:
            now = time.monotonic()
            age = float("inf") if self._fetched_at is None else now - self._fetched_at
            if age > KEYS_LAST_S or (kid not in self._keys and age > KEYS_AGAIN_AFTER_S):
                # Noted before the attempt: an issuer that does not answer is not asked by every request.
                self._fetched_at = now
                self._keys = self._read() or self._keys
            if kid is None and len(self._keys) == 1:
                found = next(iter(self._keys.values()))
            else:
                found = self._keys.get(kid) if isinstance(kid, str) else None
        if found is None or found.algorithm_name != algorithm:
            raise Unauthenticated(BAD)
        return found

    def _read(self) -> dict[str | None, Any]:
        try:
            text = _fetched(self._location) if "://" in self._location else Path(self._location).read_bytes()
            listed = json.loads(text)["keys"]
        except (OSError, ValueError, KeyError, TypeError, BankError):
            return {}
        found: dict[str | None, Any] = {}
        for entry in listed:
            try:
                if entry.get("use", "sig") == "sig" and entry.get("kty") in ("RSA", "EC", "OKP"):
                    found[entry.get("kid")] = self._jwt.PyJWK(entry)
            except (self._jwt.PyJWTError, ValueError, TypeError, AttributeError):
                continue
        return found


def _fetched(address: str) -> bytes:
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class _Stay(HTTPRedirectHandler):
        """Keys come from where the operator said, and from nowhere else."""

        def redirect_request(self, *_: object) -> None:
            return None

    with build_opener(_Stay).open(Request(address), timeout=FETCH_WITHIN_S) as reply:  # noqa: S310 - checked at start
        body: bytes = reply.read(MOST_KEY_BYTES)
        return body


def checked_settings(issuer: str, audience: str, keys: str, tenant_claim: str) -> OAuthSettings:
    if not _is_safe(issuer):
        raise InvalidInput("The issuer must be an https address.")
    if "://" in keys and not _is_safe(keys):
        raise InvalidInput("The issuer's keys must be a file or an https address.")
    if "://" not in keys and not Path(keys).is_file():
        raise InvalidInput(f"There is no file {keys} with the issuer's keys.")
    return OAuthSettings(issuer=issuer, audience=audience, keys=keys, tenant_claim=tenant_claim)


def _is_safe(address: str) -> bool:
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1"))
