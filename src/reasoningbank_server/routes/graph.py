"""Endpoints for the memory graph: adding, searching, walking, conversations, files of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from reasoningbank.bank.graph_view import (
    added_json,
    end_names,
    hit_json,
    imported_graph_json,
    ingested_json,
    paths_json,
    subgraph_json,
    vertex_json,
    walk_json,
)
from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.origins import level_of
from reasoningbank.core.types import Node
from reasoningbank.graph.part import DEFAULT_VERTICES, MOST_VERTICES
from reasoningbank.graph.render import DEFAULT_TOKENS, render_paths, render_walk
from reasoningbank.graph.subgraph import Vertex, Walk
from reasoningbank.guard.trust import check_may_revise
from reasoningbank_server import graph_schemas, schemas
from reasoningbank_server.endpoint import Call, Endpoint, Parameter, Reply, always
from reasoningbank_server.identity import origin_for
from reasoningbank_server.problems import Problem
from reasoningbank_server.routes.keeping import DAMAGE
from reasoningbank_server.routes.whole_sessions import as_agent
from reasoningbank_server.staging import passing_bytes

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
    parts = [body.get(name, []) for name in ("nodes", "edges", "lessons")]
    addition = call.bank.graph.add(*parts, origin=origin)
    return Reply(status=201, body=added_json(addition))


def _node(call: Call) -> Reply:
    return Reply(body=vertex_json(call.bank.graph.node(call.path["id"])))


def _part(call: Call) -> Reply:
    return Reply(body=subgraph_json(call.bank.graph.part(**call.query)))


def _remove(call: Call) -> Reply:
    _check_standing(call, [call.bank.graph.node(call.path["id"])])
    call.bank.graph.remove(call.path["id"])
    return Reply(status=204)


def _check_standing(call: Call, vertices: Sequence[Vertex]) -> None:
    """Whoever may not change a node may not erase it either."""
    for vertex in vertices:
        if isinstance(vertex.record, Node):
            check_may_revise(vertex.record, level_of(vertex.record.origin), call.principal.origin)


def _search(call: Call) -> Reply:
    body = dict(call.body)
    hits = call.bank.graph.search(body.pop("query"), **body)
    names = end_names(call.bank.context, hits)
    return Reply(body={"hits": [hit_json(hit, names) for hit in hits], "not_yet_indexed": hits.not_yet_indexed})


def _walk(call: Call) -> Reply:
    body = dict(call.body)
    budget = body.pop("max_tokens", DEFAULT_TOKENS)
    if ("query" in body) == ("seeds" in body):
        raise InvalidInput("Say where the walk begins: query, or seeds.")
    return _walk_reply(call.bank.graph.walk(body.pop("query", ""), **body), budget)


def _question(call: Call) -> Reply:
    walk = getattr(call.bank.graph, call.body["ask"])(call.body["about"])
    return _walk_reply(walk, call.body.get("max_tokens", DEFAULT_TOKENS))


def _walk_reply(walk: Walk, budget: int) -> Reply:
    return Reply(body={**walk_json(walk), "text": render_walk(walk, budget)})


def _path(call: Call) -> Reply:
    path = call.bank.graph.path(call.body["source"], call.body["target"])
    paths = [] if path is None else [path]
    text = render_paths(paths, call.body.get("max_tokens", DEFAULT_TOKENS))
    return Reply(body={**paths_json(paths), "text": text})


def _conversations(call: Call) -> Reply:
    return Reply(body={"conversations": call.bank.graph.conversations()})


def _conversation(call: Call) -> Reply:
    return Reply(body=subgraph_json(call.bank.graph.conversation(call.path["id"])))


def _remove_conversation(call: Call) -> Reply:
    _check_standing(call, call.bank.graph.conversation(call.path["id"]).vertices)
    return Reply(body={"nodes": call.bank.graph.remove_conversation(call.path["id"])})


def _ingest(call: Call) -> Reply:
    body = dict(call.body)
    # What was said in a conversation is no better believed than what its teller would write down.
    origin = origin_for(call.principal, body.pop("origin", None) or as_agent(call))
    return Reply(body=ingested_json(call.bank.graph.ingest(body.pop("conversation"), **body, origin=origin)))


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
            tally = call.bank.graph.import_file(path, **options)
        except ImportRejected as error:
            raise Problem(400, "invalid_input", str(error).replace(str(path), "The text")) from None
    return Reply(body=imported_graph_json(tally))


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/graph",
        scope="write",
        group="graph",
        summary="Add nodes, edges and lessons, all or none; a name that is there already is revised",
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
        path="/v1/graph",
        scope="read",
        group="graph",
        summary="The newest part of the graph to look at, or what lies around a node or lesson",
        handle=_part,
        query=(
            Parameter(name="around", schema=graph_schemas.REFERENCE, about="a node's name or id, a memory's key or id"),
            Parameter(
                name="limit",
                schema={"type": "integer", "minimum": 1, "maximum": MOST_VERTICES, "default": DEFAULT_VERTICES},
                about="vertices",
            ),
        ),
        reply=schemas.ref("GraphPart"),
        lane="slow",
        errors=(404,),
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
        method="POST",
        path="/v1/graph/search",
        scope="read",
        group="graph",
        summary="Find nodes, edges and lessons",
        handle=_search,
        body=graph_schemas.SEARCH,
        example={"query": "what happened in July?", "labels": ["Event"]},
        reply=schemas.out(hits={"type": "array", "items": schemas.ref("GraphHit")}, not_yet_indexed=schemas.COUNT),
        lane="searching",
    ),
    Endpoint(
        method="POST",
        path="/v1/graph/walk",
        scope="read",
        group="graph",
        summary="Follow the edges from what matches a question, or from named nodes; with the text for a model",
        handle=_walk,
        body=graph_schemas.WALK,
        example={"query": "why did metrics change in July?"},
        reply=schemas.ref("GraphWalk"),
        lane="searching",
        errors=(404,),
    ),
    Endpoint(
        method="POST",
        path="/v1/graph/path",
        scope="read",
        group="graph",
        summary="The strongest path between two nodes",
        handle=_path,
        body=graph_schemas.PATH,
        example={"source": "mem_1", "target": "mem_2"},
        reply=schemas.ref("GraphPaths"),
        errors=(404,),
    ),
    Endpoint(
        method="POST",
        path="/v1/graph/questions",
        scope="read",
        group="graph",
        summary="What led to a node, which sources it rests on, what contradicts it; every bridge with a tag",
        handle=_question,
        body=graph_schemas.QUESTION,
        example={"ask": "bridges", "about": "solution"},
        reply=schemas.ref("GraphWalk"),
        errors=(404,),
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
        path="/v1/graph/ingest",
        scope="write",
        group="graph",
        summary="Turn a conversation into nodes and edges; the same again adds nothing",
        handle=_ingest,
        body=graph_schemas.INGEST,
        example={
            "conv_id": "2025-09-12_Budget_01",
            "conversation": [
                {"role": "user", "content": "Why did the cost per lead rise in July?"},
                {"role": "assistant", "content": "It rose because bots inflated the sessions from 8 to 15 July 2025."},
            ],
            "by": "rules",
        },
        reply=schemas.ref("GraphIngested"),
        lane="slow",
        apart=always,
        errors=(409,),
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
