"""Endpoints for tracks: what was done under a memory, outside of any session."""

from __future__ import annotations

from reasoningbank.bank.json_view import step_json
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Reply


def _track(call: Call) -> Reply:
    body = call.body
    step = call.bank.track(call.path["id"], body["action"], body.get("result", ""), body.get("metadata"))
    return Reply(status=201, body=step_json(step))


def _steps(call: Call) -> Reply:
    return Reply(body={"steps": [step_json(step) for step in call.bank.track_of(call.path["id"])]})


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/memories/{id}/steps",
        scope="write",
        group="memories",
        summary="Note what was done under a memory, and what came of it",
        handle=_track,
        body=schemas.STEP,
        example={"action": "Design authentication", "result": "Chose JWT"},
        reply=schemas.ref("Step"),
        status=201,
        lane="writing",
    ),
    Endpoint(
        method="GET",
        path="/v1/memories/{id}/steps",
        scope="read",
        group="memories",
        summary="What was done under a memory, in order",
        handle=_steps,
        reply=schemas.out(steps={"type": "array", "items": schemas.ref("Step")}),
    ),
)
