"""Endpoints for edges between memories: made, removed, listed, walked."""

from __future__ import annotations

from reasoningbank.bank.json_view import edge_json, joined_json, neighbour_json
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import DEFAULT_LIST_LIMIT, EdgeKind
from reasoningbank.graph.walk import DIRECTIONS
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply

MOST_LISTED = 500


def _link(call: Call) -> Reply:
    body = dict(call.body)
    edge = call.bank.link(
        body.pop("source"), body.pop("target"), body.pop("kind"), origin=call.principal.origin, **body
    )
    return Reply(status=201, body=edge_json(edge))


def _unlink(call: Call) -> Reply:
    return Reply(body=edge_json(call.bank.unlink(call.path["id"])))


def _neighbours(call: Call) -> Reply:
    neighbours = call.bank.neighbours(call.path["id"], **call.query)
    return Reply(body={"neighbours": [neighbour_json(neighbour) for neighbour in neighbours]})


def _edges(call: Call) -> Reply:
    limit, cursor = call.query.get("limit", DEFAULT_LIST_LIMIT), call.query.get("cursor")
    where = {"kind": call.query.get("kind"), "tags": call.query.get("tag", [])}
    purpose, tenant = f"edges {sorted(where.items())}", call.principal.tenant
    before = None if cursor is None else call.seal.opened(tenant, purpose, cursor).decode()
    items = call.bank.edges(**where, limit=limit + 1, before=before)
    page = items[:limit]
    following = call.seal.closed(tenant, purpose, position_of(page[-1].edge).encode()) if len(items) > limit else None
    return Reply(body={"edges": [joined_json(item) for item in page], "next": following})


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/links",
        scope="write",
        group="links",
        summary="Join two memories by an edge",
        handle=_link,
        body=schemas.LINK,
        example={"source": "mem_1", "target": "mem_2", "kind": "requires"},
        reply=schemas.ref("Edge"),
        status=201,
        lane="writing",
    ),
    Endpoint(
        method="GET",
        path="/v1/links",
        scope="read",
        group="links",
        summary="List edges, newest first, by their kind or tags",
        handle=_edges,
        query=(
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIST_LIMIT},
            ),
            Parameter(name="cursor", schema=schemas.text(400), about="`next` of the page before"),
            Parameter(name="kind", schema=schemas.one_of(EdgeKind)),
            Parameter(name="tag", schema=schemas.TAG, about="may be repeated: all of them", repeated=True),
        ),
        reply=schemas.listing("edges", schemas.ref("Joined")),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/links/{id}",
        scope="write",
        group="links",
        summary="Remove an edge",
        handle=_unlink,
        reply=schemas.ref("Edge"),
        lane="writing",
    ),
    Endpoint(
        method="GET",
        path="/v1/memories/{id}/neighbours",
        scope="read",
        group="links",
        summary="Walk the edges around a memory",
        handle=_neighbours,
        query=(
            Parameter(name="kind", schema=schemas.one_of(EdgeKind)),
            Parameter(name="direction", schema=schemas.one_of(DIRECTIONS, default="both")),
            Parameter(name="depth", schema={"type": "integer", "minimum": 1, "maximum": 10, "default": 1}),
        ),
        reply=schemas.out(neighbours={"type": "array", "items": schemas.ref("Neighbour")}),
    ),
)
