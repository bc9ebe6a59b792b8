"""JSON Schemas of the memory graph: what its endpoints take and give."""

from __future__ import annotations

from reasoningbank.core.drafts import MAX_CONTENT_CHARS, MAX_DESCRIPTION_CHARS, MAX_TITLE_CHARS
from reasoningbank.core.types import EdgeKind, NodeLabel, Outcome
from reasoningbank.graph.graph_query import LABELS
from reasoningbank.graph.render import DEFAULT_TOKENS
from reasoningbank.graph.spreading import MOST_BRANCHING, MOST_DEPTH
from reasoningbank.recall.query import MAX_QUERY_CHARS
from reasoningbank_server.schemas import (
    COUNT,
    COUNTS,
    FLAG,
    FRACTION,
    NAME,
    NAMES,
    NUMBER,
    TAGS,
    TEXT,
    Schema,
    obj,
    one_of,
    out,
    ref,
    text,
    text_schema,
)

MOST_NODES = 10_000
MOST_FILE_CHARS = 4_000_000
REFERENCE: Schema = text_schema(MAX_TITLE_CHARS)
_TIME: Schema = {"type": ["string", "number"], "description": "ISO 8601, or seconds since 1970"}

NODE: Schema = {
    "type": "object",
    "properties": {
        "id": {**NAME, "description": "its name, such as N1001; the same name again revises it"},
        "label": one_of(NodeLabel),
        "conv_id": NAME,
        "text": text_schema(MAX_CONTENT_CHARS),
        "tags": TAGS,
        "reasoning_pointer_ids": NAMES,
        "ingestion_time": _TIME,
        "update_time": _TIME,
    },
    "required": ["label", "conv_id", "text"],
    "description": "with the fields of its label: user_role, user_id; preference_type; analysis_types, metrics; "
    "status, parameter_field; source_type, start_date, end_date; source_type, doc_pointer, relevant_parts",
}
EDGE: Schema = obj(
    ("source", "target", "text", "weight"),
    id=NAME,
    source={**REFERENCE, "description": "a node's name or id, or a memory's key or id"},
    target=REFERENCE,
    kind=one_of(EdgeKind, default="relates"),
    text={**text_schema(MAX_DESCRIPTION_CHARS), "description": "the sentence that says why"},
    weight=FRACTION,
    tags=TAGS,
    evidence=text(MAX_DESCRIPTION_CHARS),
    created_time=_TIME,
)
LESSON: Schema = obj(
    ("key_lesson",),
    rb_id={"type": ["string", "integer"], "description": "its key"},
    key_lesson=text_schema(MAX_CONTENT_CHARS),
    context_to_prefer=text(MAX_DESCRIPTION_CHARS),
    title=text(MAX_TITLE_CHARS),
    outcome=one_of(Outcome, default="success"),
    tags=TAGS,
    link_nodes=NAMES,
)
ADD: Schema = {
    **obj(
        (),
        nodes={"type": "array", "items": NODE, "maxItems": MOST_NODES},
        edges={"type": "array", "items": EDGE, "maxItems": MOST_NODES},
        lessons={"type": "array", "items": LESSON, "maxItems": MOST_NODES},
        origin=NAME,
    ),
    "minProperties": 1,
}
_FILTERS: dict[str, Schema] = {
    "labels": {"type": "array", "items": one_of(LABELS), "maxItems": 10},
    "tags": TAGS,
    "roles": {"type": "array", "items": NAME, "maxItems": 100},
    "conv_id": NAME,
    "since": _TIME,
    "until": _TIME,
}
SEARCH: Schema = obj(
    ("query",),
    query=text_schema(MAX_QUERY_CHARS),
    **_FILTERS,
    limit={"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
)
_BUDGET: Schema = {"type": "integer", "minimum": 100, "maximum": 1_000_000, "default": DEFAULT_TOKENS}
WALK: Schema = obj(
    (),
    query=text_schema(MAX_QUERY_CHARS),
    seeds={"type": "array", "items": REFERENCE, "minItems": 1, "maxItems": 64},
    depth={"type": "integer", "minimum": 1, "maximum": MOST_DEPTH, "default": 5},
    branching={"type": "integer", "minimum": 1, "maximum": MOST_BRANCHING, "default": 3},
    max_tokens=_BUDGET,
)
PATH: Schema = obj(("source", "target"), source=REFERENCE, target=REFERENCE, max_tokens=_BUDGET)
QUESTIONS = ("led_to", "rests_on", "contradicting", "bridges")
QUESTION: Schema = obj(
    ("ask", "about"),
    ask=one_of(QUESTIONS),
    about={**REFERENCE, "description": "a node; for bridges the tag of the edges"},
    max_tokens=_BUDGET,
)
INGEST: Schema = obj(
    ("conversation", "conv_id"),
    conversation={
        "type": "array",
        "items": {"type": "object"},
        "minItems": 1,
        "maxItems": MOST_NODES,
        "description": "chat messages with their tool calls, or events",
    },
    conv_id=NAME,
    user_role=NAME,
    user_id=NAME,
    by=one_of(("auto", "rules", "model"), default="auto"),
    origin=NAME,
)
IMPORT: Schema = obj(
    ("text",),
    text={**text_schema(MOST_FILE_CHARS), "description": "GraphML, or JSON of Cypher, APOC, D3 or NetworkX"},
    layout=one_of(("graphml", "json")),
    dry_run={**FLAG, "default": False},
)

# ---------------------------------------------------------------- what comes out

_NODE_OUT = {"id": TEXT, "label": one_of(LABELS), "tags": NAMES, "trusted": FLAG}
_LINK_OUT = {"id": TEXT, "source": TEXT, "target": TEXT, "kind": one_of(EdgeKind), "text": TEXT, "weight": FRACTION}
_FIGURES: Schema = {"type": "object", "additionalProperties": NUMBER}
_DRAWN: dict[str, Schema] = {
    "nodes": {"type": "array", "items": out(**_NODE_OUT, group=TEXT, size=COUNT)},
    "links": {"type": "array", "items": ref("GraphLink")},
}
_PATHS: dict[str, Schema] = {"paths": {"type": "array", "items": ref("GraphPath")}, **_DRAWN, "text": TEXT}

COMPONENTS: dict[str, Schema] = {
    "GraphNode": out(**_NODE_OUT, record_id=TEXT),
    "GraphLink": out(**_LINK_OUT),
    "GraphPath": out(nodes=NAMES, edges=NAMES, forward={"type": "array", "items": FLAG}, score=NUMBER, why=_FIGURES),
    "GraphPart": out(**_DRAWN),
    "GraphPaths": out(**_PATHS),
    "GraphWalk": out(question=TEXT, seeds=_FIGURES, **_PATHS, visited=COUNT, cut_off=COUNTS),
    "GraphLesson": out(rb_id=TEXT, key_lesson=TEXT, context_to_prefer=TEXT, tags=NAMES, link_nodes=NAMES),
    "GraphAdded": out(nodes=NAMES, edges=NAMES, lessons=NAMES, counts=COUNTS),
    "GraphHit": out(
        node={"anyOf": [ref("GraphNode"), {"type": "null"}]},
        edge={"anyOf": [ref("GraphLink"), {"type": "null"}]},
        score=NUMBER,
        why=_FIGURES,
    ),
    "GraphIngested": out(
        conv_id=TEXT,
        nodes=NAMES,
        edges=NAMES,
        bridges=NAMES,
        lessons=NAMES,
        nodes_added=COUNT,
        edges_added=COUNT,
        passed_over={"type": "array", "items": out(what=TEXT, why=TEXT)},
        drawn_by=TEXT,
        note=TEXT,
    ),
    "GraphImported": out(layout=TEXT, origin=TEXT, counts=COUNTS, left_out=COUNTS, refused_edges=COUNT),
}
