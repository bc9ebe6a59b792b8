"""Endpoints for sessions: a task from its beginning to the credit for what was shown in it."""

from __future__ import annotations

from reasoningbank.bank.bank import Bank
from reasoningbank.bank.json_view import account_json, signal_json, step_json, trajectory_json
from reasoningbank.core.aliases import NAMESPACE_ALIASES, rename_aliases
from reasoningbank.core.recency import position_of
from reasoningbank.core.types import DEFAULT_LIST_LIMIT
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply
from reasoningbank_server.identity import origin_for

MOST_LISTED = 500


def _start(call: Call) -> Reply:
    body = rename_aliases(call.body, NAMESPACE_ALIASES)
    # What is learned from the session will come from there.
    speaker = origin_for(call.principal, (body.get("metadata") or {}).get("origin"))
    trajectory = call.bank.start_session(body.pop("task"), speaker=speaker, **body)
    return Reply(status=201, body=trajectory_json(trajectory))


def _step(call: Call) -> Reply:
    body = call.body
    step = call.bank.add_step(call.path["id"], body["action"], body.get("result", ""), body.get("metadata"))
    return Reply(status=201, body=step_json(step))


def _end(call: Call) -> Reply:
    ending = call.bank.end_session(call.path["id"], call.body["outcome"], used=call.body.get("used", ()))
    fields = trajectory_json(ending.trajectory)
    return Reply(body={**fields, "step_count": ending.steps, "signals": [signal_json(s) for s in ending.signals]})


def _note_shown(bank: Bank) -> None:
    bank.flush_shown()


def _get(call: Call) -> Reply:
    return Reply(body=trajectory_json(*call.bank.trajectory(call.path["id"])))


def _account(call: Call) -> Reply:
    return Reply(body=account_json(call.bank.account(call.path["id"])))


def _list(call: Call) -> Reply:
    limit, cursor = call.query.get("limit", DEFAULT_LIST_LIMIT), call.query.get("cursor")
    every = call.query.get("every_namespace", False)
    purpose = f"sessions {every} {call.bank.namespace}"
    tenant = call.principal.tenant
    before = None if cursor is None else call.seal.opened(tenant, purpose, cursor).decode()
    items = call.bank.sessions(namespace="*" if every else None, limit=limit + 1, before=before)
    page = items[:limit]
    following = call.seal.closed(tenant, purpose, position_of(page[-1]).encode()) if len(items) > limit else None
    return Reply(body={"sessions": [trajectory_json(item) for item in page], "next": following})


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/sessions",
        scope="write",
        group="sessions",
        summary="Begin a task",
        handle=_start,
        body=schemas.SESSION,
        example={"task": "fix the flaky test", "agent": "builder"},
        reply=schemas.ref("Session"),
        status=201,
        lane="writing",
    ),
    Endpoint(
        method="GET",
        path="/v1/sessions",
        scope="read",
        group="sessions",
        summary="List tasks, newest first",
        handle=_list,
        query=(
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIST_LIMIT},
            ),
            Parameter(name="cursor", schema=schemas.text(400), about="`next` of the page before"),
            Parameter(name="every_namespace", schema=schemas.FLAG, about="not only one namespace"),
        ),
        reply=schemas.listing("sessions", schemas.ref("Session")),
    ),
    Endpoint(
        method="GET",
        path="/v1/sessions/{id}",
        scope="read",
        group="sessions",
        summary="A task with its steps",
        handle=_get,
        reply=schemas.ref("SessionWithSteps"),
    ),
    Endpoint(
        method="GET",
        path="/v1/sessions/{id}/account",
        scope="read",
        group="sessions",
        summary="What was shown in a task, how it was judged, and what was learned from it",
        handle=_account,
        reply=schemas.ref("Account"),
    ),
    Endpoint(
        method="POST",
        path="/v1/sessions/{id}/steps",
        scope="write",
        group="sessions",
        summary="Note what was done and what came of it",
        handle=_step,
        body=schemas.STEP,
        example={"action": "ran the tests", "result": "one failed"},
        reply=schemas.ref("Step"),
        status=201,
        lane="writing",
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path="/v1/sessions/{id}/end",
        scope="write",
        group="sessions",
        summary="End a task and credit what was shown in it",
        handle=_end,
        body=schemas.END,
        example={"outcome": "success"},
        reply=schemas.ref("SessionEnded"),
        lane="writing",
        before=_note_shown,
        errors=(409,),
    ),
)
