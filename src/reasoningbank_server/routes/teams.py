"""Endpoints for teams of namespaces."""

from __future__ import annotations

from reasoningbank.bank.json_view import team_json
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Reply


def _list(call: Call) -> Reply:
    return Reply(body={"teams": [team_json(team) for team in call.bank.teams.list()]})


def _assign(call: Call) -> Reply:
    team, namespaces = call.body["team"], call.body["namespaces"]
    if team is None:
        call.bank.teams.remove(*namespaces, source=call.principal.origin)
    else:
        call.bank.teams.add(team, *namespaces, source=call.principal.origin)
    return _list(call)


_TEAMS = schemas.out(teams={"type": "array", "items": schemas.ref("Team")})
ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/teams",
        scope="read",
        group="teams",
        summary="Every team with its namespaces; those in none are together the default team",
        handle=_list,
        reply=_TEAMS,
    ),
    Endpoint(
        method="POST",
        path="/v1/teams",
        scope="admin",
        group="teams",
        summary="Put namespaces into a team, or with a team of null out of theirs",
        handle=_assign,
        body=schemas.obj(
            ("team", "namespaces"),
            team=schemas.NULL_NAME,
            namespaces={"type": "array", "items": schemas.NAMESPACE, "minItems": 1, "maxItems": 1000},
        ),
        example={"team": "backend", "namespaces": ["api", "billing"]},
        reply=_TEAMS,
        lane="writing",
        errors=(404,),
    ),
)
