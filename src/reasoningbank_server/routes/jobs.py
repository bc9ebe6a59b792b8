"""Endpoints for distillation jobs: the queue, working it off, answering a job, what models have cost."""

from __future__ import annotations

from typing import Any

from reasoningbank.bank.json_view import distilled_json, handed_json, job_json, spending_json
from reasoningbank.core.drafts import MAX_CONTENT_CHARS
from reasoningbank.learn.jobs import DEFAULT_LIMIT
from reasoningbank.learn.queue import job_names
from reasoningbank.learn.worker_pool import Shift
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply, always

MOST_LISTED = 500
STANDINGS = ("waiting", "running", "done", "dead", "discarded")
DEFAULT_WORKED_OFF = 10
MOST_WORKED_OFF = 100
"""Most sessions distilled by one request; the rest is for the next one, or the workers."""


def _list(call: Call) -> Reply:
    namespace = None if call.query.get("every_namespace", False) else call.bank.namespace
    items = call.bank.jobs.list(
        state=call.query.get("state"), namespace=namespace, limit=call.query.get("limit", DEFAULT_LIMIT)
    )
    names = {job_id: name[:300] for job_id, name in job_names(call.bank.context, [i.job for i in items]).items()}
    tally = call.bank.jobs.tally(namespace=namespace)
    return Reply(body={"jobs": [job_json(item) for item in items], "tally": tally, "names": names})


def _get(call: Call) -> Reply:
    return Reply(body=job_json(call.bank.jobs.get(call.path["id"])))


def _retry(call: Call) -> Reply:
    return Reply(body=job_json(call.bank.jobs.retry(call.path["id"])))


def _discard(call: Call) -> Reply:
    return Reply(body=job_json(call.bank.jobs.discard(call.path["id"])))


def _next(call: Call) -> Reply:
    assignment = call.bank.jobs.next(call.body.get("job"))
    return Reply(body={"job": None if assignment is None else handed_json(assignment)})


def _answer(call: Call) -> Reply:
    return Reply(body={"memories": list(call.bank.jobs.answer(call.path["id"], call.body["answer"]))})


def _distill(call: Call) -> Reply:
    # One at a time: a server's own workers are the ones to hurry.
    shift = Shift(workers=1, batch=1, most=call.body.get("limit", DEFAULT_WORKED_OFF))
    fields: dict[str, Any] = distilled_json(call.bank.distill(shift))
    return Reply(body={**fields, "distiller": call.bank.learning.distiller})


def _spending(call: Call) -> Reply:
    items = call.bank.jobs.spending(call.query.get("day"))
    return Reply(body={"llm": call.bank.learning.llm, "spending": [spending_json(item) for item in items]})


_JOB = schemas.ref("Job")

ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/jobs",
        scope="read",
        group="jobs",
        summary="Sessions that wait to be distilled, are in work or have ended, newest first",
        handle=_list,
        query=(
            Parameter(name="state", schema=schemas.one_of(STANDINGS)),
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIMIT},
            ),
            Parameter(name="every_namespace", schema=schemas.FLAG, about="not only one namespace"),
        ),
        reply=schemas.out(
            jobs={"type": "array", "items": _JOB},
            tally=schemas.COUNTS,
            names={
                "type": "object",
                "additionalProperties": schemas.TEXT,
                "description": "tasks and titles of what the jobs name, by id",
            },
        ),
    ),
    Endpoint(
        method="POST",
        path="/v1/jobs/next",
        scope="write",
        group="jobs",
        summary="Take a job to answer: its prompt and its record, yours for 15 minutes",
        handle=_next,
        body=schemas.obj((), job=schemas.NAME),
        example={},
        reply=schemas.out(job={"anyOf": [schemas.ref("Handed"), {"type": "null"}]}),
        lane="slow",
        apart=always,
        errors=(404, 409),
    ),
    Endpoint(
        method="GET",
        path="/v1/jobs/{id}",
        scope="read",
        group="jobs",
        summary="One job, and where it stands",
        handle=_get,
        reply=_JOB,
    ),
    Endpoint(
        method="POST",
        path="/v1/jobs/{id}/answer",
        scope="write",
        group="jobs",
        summary="Answer a job in the form that it asks for; a bad answer says what is wrong and is an attempt",
        handle=_answer,
        body=schemas.obj(("answer",), answer=schemas.text_schema(MAX_CONTENT_CHARS)),
        example={"answer": "NO_EXTRACTIONS"},
        reply=schemas.out(memories=schemas.NAMES),
        lane="slow",
        apart=always,
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path="/v1/jobs/{id}/retry",
        scope="write",
        group="jobs",
        summary="Start a job anew that was given up, or waits for its next turn",
        handle=_retry,
        reply=_JOB,
        lane="writing",
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path="/v1/jobs/{id}/discard",
        scope="write",
        group="jobs",
        summary="Never do a job; retrying brings it back",
        handle=_discard,
        reply=_JOB,
        lane="writing",
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path="/v1/distill",
        scope="write",
        group="jobs",
        summary="Work off a few jobs now and say what was learned",
        handle=_distill,
        body=schemas.obj(
            (),
            limit={
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_WORKED_OFF,
                "default": DEFAULT_WORKED_OFF,
            },
        ),
        example={"limit": 5},
        reply=schemas.ref("Distilled"),
        lane="slow",
        apart=always,
    ),
    Endpoint(
        method="GET",
        path="/v1/spending",
        scope="read",
        group="jobs",
        summary="What models have cost, by day",
        handle=_spending,
        query=(Parameter(name="day", schema=schemas.text(10, pattern=r"^\d{4}-\d{2}-\d{2}$"), about="in UTC"),),
        reply=schemas.out(llm=schemas.TEXT, spending={"type": "array", "items": schemas.ref("Spending")}),
    ),
)
