"""Endpoints for secrets: what would be scrubbed, what lies in the bank already, and the rulings of the tenant."""

from __future__ import annotations

from reasoningbank.bank.json_view import swept_json
from reasoningbank.core.drafts import MAX_CONTENT_CHARS
from reasoningbank.guard.scrubbing import PERSONAL, Scrubbing, allowing, refusing, with_personal
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Reply, always

MOST_PLACES = 1_000


def _look(call: Call) -> Reply:
    return Reply(body={"found": call.bank.secrets.found_in(call.body["value"])})


def _scrub(call: Call) -> Reply:
    swept = swept_json(call.bank.secrets.scrub(apply=call.body.get("apply", False)))
    more = max(0, len(swept["places"]) - MOST_PLACES)
    return Reply(body={**swept, "places": swept["places"][:MOST_PLACES], "more_places": more})


def _rules(call: Call) -> Reply:
    return Reply(body=_rules_json(call.bank.secrets.scrubbing))


def _rule(call: Call) -> Reply:
    scrubbing = call.bank.secrets.scrubbing
    for value in call.body.get("allow", ()):
        scrubbing = allowing(scrubbing, value)
    for value in call.body.get("disallow", ()):
        scrubbing = refusing(scrubbing, value)
    if "personal" in call.body:
        scrubbing = with_personal(scrubbing, tuple(call.body["personal"]))
    call.bank.secrets.set_scrubbing(scrubbing)
    return Reply(body=_rules_json(scrubbing))


def _rules_json(scrubbing: Scrubbing) -> dict[str, list[str]]:
    return {"allowed": list(scrubbing.allow), "personal": list(scrubbing.personal)}


_VALUES = {"type": "array", "items": schemas.text(MAX_CONTENT_CHARS, minLength=1), "maxItems": 100}
_RULED = schemas.out(allowed=schemas.NAMES, personal=schemas.NAMES)

ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/secrets",
        scope="read",
        group="secrets",
        summary="How many secrets of which kind would be taken out of a text or any JSON value",
        handle=_look,
        body=schemas.obj(("value",), value={}),
        example={"value": {"note": "the build takes two minutes"}},
        reply=schemas.out(found=schemas.COUNTS),
    ),
    Endpoint(
        method="POST",
        path="/v1/scrub",
        scope="admin",
        group="secrets",
        summary="Look for secrets in everything that is kept; with apply, really remove them",
        handle=_scrub,
        body=schemas.obj((), apply={**schemas.FLAG, "default": False}),
        example={"apply": False},
        reply=schemas.ref("Swept"),
        lane="slow",
        apart=always,
    ),
    Endpoint(
        method="GET",
        path="/v1/scrubbing",
        scope="read",
        group="secrets",
        summary="What the tenant rules: fingerprints of allowed values, kinds of personal data to take out",
        handle=_rules,
        reply=_RULED,
    ),
    Endpoint(
        method="PATCH",
        path="/v1/scrubbing",
        scope="admin",
        group="secrets",
        summary="Change that; it holds from the next request on",
        handle=_rule,
        body={
            **schemas.obj(
                (),
                allow=_VALUES,
                disallow=_VALUES,
                personal={"type": "array", "items": schemas.one_of(PERSONAL), "maxItems": len(PERSONAL)},
            ),
            "minProperties": 1,
        },
        example={"personal": ["email"]},
        reply=_RULED,
        lane="slow",
        apart=always,
    ),
)
