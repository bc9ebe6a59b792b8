"""Endpoints for the user's rules: for credentials that speak for the user, since a proposal may be anybody's words."""

from __future__ import annotations

from reasoningbank.bank.json_view import rule_json
from reasoningbank.core.drafts import LONGEST_RULE_CHARS
from reasoningbank.core.types import EVERY_NAMESPACE, USER_NAMESPACE, RuleState
from reasoningbank.guard.speakers import Door, require_user
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply


def _list(call: Call) -> Reply:
    require_user(call.principal.origin, "read what is proposed as a rule")
    namespaces = (EVERY_NAMESPACE,) if call.query.get("every_namespace") else ()
    in_force, proposals = call.bank.rules.in_force(*namespaces), call.bank.rules.proposed(*namespaces)
    return Reply(body={"in_force": [*map(rule_json, in_force)], "proposed": [*map(rule_json, proposals)]})


def _add(call: Call) -> Reply:
    door = _user_door(call, "set a rule")
    namespace = USER_NAMESPACE if call.body.get("everywhere") else None
    return Reply(status=201, body=rule_json(call.bank.rules.add(call.body["text"], namespace=namespace, door=door)))


def _decide(call: Call) -> Reply:
    door, rules = _user_door(call, "decide about rules"), call.bank.rules
    decide = rules.keep if call.body["state"] == RuleState.IN_FORCE else rules.drop
    return Reply(body=rule_json(decide([call.path["id"]], door)[0]))


def _erase(call: Call) -> Reply:
    call.bank.rules.erase([call.path["id"]], _user_door(call, "erase a rule"))
    return Reply(status=204)


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
        method="PATCH",
        path="/v1/rules/{id}",
        scope="admin",
        group="rules",
        summary="Put a rule in force, or drop it",
        handle=_decide,
        body=schemas.obj(("state",), state=schemas.one_of((RuleState.IN_FORCE, RuleState.DROPPED))),
        example={"state": RuleState.IN_FORCE},
        reply=schemas.ref("Rule"),
        lane="writing",
        errors=(404,),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/rules/{id}",
        scope="admin",
        group="rules",
        summary="Erase a rule for good",
        handle=_erase,
        status=204,
        lane="writing",
        errors=(404,),
    ),
)
