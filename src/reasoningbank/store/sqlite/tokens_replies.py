"""Tokens, and the answers to writes that carried a key: what a server keeps beside the records.

Neither is exported or numbered in the feed. Knows their tables, that the row of a token carries a hash of all that it
says, and nothing about who may do what.
"""

from __future__ import annotations

import json
from typing import Any

import apsw

from reasoningbank.core.digest import blake2b
from reasoningbank.core.types import AccessToken, KeptReply

_COLUMNS = "id, tenant, name, scopes, origin, digest, created_at, expires_at, revoked_at"
ALTERED = "a row of tokens does not match its checksum, and is refused: revoke it and make another"


def token_in(connection: apsw.Connection, token_id: str) -> AccessToken | None:
    row: Any = connection.execute(f"SELECT hash, {_COLUMNS} FROM tokens WHERE id = ?", (token_id,)).fetchone()
    return None if row is None else _token(row)


def tokens_in(connection: apsw.Connection) -> list[AccessToken]:
    return [_token(row) for row in connection.execute(f"SELECT hash, {_COLUMNS} FROM tokens ORDER BY created_at, id")]


def token_hash(*values: Any) -> bytes:
    """Of the columns of a row, in their order. Also a function of SQL, for the migration that adds it."""
    told = json.dumps([value.hex() if isinstance(value, bytes) else value for value in values], ensure_ascii=False)
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _token(row: Any) -> AccessToken:
    kept_hash, token_id, tenant, name, scopes, origin, digest, created_at, expires_at, revoked_at = row
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
        intact=kept_hash == token_hash(*row[1:]),
    )


def put_token(connection: apsw.Connection, token: AccessToken) -> None:
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
    connection.execute(
        f"INSERT OR REPLACE INTO tokens (hash, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (token_hash(*row), *row),
    )


def reply_in(connection: apsw.Connection, tenant: str, caller: str, key: str) -> KeptReply | None:
    row: Any = connection.execute(
        "SELECT request, status, etag, body, at FROM replies WHERE tenant = ? AND caller = ? AND key = ?",
        (tenant, caller, key),
    ).fetchone()
    if row is None:
        return None
    request, status, etag, body, at = row
    return KeptReply(caller=caller, key=key, request=request, status=status, etag=etag, body=body, at=at)


def put_reply(connection: apsw.Connection, tenant: str, reply: KeptReply, drop_before: float) -> None:
    connection.execute("DELETE FROM replies WHERE at < ?", (drop_before,))
    connection.execute(
        "INSERT INTO replies (tenant, caller, key, request, status, etag, body, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (tenant, reply.caller, reply.key, reply.request, reply.status, reply.etag, reply.body, reply.at),
    )


def drop_replies_about(connection: apsw.Connection, tenant: str, record_id: str) -> None:
    """An erased record must not live on in an answer that was kept about it."""
    connection.execute("DELETE FROM replies WHERE tenant = ? AND instr(body, CAST(? AS BLOB)) > 0", (tenant, record_id))
