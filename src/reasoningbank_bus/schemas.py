"""JSON Schemas of the bus: what its endpoints take and give."""

from __future__ import annotations

from reasoningbank.recall.query import MAX_QUERY_CHARS
from reasoningbank_bus.views import ACTIONS, CAPS, SHARED_SCOPES
from reasoningbank_server.schemas import (
    COUNT,
    COUNTS,
    FLAG,
    FRACTION,
    NAME,
    NAMES,
    NULL_TEXT,
    TEXT,
    Schema,
    obj,
    one_of,
    out,
    ref,
    text_schema,
)

MOST_LINE_CHARS = 300_000
MOST_HITS = 100
PEER: Schema = {**text_schema(200), "description": "a peer's name, fingerprint or public key (rbk1…)"}
_NAMESPACES: Schema = {"type": "array", "items": NAME, "minItems": 1, "maxItems": 64}
_SCOPES: Schema = {"type": "array", "items": one_of(SHARED_SCOPES), "minItems": 1, "maxItems": len(SHARED_SCOPES)}
_SECONDS: Schema = {"type": "integer", "minimum": 0, "maximum": 100 * 366 * 86_400}
_CAPS: Schema = obj((), **{what: {"type": "integer", "minimum": 0, "maximum": 2**53 - 1} for what in CAPS})

GRANT: Schema = obj(
    ("holder",),
    holder=PEER,
    name=NAME,
    actions={"type": "array", "items": one_of(ACTIONS), "minItems": 1, "maxItems": len(ACTIONS)},
    namespaces={**_NAMESPACES, "description": "names, PREFIX/* or *"},
    scopes=_SCOPES,
    caps=_CAPS,
    period_s={**_SECONDS, "description": "in which the caps count; 0 is its whole life"},
    lifetime_s={**_SECONDS, "minimum": 1},
    delegable=FLAG,
    under={**text_schema(64), "description": "the id of a grant that we hold, of which this one hands on a part"},
)
INIT: Schema = obj(anew={**FLAG, "description": "though this bank had another key before, which is lost"})
ACCEPT: Schema = obj(("line",), line=text_schema(MOST_LINE_CHARS), name=NAME)
REVOKE: Schema = obj(("target",), target={**text_schema(200), "description": "a peer, or the id of a grant"})
KEY: Schema = obj(("key",), key=PEER, remove=FLAG)
KNOWN_PEER: Schema = obj(
    ("peer",),
    peer=PEER,
    address={**text_schema(300), "description": "HOST:PORT, where to dial it"},
    name=NAME,
    trust=one_of(("quarantined", "untrusted", "working")),
    remove=FLAG,
)
SHARE: Schema = obj(
    (),
    namespaces={**_NAMESPACES, "minItems": 0, "description": "names, PREFIX/* or *"},
    scopes=_SCOPES,
    tags={"type": "array", "items": NAME, "maxItems": 64},
    least_confidence=FRACTION,
    nodes={**FLAG, "description": "also nodes of the memory graph, as a team's"},
)
ASK: Schema = obj(
    ("peer", "query"),
    peer=PEER,
    query=text_schema(min(MAX_QUERY_CHARS, 10_000)),
    namespace=NAME,
    limit={"type": "integer", "minimum": 1, "maximum": MOST_HITS},
)

IDENTITY: Schema = out(key=TEXT, fingerprint=TEXT, new=FLAG)
GRANTS: Schema = out(grants={"type": "array", "items": ref("BusGrant")})
PEERS: Schema = out(peers={"type": "array", "items": ref("BusPeer")})
ROOTS: Schema = out(roots={"type": "array", "items": out(fingerprint=TEXT, name=TEXT)})
HITS: Schema = out(peer=TEXT, query=TEXT, hits={"type": "array", "items": ref("BusHit")})
SPEND: Schema = out(spend={"type": "array", "items": ref("BusSpend")})

_PARTY: Schema = out(fingerprint=TEXT, name=TEXT)
_SPENT: dict[str, Schema] = {
    "id": TEXT,
    "direction": one_of(("given", "held", "seen")),
    "issuer": _PARTY,
    "holder": _PARTY,
    "caps": COUNTS,
    "spent": COUNTS,
    "period_s": COUNT,
}
_PEER: dict[str, Schema] = {"key": TEXT, "fingerprint": TEXT, "name": TEXT, "address": TEXT, "trust": TEXT}
COMPONENTS: dict[str, Schema] = {
    "BusGrant": out(
        **_SPENT,
        line={**TEXT, "description": "what is sent to the holder (rbi1…)"},
        state=one_of(("valid", "expired", "not_yet_valid", "revoked", "no_root")),
        actions=NAMES,
        namespaces=NAMES,
        scopes=NAMES,
        starts_at=NULL_TEXT,
        expires_at=NULL_TEXT,
        delegable=FLAG,
        under=NULL_TEXT,
    ),
    "BusSpend": out(**_SPENT),
    "BusPeer": out(**_PEER),
    "BusHit": out(
        id=TEXT,
        title=TEXT,
        description=TEXT,
        content=TEXT,
        namespace=TEXT,
        scope=TEXT,
        relevance=FRACTION,
        confidence=FRACTION,
        origin={**TEXT, "description": "whose it is: peer:FINGERPRINT"},
    ),
    "BusRevoked": out(target=TEXT, grants=NAMES, ruling=NULL_TEXT, memories=COUNT, nodes=COUNT, edges=COUNT),
    "BusPolicy": out(namespaces=NAMES, scopes=NAMES, tags=NAMES, least_confidence=FRACTION, nodes=FLAG),
    "BusStatus": out(
        key={**NULL_TEXT, "description": "null before this bank has a key: POST /v1/bus/init makes it"},
        fingerprint=NULL_TEXT,
        up=FLAG,
        process={"type": ["integer", "null"]},
        listen=NULL_TEXT,
        public={**NULL_TEXT, "description": "where others are told that it is"},
        up_since_at=NULL_TEXT,
        shares=ref("BusPolicy"),
        shared={**COUNT, "description": "entries of ours"},
        taken={**COUNT, "description": "entries of others that the bank has"},
        waiting=COUNT,
        refused={**COUNTS, "description": "entries that were not taken, by the code of the reason"},
        refusals={
            "type": "array",
            "items": out(
                code=TEXT,
                count=COUNT,
                ours={**FLAG, "description": "not sent of ours; else not taken of others"},
                reason=TEXT,
                author={**NULL_TEXT, "description": "whose it was the last time: a name or fingerprint"},
                fingerprint=NULL_TEXT,
                namespace=NULL_TEXT,
                remedy={**NULL_TEXT, "description": "what to do about it"},
            ),
        },
        reasons={"type": "object", "additionalProperties": TEXT, "description": "those codes in words"},
        trouble={**NULL_TEXT, "description": "why the bank cannot be worked on now"},
        roots=NAMES,
        peers={
            "type": "array",
            "items": out(
                **_PEER,
                state=TEXT,
                seen_at=NULL_TEXT,
                behind={"type": ["integer", "null"]},
                sent=COUNT,
                received=COUNT,
                refused={**COUNTS, "description": "what was not taken of it"},
                refuses={**COUNTS, "description": "what it did not take of ours"},
                problem={**NULL_TEXT, "description": "why it could not be dialled"},
            ),
        },
    ),
}
