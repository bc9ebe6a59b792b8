"""Tokens of a server: neither exported nor numbered in the feed.

The row of a token carries a hash of all that it says. Independent of who may do what.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reasoningbank.core.digest import blake2b
from reasoningbank.core.types import AccessToken
from reasoningbank.store.selection import Selection, equal
from reasoningbank.store.tables import TOKENS, Condition, IfTaken

if TYPE_CHECKING:
    from reasoningbank.store.engine import Engine, Row, RowTransaction

ALTERED = "a row of tokens does not match its checksum, and is refused: revoke it and make another"


def find_token(engine: Engine, token_id: str) -> AccessToken | None:
    tokens = _tokens(engine, equal(id=token_id))
    return tokens[0] if tokens else None


def all_tokens(engine: Engine) -> list[AccessToken]:
    return _tokens(engine, ())


def _tokens(engine: Engine, where: tuple[Condition, ...]) -> list[AccessToken]:
    selection = Selection(TOKENS, TOKENS.written, where, order=("created_at", "id"))
    return [token_from(row) for row in engine.scan(selection)]


def _token_hash(*values: Any) -> bytes:
    """Hash of the columns of a token's row, in their order."""
    text = json.dumps([value.hex() if isinstance(value, bytes) else value for value in values], ensure_ascii=False)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def token_from(row: Row) -> AccessToken:
    token_id, tenant, name, scopes, origin, digest, created_at, expires_at, revoked_at, kept_hash = row
    return AccessToken(
        id=token_id,
        tenant=tenant,
        name=name,
        scopes=tuple(scopes.split()),
        origin=origin,
        digest=digest,
        created_at=created_at,
        expires_at=expires_at,
        revoked_at=revoked_at,
        intact=kept_hash == _token_hash(*row[:-1]),
    )


def put_token(rows: RowTransaction, token: AccessToken) -> None:
    row = (
        token.id,
        token.tenant,
        token.name,
        " ".join(token.scopes),
        token.origin,
        token.digest,
        float(token.created_at),
        None if token.expires_at is None else float(token.expires_at),
        None if token.revoked_at is None else float(token.revoked_at),
    )
    rows.put(TOKENS, [(*row, _token_hash(*row))], IfTaken.REPLACE)
