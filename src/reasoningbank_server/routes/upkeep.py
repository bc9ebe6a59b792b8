"""Endpoints for consolidation: running it, looking back on it and undoing it."""

from __future__ import annotations

from reasoningbank.bank.json_view import consolidated_json, faded_json, run_account_json, undone_json, upkeep_json
from reasoningbank.core.types import EVERY_NAMESPACE
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Reply


def _consolidate(call: Call) -> Reply:
    wish = dict(call.body)
    every = wish.pop("every_namespace", False)
    consolidation = call.bank.consolidate(
        **wish, namespace=EVERY_NAMESPACE if every else call.bank.namespace, source=call.principal.origin
    )
    return Reply(body=consolidated_json(consolidation, dry_run=wish.get("dry_run", False)))


def _history(call: Call) -> Reply:
    return Reply(body={"runs": [upkeep_json(run) for run in call.bank.upkeep.runs()]})


def _account(call: Call) -> Reply:
    return Reply(body=run_account_json(call.bank.upkeep.account(call.path["id"])))


def _undo(call: Call) -> Reply:
    return Reply(body=undone_json(call.bank.upkeep.undo(call.path["id"], source=call.principal.origin)))


def _list_faded(call: Call) -> Reply:
    return Reply(body={"faded": [faded_json(item) for item in call.bank.upkeep.faded()]})


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/consolidate",
        scope="write",
        group="upkeep",
        summary="Merge what says the same, link what belongs or clashes together, archive and promote",
        handle=_consolidate,
        body=schemas.CONSOLIDATE,
        example={"dry_run": True},
        reply=schemas.ref("Consolidated"),
        lane="slow",
    ),
    Endpoint(
        method="GET",
        path="/v1/consolidations",
        scope="read",
        group="upkeep",
        summary="Every run of the upkeep, newest first",
        handle=_history,
        reply=schemas.out(runs={"type": "array", "items": schemas.ref("Upkeep")}),
    ),
    Endpoint(
        method="GET",
        path="/v1/consolidations/{id}",
        scope="read",
        group="upkeep",
        summary="What a run has done, act by act, with the titles of the memories",
        handle=_account,
        reply=schemas.out(
            id=schemas.TEXT,
            acts={"type": "array", "items": {"type": "object"}},
            names={"type": "object", "additionalProperties": schemas.TEXT},
        ),
    ),
    Endpoint(
        method="POST",
        path="/v1/consolidations/{id}/undo",
        scope="write",
        group="upkeep",
        summary="Put back what a run has changed, and say what cannot be",
        handle=_undo,
        reply=schemas.ref("Undone"),
        lane="slow",
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/faded",
        scope="read",
        group="upkeep",
        summary="Memories that have lost confidence to age alone",
        handle=_list_faded,
        reply=schemas.out(faded={"type": "array", "items": schemas.ref("Faded")}),
        lane="slow",
    ),
)
