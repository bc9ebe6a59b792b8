"""Endpoints for status, verification and reindexing."""

from __future__ import annotations

from dataclasses import asdict

from reasoningbank import __version__
from reasoningbank.bank.index_state import state_of_sound_index
from reasoningbank.plugins import plugins
from reasoningbank_server import schemas
from reasoningbank_server.endpoint import Call, Endpoint, Reply
from reasoningbank_server.identity import SCOPES


def _status(call: Call) -> Reply:
    status = call.bank.status()
    return Reply(
        body={
            "version": __version__,
            "tenant": status.tenant,
            "namespace": status.namespace,
            "embedder": str(status.embedder),
            "policy": status.policy,
            "distiller": status.distiller,
            "durability": status.store.durability,
            "settings": {choice.name: {"value": choice.value, "source": choice.source} for choice in status.settings},
            "memories": dict(status.memories),
            "namespaces": dict(status.namespaces),
            "signals": status.signals,
            "sessions": status.trajectories,
            "nodes": dict(status.nodes),
            "edges": status.edges,
            "jobs": dict(status.jobs),
        }
    )


def _me(call: Call) -> Reply:
    who = call.principal
    scopes = [scope for scope in SCOPES if scope in who.scopes]
    fields = {"tenant": who.tenant, "name": who.name, "origin": who.origin, "scopes": scopes, "operator": who.operator}
    in_use = {
        name: "admin" in scopes and plugin.load().is_in_use(call.bank) for name, plugin in plugins("routes").items()
    }
    return Reply(body={**fields, "namespace": call.bank.namespace, **in_use})


def _verify(call: Call) -> Reply:
    damage = call.bank.verify()
    index = "" if damage else state_of_sound_index(call.bank)
    return Reply(body={"intact": not damage, "damage": [asdict(item) for item in damage], "index": index})


def _reindex(call: Call) -> Reply:
    identity = call.bank.reindex(call.body.get("embedder"), dimension=call.body.get("dimension"))
    return Reply(body={"embedder": str(identity)})


DAMAGE = schemas.out(kind=schemas.TEXT, id=schemas.TEXT, problem=schemas.TEXT)

ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/status",
        scope="read",
        group="keeping",
        summary="What the tenant's part of the bank holds",
        handle=_status,
        reply=schemas.ref("Status"),
    ),
    Endpoint(
        method="GET",
        path="/v1/me",
        scope="read",
        group="keeping",
        summary="Who the credentials are, and what they allow",
        handle=_me,
        reply=schemas.out(
            tenant=schemas.TEXT,
            name=schemas.TEXT,
            origin=schemas.TEXT,
            scopes=schemas.NAMES,
            operator=schemas.FLAG,
            namespace=schemas.TEXT,
            bus={**schemas.FLAG, "description": "whether these credentials see this bank on the bus"},
        ),
    ),
    Endpoint(
        method="POST",
        path="/v1/verify",
        scope="operator",
        group="keeping",
        summary="Check every row of the bank against its checksum",
        handle=_verify,
        reply=schemas.out(intact=schemas.FLAG, damage={"type": "array", "items": DAMAGE}, index=schemas.TEXT),
        lane="slow",
    ),
    Endpoint(
        method="POST",
        path="/v1/reindex",
        scope="operator",
        group="keeping",
        summary="Build the search index anew; the old one serves meanwhile",
        handle=_reindex,
        body=schemas.REINDEX,
        example={"embedder": "hash"},
        reply=schemas.out(embedder=schemas.TEXT),
        lane="slow",
    ),
)
