"""Bearer tokens: create, look up, list, revoke.

Only a digest of a token's secret is kept. A secret has 256 random bits, so a plain fast hash is as good as a slow one:
there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b32encode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace

from reasoningbank.core.drafts import clean_name, clean_tenant
from reasoningbank.core.errors import InvalidInput, NotFound, Unauthenticated
from reasoningbank.core.types import AccessToken
from reasoningbank.ports import Store

PREFIX = "rbk_"
UNKNOWN = "This token is not known here, has expired or was revoked."
"""One sentence for every reason, so that a refusal tells nothing about which tokens exist."""
SCOPES = ("read", "write", "admin")
ORIGINS = ("user", "agent")
_SHAPE = re.compile(r"rbk_([a-z2-7]{16})_([A-Za-z0-9_-]{43})")
_NOBODY = bytes(32)


def create(
    store: Store,
    *,
    tenant: str,
    scope: str,
    now: float,
    random_bytes: Callable[[int], bytes],
    name: str = "",
    origin: str = "agent",
    lifetime_s: float | None,
) -> tuple[str, AccessToken]:
    """Make a token: the text that its owner will send, which is kept nowhere, and the record that is kept."""
    if scope not in SCOPES:
        raise InvalidInput(f"scope {scope!r} is unknown: use one of {', '.join(SCOPES)}.")
    if origin not in ORIGINS:
        raise InvalidInput(f"origin {origin!r} is unknown: use one of {', '.join(ORIGINS)}.")
    token_id = b32encode(random_bytes(10)).decode().lower()
    secret = urlsafe_b64encode(random_bytes(32)).decode().rstrip("=")
    token = AccessToken(
        id=token_id,
        tenant=clean_tenant(tenant),
        name=clean_name(name, "name") if name else "",
        scopes=(scope,),
        origin=origin,
        digest=_digest(secret),
        created_at=now,
        expires_at=None if lifetime_s is None else now + lifetime_s,
        revoked_at=None,
    )
    store.keep_token(token)
    return f"{PREFIX}{token_id}_{secret}", token


def find_token(store: Store, text: str, now: float) -> AccessToken:
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise Unauthenticated(UNKNOWN)
    token = store.token(shape[1])
    # Compared even when there is none, so that the time taken does not tell which ids exist.
    same = hmac.compare_digest(_digest(shape[2]), _NOBODY if token is None else token.digest)
    if token is None or not same or not is_valid(token, now):
        raise Unauthenticated(UNKNOWN)
    return token


def is_valid(token: AccessToken, now: float) -> bool:
    return token.intact and token.revoked_at is None and (token.expires_at is None or now < token.expires_at)


def revoke(store: Store, token_id: str, now: float) -> AccessToken:
    """Revoke a token by the id that the list shows; the whole token does as well, for whoever found one."""
    shape = _SHAPE.fullmatch(token_id)
    token = store.token(shape[1] if shape else token_id.removeprefix(PREFIX))
    if token is None:
        raise NotFound("There is no such token: `reasoningbank token list` shows their ids.")
    if token.revoked_at is None or not token.intact:
        token = replace(token, revoked_at=now, intact=True)
        store.keep_token(token)
    return token


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("ascii")).digest()
