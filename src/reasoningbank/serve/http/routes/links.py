"""Edges between memories: made, removed, walked."""

from __future__ import annotations

from reasoningbank.core.types import EdgeKind
from reasoningbank.graph.walk import DIRECTIONS
from reasoningbank.serve.http import schemas
from reasoningbank.serve.http.endpoint import Call, Endpoint, Parameter, Reply
from reasoningbank.view import edge_json, neighbour_json


def _link(call: Call) -> Reply:
    body = dict(call.body)
    edge = call.bank.link(body.pop("source"), body.pop("target"), body.pop("kind"), **body)
    return Reply(status=201, body=edge_json(edge))


def _unlink(call: Call) -> Reply:
    return Reply(body=edge_json(call.bank.unlink(call.path["id"])))


def _neighbours(call: Call) -> Reply:
    found = call.bank.neighbours(call.path["id"], **call.query)
    return Reply(body={"neighbours": [neighbour_json(one) for one in found]})


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
