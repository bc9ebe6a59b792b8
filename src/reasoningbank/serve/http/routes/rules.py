"""Endpoints for the user's rules: for credentials that speak for the user, since a proposal may be anybody's words."""

from __future__ import annotations

from reasoningbank.bank.json_view import rule_json
from reasoningbank.core.drafts import LONGEST_RULE_CHARS, MAX_NAME_CHARS
from reasoningbank.core.types import EVERY_NAMESPACE, USER_NAMESPACE
from reasoningbank.guard.speakers import Door, require_user
from reasoningbank.serve.http import schemas
from reasoningbank.serve.http.endpoint import Call, Endpoint, Parameter, Reply

MOST_DECIDED = 500
KEEP, DROP, ERASE = "keep", "drop", "erase"


def _list(call: Call) -> Reply:
    require_user(call.principal.origin, "read what is proposed as a rule")
    namespaces = (EVERY_NAMESPACE,) if call.query.get("every_namespace") else ()
    in_force, proposed = call.bank.rules.in_force(*namespaces), call.bank.rules.proposed(*namespaces)
    return Reply(body={"in_force": [*map(rule_json, in_force)], "proposed": [*map(rule_json, proposed)]})


def _add(call: Call) -> Reply:
    door = _user_door(call, "set a rule")
    namespace = USER_NAMESPACE if call.body.get("everywhere") else None
    return Reply(status=201, body=rule_json(call.bank.rules.add(call.body["text"], namespace=namespace, door=door)))


def _decide(call: Call) -> Reply:
    door, rules, ids = _user_door(call, "decide about rules"), call.bank.rules, call.body["ids"]
    if call.body["decision"] == ERASE:
        rules.erase(ids, door)
        return Reply(body={"rules": []})
    decided = (rules.keep if call.body["decision"] == KEEP else rules.drop)(ids, door)
    return Reply(body={"rules": [*map(rule_json, decided)]})


def _user_door(call: Call, what: str) -> Door:
    require_user(call.principal.origin, what)
    return Door(name="server", is_user=True)


_RULES = {"type": "array", "items": schemas.ref("Rule")}
ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/rules",
        scope="read",
        group="rules",
        summary="The rules in force in a project and everywhere, and those that wait for the user's yes",
        handle=_list,
        query=(Parameter(name="every_namespace", schema=schemas.FLAG, about="not only one namespace"),),
        reply=schemas.out(in_force=_RULES, proposed=_RULES),
    ),
    Endpoint(
        method="POST",
        path="/v1/rules",
        scope="admin",
        group="rules",
        summary="Put a sentence of the user in force",
        handle=_add,
        body=schemas.obj(
            ("text",),
            text=schemas.text_schema(LONGEST_RULE_CHARS),
            everywhere={**schemas.FLAG, "default": False},
        ),
        example={"text": "Never push to main without asking me."},
        reply=schemas.ref("Rule"),
        status=201,
        lane="writing",
    ),
    Endpoint(
        method="POST",
        path="/v1/rules/decisions",
        scope="admin",
        group="rules",
        summary="Keep proposed rules, drop rules, or erase them for good",
        handle=_decide,
        body=schemas.obj(
            ("ids", "decision"),
            ids={
                "type": "array",
                "items": {"type": "string", "maxLength": MAX_NAME_CHARS},
                "minItems": 1,
                "maxItems": MOST_DECIDED,
            },
            decision=schemas.one_of((KEEP, DROP, ERASE)),
        ),
        example={"ids": ["rle_01JG0000000000000000000000"], "decision": KEEP},
        reply=schemas.out(rules=_RULES),
        lane="writing",
        errors=(404,),
    ),
)
