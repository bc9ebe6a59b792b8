"""Endpoints for trust: who is believed, why, and deciding about it."""

from __future__ import annotations

from typing import Any

from reasoningbank.bank.json_view import provenance_json, ruling_json, source_json
from reasoningbank.core.drafts import MAX_DESCRIPTION_CHARS, MAX_TITLE_CHARS
from reasoningbank.core.types import DEFAULT_LIST_LIMIT, RulingKind
from reasoningbank.guard.speakers import require_user
from reasoningbank.guard.trust import PEER_RULINGS
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply
from reasoningbank_server.identity import LOCAL_AGENT

MOST_LISTED = 500


def _origins(call: Call) -> Reply:
    return Reply(body={"origins": [source_json(source) for source in call.bank.trust.origins()]})


def _rulings(call: Call) -> Reply:
    rulings = call.bank.trust.rulings(limit=call.query.get("limit", DEFAULT_LIST_LIMIT))
    return Reply(body={"rulings": [ruling_json(ruling) for ruling in rulings]})


def _trust(call: Call) -> Reply:
    return Reply(body=provenance_json(call.bank.trust.why(call.path["id"])))


def _rule(call: Call) -> Reply:
    bank, body = call.bank, call.body
    target, options = body["target"], {"comment": body.get("comment", ""), "dry_run": _is_rehearsal(body)}
    match RulingKind(body["kind"]):
        case RulingKind.APPROVE:
            # An agent has a voice under its own credentials only: nobody knows who comes without any.
            approval = _for_the_user(call, options) if call.principal is LOCAL_AGENT else options
            ruling = bank.trust.approve(target, voice=call.principal.origin, **approval)
        case RulingKind.REJECT:
            ruling = bank.trust.reject(target, **_for_the_user(call, options))
        case RulingKind.REVOKE:
            ruling = bank.trust.revoke(target, **_for_the_user(call, options))
        case RulingKind.QUARANTINE | RulingKind.QUOTE | RulingKind.BELIEVE as kind:
            ruling = bank.trust.give(target, PEER_RULINGS[kind], **_for_the_user(call, options))
        case RulingKind.UNDO:
            ruling = bank.trust.undo(target, **_for_the_user(call, options))
    return Reply(status=201, body={**ruling_json(ruling), "dry_run": options["dry_run"]})


def _for_the_user(call: Call, options: dict[str, Any]) -> dict[str, Any]:
    """Options of a ruling that is written down as the user's own decision; agents are refused."""
    require_user(call.principal.origin, call.body["kind"])
    return options


def _is_rehearsal(body: Any) -> bool:
    return bool(body.get("dry_run", False))


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/origins",
        scope="read",
        group="trust",
        summary="Every origin, how far it is believed and how much came from it",
        handle=_origins,
        reply=schemas.out(origins={"type": "array", "items": schemas.ref("Origin")}),
    ),
    Endpoint(
        method="GET",
        path="/v1/memories/{id}/trust",
        scope="read",
        group="trust",
        summary="Why a memory is trusted as far as it is",
        handle=_trust,
        reply=schemas.ref("Provenance"),
    ),
    Endpoint(
        method="GET",
        path="/v1/rulings",
        scope="read",
        group="trust",
        summary="Decisions about trust, newest first",
        handle=_rulings,
        query=(
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "default": DEFAULT_LIST_LIMIT},
            ),
        ),
        reply=schemas.out(rulings={"type": "array", "items": schemas.ref("Ruling")}),
    ),
    Endpoint(
        method="POST",
        path="/v1/rulings",
        scope="admin",
        group="trust",
        summary="Approve a memory or an origin, reject a memory, revoke an origin, give a peer its trust, undo it",
        handle=_rule,
        body=schemas.obj(
            ("kind", "target"),
            kind=schemas.one_of(RulingKind),
            target=schemas.text_schema(MAX_TITLE_CHARS),
            comment=schemas.text(MAX_DESCRIPTION_CHARS),
            dry_run={**schemas.FLAG, "default": False},
        ),
        example={"kind": "revoke", "target": "tool:web", "comment": "it was hacked"},
        reply={
            "allOf": [schemas.ref("Ruling"), schemas.out(dry_run=schemas.FLAG)],
        },
        status=201,
        lane="writing",
        apart=_is_rehearsal,
        errors=(404, 409),
    ),
)
