"""Endpoints for knowledge gaps: what was asked for in vain."""

from __future__ import annotations

from reasoningbank.bank.json_view import gap_json
from reasoningbank.core.types import DEFAULT_LIST_LIMIT
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply, always

MOST_LISTED = 200
_SECONDS_A_DAY = 86_400.0


def _list(call: Call) -> Reply:
    days, every = call.query.get("days"), call.query.get("every_namespace", False)
    gaps = call.bank.gaps.list(
        namespace="*" if every else None,
        since=None if days is None else call.bank.context.clock() - days * _SECONDS_A_DAY,
        limit=call.query.get("limit", DEFAULT_LIST_LIMIT),
    )
    open_gaps = [gap_json(gap) for gap in gaps.open]
    return Reply(body={"gaps": open_gaps, "answered": gaps.answered, "unchecked": gaps.unchecked})


def _forget(call: Call) -> Reply:
    return Reply(body={"dropped": call.bank.gaps.forget(call.path["id"])})


def _clear(call: Call) -> Reply:
    return Reply(body={"dropped": call.bank.gaps.clear()})


_DROPPED = schemas.out(dropped=schemas.COUNT)

ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/gaps",
        scope="read",
        group="gaps",
        summary="What was asked for in vain and would still be, most asked first",
        handle=_list,
        query=(
            Parameter(name="days", schema={"type": "integer", "minimum": 1, "maximum": 36_500}, about="asked in these"),
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIST_LIMIT},
            ),
            Parameter(name="every_namespace", schema=schemas.FLAG, about="not only one namespace"),
        ),
        reply=schemas.out(
            gaps={"type": "array", "items": schemas.ref("Gap")}, answered=schemas.COUNT, unchecked=schemas.COUNT
        ),
        lane="slow",
    ),
    Endpoint(
        method="DELETE",
        path="/v1/gaps",
        scope="admin",
        group="gaps",
        summary="Drop every gap of the tenant",
        handle=_clear,
        reply=_DROPPED,
        lane="slow",
        apart=always,
    ),
    Endpoint(
        method="DELETE",
        path="/v1/gaps/{id}",
        scope="write",
        group="gaps",
        summary="Drop a gap with every wording of it",
        handle=_forget,
        reply=_DROPPED,
        lane="slow",
        apart=always,
    ),
)
