"""Endpoints for whole sessions: one that somebody else has followed, or the text of a transcript."""

from __future__ import annotations

from reasoningbank.bank.json_view import kept_json
from reasoningbank.core.drafts import MAX_CONTENT_CHARS
from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.learning import Episode, EpisodeStep
from reasoningbank.core.origins import AGENT, USER
from reasoningbank.learn.ingest.sniff import FORMATS
from reasoningbank.learn.sessions import OUTCOMES
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Reply, always
from reasoningbank_server.identity import origin_for
from reasoningbank_server.problems import Problem
from reasoningbank_server.staging import passing_bytes

MOST_STEPS = 5_000
MOST_TRANSCRIPT_CHARS = 4_000_000


def _keep(call: Call) -> Reply:
    body = dict(call.body)
    steps = tuple(EpisodeStep(**step) for step in body.pop("steps", ()))
    namespace = body.pop("namespace", call.bank.namespace)
    # What somebody lived through is no better believed than what they would write down themselves.
    origin = origin_for(call.principal, body.pop("origin", None) or as_agent(call))
    return Reply(
        status=201, body=kept_json(call.bank.keep(Episode(namespace=namespace, steps=steps, origin=origin, **body)))
    )


def as_agent(call: Call) -> str:
    return AGENT if call.principal.origin == USER else call.principal.origin


def _ingest(call: Call) -> Reply:
    with passing_bytes() as (file, path):
        file.write(call.body["text"].encode("utf-8", "replace"))
        file.flush()
        try:
            tally = call.bank.ingest(
                path,
                namespace=call.bank.namespace,
                layout=call.body.get("layout"),
                dry_run=call.body.get("dry_run", False),
                speaker=as_agent(call),
            )
        except ImportRejected as error:
            raise Problem(400, "invalid_input", str(error).replace(str(path), "The text")) from None
    return Reply(
        body={
            "added": tally.added,
            "grown": tally.grown,
            "known": tally.known,
            "steps": tally.steps,
            "skipped": [
                {"what": item.what.replace(path.name, "transcript", 1), "why": item.why} for item in tally.skipped
            ],
            "jobs": list(tally.jobs),
        }
    )


_STEP = schemas.obj(
    ("action",),
    action=schemas.text_schema(MAX_CONTENT_CHARS),
    result=schemas.text(MAX_CONTENT_CHARS),
    ok={"type": ["boolean", "null"]},
    metadata=schemas.METADATA,
)

ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/episodes",
        scope="write",
        group="sessions",
        summary="Keep a finished session as a whole and queue it to be distilled; the same one again adds nothing",
        handle=_keep,
        body=schemas.obj(
            ("task",),
            task=schemas.text_schema(MAX_CONTENT_CHARS),
            namespace=schemas.NAMESPACE,
            steps={"type": "array", "items": _STEP, "maxItems": MOST_STEPS},
            agent=schemas.NULL_NAME,
            outcome={"type": ["string", "null"], "enum": [*OUTCOMES, None]},
            reward={**schemas.FRACTION, "type": ["number", "null"]},
            metadata=schemas.METADATA,
            source=schemas.NULL_NAME,
            origin=schemas.NAME,
        ),
        example={"task": "fix the build", "steps": [{"action": "make", "result": "ok", "ok": True}], "reward": 1},
        reply=schemas.ref("Kept"),
        status=201,
        lane="writing",
    ),
    Endpoint(
        method="POST",
        path="/v1/ingest",
        scope="write",
        group="sessions",
        summary="Take over the sessions of a transcript; each once",
        handle=_ingest,
        body=schemas.obj(
            ("text",),
            text=schemas.text_schema(MOST_TRANSCRIPT_CHARS),
            layout=schemas.one_of(FORMATS),
            dry_run={**schemas.FLAG, "default": False},
        ),
        example={
            "text": '{"messages": [{"role": "user", "content": "fix the build"}, {"role": "assistant", "tool_calls": '
            '[{"id": "1", "function": {"name": "shell", "arguments": "make"}}]}, '
            '{"role": "tool", "tool_call_id": "1", "content": "done"}]}',
            "dry_run": True,
        },
        reply=schemas.ref("Ingested"),
        lane="slow",
        apart=always,
    ),
)
