"""What was said about a memory, and what that makes of its confidence."""

from __future__ import annotations

from typing import Any

from reasoningbank.bank import DEFAULT_LIST_LIMIT
from reasoningbank.core.types import Confidence
from reasoningbank.serve.http import schemas
from reasoningbank.serve.http.endpoint import Call, Endpoint, Parameter, Reply
from reasoningbank.serve.identity import source_for
from reasoningbank.view import confidence_json, history_json, report_json

MOST_LISTED = 200
_SECONDS_A_DAY = 86_400.0


def _earned(confidence: Confidence) -> dict[str, Any]:
    shown = confidence_json(confidence)
    return {"new_confidence": shown.pop("confidence"), **shown}


def _feedback(call: Call) -> Reply:
    confidence = call.bank.feedback(
        call.path["id"],
        helpful=call.body["helpful"],
        comment=call.body.get("comment", ""),
        source=source_for(call.principal),
    )
    return Reply(body=_earned(confidence))


def _outcome(call: Call) -> Reply:
    confidence = call.bank.outcome(
        call.path["id"],
        succeeded=call.body["succeeded"],
        session=call.body.get("session"),
        comment=call.body.get("comment", ""),
    )
    return Reply(body=_earned(confidence))


def _history(call: Call) -> Reply:
    return Reply(body=history_json(call.bank.history(call.path["id"])))


def _report(call: Call) -> Reply:
    days, every = call.query.get("days"), call.query.get("every_namespace", False)
    found = call.bank.report(
        namespace="*" if every else None,
        since=None if days is None else call.bank.desk.clock() - days * _SECONDS_A_DAY,
        limit=call.query.get("limit", DEFAULT_LIST_LIMIT),
    )
    return Reply(body=report_json(found))


_LINES = {"type": "array", "items": {"type": "object"}}

ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/memories/{id}/feedback",
        scope="write",
        group="evidence",
        summary="Say whether a memory helped",
        handle=_feedback,
        body=schemas.FEEDBACK,
        example={"helpful": True, "comment": "saved an hour"},
        reply=schemas.ref("Evidence"),
        lane="writing",
    ),
    Endpoint(
        method="POST",
        path="/v1/memories/{id}/outcome",
        scope="write",
        group="evidence",
        summary="Say how a task went that used a memory",
        handle=_outcome,
        body=schemas.OUTCOME,
        example={"succeeded": True},
        reply=schemas.ref("Evidence"),
        lane="writing",
    ),
    Endpoint(
        method="GET",
        path="/v1/memories/{id}/history",
        scope="read",
        group="evidence",
        summary="The evidence about a memory, and the curve it draws",
        handle=_history,
        reply=schemas.ref("History"),
    ),
    Endpoint(
        method="GET",
        path="/v1/report",
        scope="read",
        group="evidence",
        summary="What each memory has done, what difference it makes, and what is dead weight",
        handle=_report,
        query=(
            Parameter(
                name="days", schema={"type": "integer", "minimum": 1, "maximum": 36_500}, about="only these, until now"
            ),
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIST_LIMIT},
            ),
            Parameter(name="every_namespace", schema=schemas.FLAG, about="not only one namespace"),
        ),
        reply=schemas.out(memories=_LINES, dead_weight=_LINES, kinds=_LINES, totals=schemas.COUNTS),
        lane="slow",
    ),
)
