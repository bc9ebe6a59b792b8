"""Endpoints for feedback, outcomes and the history of a memory's confidence."""

from __future__ import annotations

from typing import Any

from reasoningbank.bank.json_view import appearance_json, confidence_json, history_json
from reasoningbank.core.confidence import policies
from reasoningbank.core.types import DEFAULT_LIST_LIMIT, Confidence
from reasoningbank.learn.account import MOST_LISTED
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply
from reasoningbank_server.identity import source_for


def _confidence_json(confidence: Confidence) -> dict[str, Any]:
    fields = confidence_json(confidence)
    return {"new_confidence": fields.pop("confidence"), **fields}


def _feedback(call: Call) -> Reply:
    confidence = call.bank.feedback(
        call.path["id"],
        helpful=call.body["helpful"],
        comment=call.body.get("comment", ""),
        source=source_for(call.principal),
    )
    return Reply(body=_confidence_json(confidence))


def _outcome(call: Call) -> Reply:
    confidence = call.bank.outcome(
        call.path["id"],
        succeeded=call.body["succeeded"],
        session=call.body.get("session"),
        comment=call.body.get("comment", ""),
    )
    return Reply(body=_confidence_json(confidence))


def _stability(call: Call) -> Reply:
    confidence = call.bank.stability(
        call.path["id"],
        survived=call.body["survived"],
        session=call.body.get("session"),
        comment=call.body.get("comment", ""),
    )
    return Reply(body=_confidence_json(confidence))


def _history(call: Call) -> Reply:
    options = {name: call.query[name] for name in ("policy", "context_match") if name in call.query}
    return Reply(body=history_json(call.bank.history(call.path["id"], **options)))


def _appearances(call: Call) -> Reply:
    appearances = call.bank.shown_to(call.path["id"], limit=call.query.get("limit", DEFAULT_LIST_LIMIT))
    return Reply(body={"sessions": [appearance_json(appearance) for appearance in appearances]})


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/memories/{id}/sessions",
        scope="read",
        group="evidence",
        summary="The tasks in which a memory was shown, the latest first, and what they said of it",
        handle=_appearances,
        query=(
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIST_LIMIT},
            ),
        ),
        reply=schemas.out(sessions={"type": "array", "items": schemas.ref("Appearance")}),
    ),
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
        method="POST",
        path="/v1/memories/{id}/stability",
        scope="write",
        group="evidence",
        summary="Say whether the code that a memory led to lasted or was taken back",
        handle=_stability,
        body=schemas.STABILITY,
        example={"survived": False, "comment": "reverted in review"},
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
        query=(
            Parameter(name="policy", schema=schemas.one_of(policies()), about="What another policy would make of it"),
            Parameter(
                name="context_match", schema=schemas.FRACTION, about="How well the task at hand fits, for `factors`"
            ),
        ),
        reply=schemas.ref("History"),
    ),
)
