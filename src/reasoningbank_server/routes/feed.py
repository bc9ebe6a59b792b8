"""Endpoint of the change feed, page by page; `events` streams it."""

from __future__ import annotations

from reasoningbank.bank.json_view import iso
from reasoningbank.core.types import Change
from reasoningbank_server import schemas
from reasoningbank_server.cursors import Seal
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply

PURPOSE = "feed"
DEFAULT_LIMIT = 100
MOST_LISTED = 1_000
LOOKED_AT = 10_000
"""Changes of all tenants that one request looks through for its own."""


def change_json(seal: Seal, change: Change) -> dict[str, str | None]:
    cursor = seal.number(change.tenant, PURPOSE, change.seq)
    return {"cursor": cursor, "kind": change.kind, "op": change.op.value, "id": change.id, "at": iso(change.at)}


def _changes(call: Call) -> Reply:
    tenant, after = call.principal.tenant, call.query.get("after")
    limit = call.query.get("limit", DEFAULT_LIMIT)
    start = 0 if after in (None, "", "0") else call.seal.opened_number(tenant, PURPOSE, after)
    store = call.bank.context.store
    changes: list[Change] = []
    place, looked_at, at_end = start, 0, False
    while len(changes) < limit and looked_at < LOOKED_AT and not at_end:
        rows = store.changes(place, MOST_LISTED)
        looked_at += len(rows)
        at_end = len(rows) < MOST_LISTED
        for row in rows:
            if len(changes) == limit:
                at_end = False
                break
            place = row.seq
            if row.tenant == tenant:
                changes.append(row)
    # Also without anything new: the cursor says how far was looked, and is where to go on.
    following = call.seal.number(tenant, PURPOSE, place)
    return Reply(
        body={"changes": [change_json(call.seal, change) for change in changes], "next": following, "more": not at_end}
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/changes",
        scope="read",
        group="feed",
        summary="What was committed after a cursor, in order",
        handle=_changes,
        query=(
            Parameter(name="after", schema=schemas.text(400), about="a cursor; without it, from the beginning"),
            Parameter(
                name="limit", schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIMIT}
            ),
        ),
        reply=schemas.out(
            changes={"type": "array", "items": schemas.ref("Change")}, next=schemas.TEXT, more=schemas.FLAG
        ),
    ),
)
