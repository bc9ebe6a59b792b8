"""JSON Web Tokens of a trusted issuer: the OAuth 2.1 resource server's side.

A good token is signed by a key of the issuer with an allowed algorithm, meant for this server, and not expired; its
claims name the tenant and the scopes. How a client comes by one is the issuer's business.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from http.client import HTTPException
from pathlib import Path
from typing import Any

from reasoningbank.core.drafts import clean_tenant
from reasoningbank.core.errors import BankError, InvalidInput, MissingExtra, Refused, Unauthenticated
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.origins import AGENT
from reasoningbank.core.types import DEFAULT_TENANT
from reasoningbank_server.identity import SCOPES, Principal, grant

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Public keys only. A shared secret is not among them, so a public key can never be taken for one."""
LEEWAY_S = 30.0
KEYS_LAST_S = 600.0
KEYS_AGAIN_AFTER_S = 30.0
MOST_KEY_BYTES = 1 << 20
MOST_TOKEN_CHARS = 16_384
FETCH_WITHIN_S = 5.0
MOST_REMEMBERED = 10_000
SCOPE_PREFIX = "reasoningbank:"
_log = logging.getLogger("reasoningbank.serve")
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
        self._keys = KeySet(settings.keys, jwt)
        self._good: OrderedDict[bytes, _Good] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, token: str) -> Principal | None:
        """The principal of a token whose signature was found good lately, by keys that are still the issuer's."""
        with self._lock:
            good = self._good.get(_digest(token))
        if good is None or good.keys is not self._keys.current or self._keys.is_old:
            return None
        assert good.principal.until is not None
        return good.principal if self._clock() < good.principal.until else None

    def missing_key(self, token: str) -> Future[None] | None:
        """The fetch to wait for before the token can be checked, if its key is not at hand and may be had."""
        if len(token) > MOST_TOKEN_CHARS:
            return None
        try:
            kid = self._jwt.get_unverified_header(token).get("kid")
        except (self._jwt.PyJWTError, ValueError, TypeError, RecursionError):
            return None
        return self._keys.fetching(kid)

    def principal(self, token: str) -> Principal:
        keys = self._keys.current
        principal = self._principal(token)
        with self._lock:
            self._good[_digest(token)] = _Good(principal=principal, keys=keys)
            if len(self._good) > MOST_REMEMBERED:
                self._good.popitem(last=False)
        return principal

    def _principal(self, token: str) -> Principal:
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
        return Principal(
            tenant=tenant,
            scopes=_scopes(claims),
            name=f"oauth:{subject}"[:150],
            origin=AGENT,
            until=_number(claims.get("exp"), 0.0) + LEEWAY_S,
        )

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
        if _number(claims.get("iat"), now) > now + LEEWAY_S:
            raise Unauthenticated("The access token says that it was issued in the future: look at the issuer's clock.")
        return claims


def _number(value: object, default: float) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unauthenticated(BAD)
    return float(value)


def _scopes(claims: dict[str, Any]) -> frozenset[str]:
    text = claims.get("scope", claims.get("scp", ""))
    if not isinstance(text, (str, list)):
        raise Unauthenticated("The access token's scope is neither a text nor a list of names.")
    names = text.split() if isinstance(text, str) else [word for word in text if isinstance(word, str)]
    ours = {word.removeprefix(SCOPE_PREFIX) for word in names}
    return grant(ours.intersection(SCOPES))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Good:
    principal: Principal
    keys: Mapping[str | None, Any]
    """The keys that it was checked with: what an issuer withdraws is not believed any longer than they last."""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class KeySet:
    """The issuer's keys, fetched anew when they are old or when a token names one that is not among them.

    One thread fetches for everybody, and nobody who has a key waits for it.
    """

    def __init__(self, location: str, jwt: Any) -> None:
        self._keys_at = location
        self._jwt = jwt
        self._lock = threading.Lock()
        self.current: Mapping[str | None, Any] = {}
        self._fetched_at: float | None = None
        self._fetching: Future[None] | None = None

    @property
    def is_old(self) -> bool:
        return self._fetched_at is None or time.monotonic() - self._fetched_at > KEYS_LAST_S

    def fetching(self, kid: object) -> Future[None] | None:
        """Begin to fetch if it is time to. What to wait for when the key is not at hand, else None."""
        with self._lock:
            there = self._key_named(kid) is not None
            age = float("inf") if self._fetched_at is None else time.monotonic() - self._fetched_at
            if self._fetching is None and (age > KEYS_LAST_S or (not there and age > KEYS_AGAIN_AFTER_S)):
                # Noted before the attempt: an issuer that does not answer is not asked by every request.
                self._fetched_at = time.monotonic()
                self._fetching = Future()
                threading.Thread(target=self._fetch, name="reasoningbank-issuer", daemon=True).start()
            return None if there else self._fetching

    def _fetch(self) -> None:
        keys = self._read()
        with self._lock:
            if keys:
                self.current = keys
            future, self._fetching = self._fetching, None
        if future is not None:
            future.set_result(None)

    def key(self, kid: object, algorithm: str) -> Any:
        key = self._key_named(kid)
        if key is None or key.algorithm_name != algorithm:
            raise Unauthenticated(BAD)
        return key

    def _key_named(self, kid: object) -> Any:
        keys = self.current
        if kid is None and len(keys) == 1:
            return next(iter(keys.values()))
        return keys.get(kid) if isinstance(kid, str) else None

    def _read(self) -> dict[str | None, Any]:
        try:
            text = _download(self._keys_at) if "://" in self._keys_at else Path(self._keys_at).read_bytes()
            entries = json.loads(text)["keys"]
        except (OSError, HTTPException, ValueError, KeyError, TypeError, BankError, RecursionError) as error:
            _log.warning(
                "the keys of the issuer cannot be read, so its tokens are refused or checked by old ones: %s", error
            )
            return {}
        keys: dict[str | None, Any] = {}
        for entry in entries:
            try:
                if entry.get("use", "sig") == "sig" and entry.get("kty") in ("RSA", "EC", "OKP"):
                    keys[entry.get("kid")] = self._jwt.PyJWK(entry)
            except (self._jwt.PyJWTError, ValueError, TypeError, AttributeError):
                continue
        return keys


def _download(address: str) -> bytes:
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class _Stay(HTTPRedirectHandler):
        """Keys come from where the operator said, and from nowhere else."""

        def redirect_request(self, *_: object) -> None:
            return None

    with build_opener(_Stay).open(Request(address), timeout=FETCH_WITHIN_S) as reply:  # noqa: S310 - checked at start
        until, parts, size = time.monotonic() + FETCH_WITHIN_S, [], 0
        # Piece by piece: the timeout of the socket is for each, and an issuer may send one byte at a time.
        while size < MOST_KEY_BYTES and time.monotonic() < until and (part := reply.read1(MOST_KEY_BYTES - size)):
            parts.append(part)
            size += len(part)
        return b"".join(parts)


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
