"""Endpoints for the memory graph: nodes, conversations and files of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from reasoningbank.bank.graph_view import (
    added_json,
    imported_graph_json,
    subgraph_json,
    vertex_json,
)
from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.origins import level_of
from reasoningbank.core.types import Node
from reasoningbank.graph.subgraph import Vertex
from reasoningbank.guard.trust import check_may_revise
from reasoningbank.serve.http import graph_schemas, schemas
from reasoningbank.serve.http.endpoint import Call, Endpoint, Reply, always
from reasoningbank.serve.http.problems import Problem
from reasoningbank.serve.http.routes.keeping import DAMAGE
from reasoningbank.serve.identity import origin_for
from reasoningbank.serve.staging import passing_bytes

_NODE = {
    "id": "N1003",
    "label": "Event",
    "conv_id": "2025-09-12_Budget_01",
    "text": "Bot traffic spike",
    "source_type": "System Incident",
    "start_date": "2025-07-08",
}
_CYPHER_JSON = (
    '{"nodes": [{"id": 0, "labels": ["UserPreference"], "properties": {"id": "N1009", "conv_id": "c", "text": "Tables, '
    'not pies", "preference_type": "report_style"}}], "relationships": []}'
)


def _add(call: Call) -> Reply:
    body = call.body
    origin = origin_for(call.principal, body.get("origin"))
    added = call.bank.graph.add(body.get("nodes", []), body.get("edges", []), origin=origin)
    return Reply(status=201, body=added_json(added))


def _node(call: Call) -> Reply:
    return Reply(body=vertex_json(call.bank.graph.node(call.path["id"])))


def _remove(call: Call) -> Reply:
    _check_standing(call, [call.bank.graph.node(call.path["id"])])
    call.bank.graph.remove(call.path["id"])
    return Reply(status=204)


def _check_standing(call: Call, vertices: Sequence[Vertex]) -> None:
    """Whoever may not change a node may not erase it either."""
    for vertex in vertices:
        if isinstance(vertex.record, Node):
            check_may_revise(vertex.record, level_of(vertex.record.origin), call.principal.origin)


def _conversations(call: Call) -> Reply:
    return Reply(body={"conversations": call.bank.graph.conversations()})


def _conversation(call: Call) -> Reply:
    return Reply(body=subgraph_json(call.bank.graph.conversation(call.path["id"])))


def _remove_conversation(call: Call) -> Reply:
    _check_standing(call, call.bank.graph.conversation(call.path["id"]).vertices)
    return Reply(body={"nodes": call.bank.graph.remove_conversation(call.path["id"])})


def _lessons(call: Call) -> Reply:
    return Reply(body={"lessons": call.bank.graph.lessons()})


def _check(call: Call) -> Reply:
    damage = call.bank.graph.check()
    return Reply(body={"intact": not damage, "damage": [asdict(item) for item in damage]})


def _import(call: Call) -> Reply:
    with passing_bytes() as (file, path):
        file.write(call.body["text"].encode("utf-8", "replace"))
        file.flush()
        options = {name: call.body[name] for name in ("layout", "dry_run") if name in call.body}
        try:
            done = call.bank.graph.import_file(path, **options)
        except ImportRejected as error:
            raise Problem(400, "invalid_input", str(error).replace(str(path), "The text")) from None
    return Reply(body=imported_graph_json(done))


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/graph",
        scope="write",
        group="graph",
        summary="Add nodes and edges, all or none; a name that is there already is revised",
        handle=_add,
        body=graph_schemas.ADD,
        example={"nodes": [_NODE]},
        reply=schemas.ref("GraphAdded"),
        status=201,
        lane="writing",
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/graph/nodes/{id}",
        scope="read",
        group="graph",
        summary="A node by its name or id, or a lesson by its key or id",
        handle=_node,
        reply=schemas.ref("GraphNode"),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/graph/nodes/{id}",
        scope="write",
        group="graph",
        summary="Really erase a node with its edges",
        handle=_remove,
        status=204,
        lane="writing",
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/graph/conversations",
        scope="read",
        group="graph",
        summary="The conversations of a namespace, with how many nodes each has",
        handle=_conversations,
        reply=schemas.out(conversations=schemas.COUNTS),
    ),
    Endpoint(
        method="GET",
        path="/v1/graph/conversations/{id}",
        scope="read",
        group="graph",
        summary="The snapshot of one conversation as nodes and links",
        handle=_conversation,
        reply=schemas.ref("GraphPart"),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/graph/conversations/{id}",
        scope="write",
        group="graph",
        summary="Really erase the nodes of a conversation with their edges",
        handle=_remove_conversation,
        reply=schemas.out(nodes=schemas.COUNT),
        lane="writing",
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/v1/graph/lessons",
        scope="read",
        group="graph",
        summary="The lessons that nodes taught, with the nodes",
        handle=_lessons,
        reply=schemas.out(lessons={"type": "array", "items": schemas.ref("GraphLesson")}),
    ),
    Endpoint(
        method="GET",
        path="/v1/graph/check",
        scope="read",
        group="graph",
        summary="What of the graph leads to nothing, or is not as its label has it",
        handle=_check,
        reply=schemas.out(intact=schemas.FLAG, damage={"type": "array", "items": DAMAGE}),
        lane="slow",
    ),
    Endpoint(
        method="POST",
        path="/v1/graph/import",
        scope="write",
        group="graph",
        summary="Take over GraphML or JSON of another tool, all or nothing; what comes in is untrusted",
        handle=_import,
        body=graph_schemas.IMPORT,
        example={"text": _CYPHER_JSON, "dry_run": True},
        reply=schemas.ref("GraphImported"),
        lane="slow",
        apart=always,
        errors=(409,),
    ),
)
