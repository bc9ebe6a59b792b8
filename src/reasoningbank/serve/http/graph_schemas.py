"""JSON Schemas of the memory graph: what its endpoints take and give."""

from __future__ import annotations

from reasoningbank.core.drafts import MAX_CONTENT_CHARS, MAX_DESCRIPTION_CHARS, MAX_TITLE_CHARS
from reasoningbank.core.types import EdgeKind, NodeLabel
from reasoningbank.graph.subgraph import LESSON
from reasoningbank.serve.http.schemas import (
    COUNT,
    COUNTS,
    FLAG,
    FRACTION,
    NAME,
    NAMES,
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
_LABELS = (*NodeLabel, LESSON)

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
ADD: Schema = {
    **obj(
        (),
        nodes={"type": "array", "items": NODE, "maxItems": MOST_NODES},
        edges={"type": "array", "items": EDGE, "maxItems": MOST_NODES},
        origin=NAME,
    ),
    "minProperties": 1,
}
IMPORT: Schema = obj(
    ("text",),
    text={**text_schema(MOST_FILE_CHARS), "description": "GraphML, or JSON of Cypher, APOC, D3 or NetworkX"},
    layout=one_of(("graphml", "json")),
    dry_run={**FLAG, "default": False},
)

# ---------------------------------------------------------------- what comes out

_NODE_OUT = {"id": TEXT, "label": one_of(_LABELS), "tags": NAMES, "trusted": FLAG}
_LINK_OUT = {"id": TEXT, "source": TEXT, "target": TEXT, "kind": one_of(EdgeKind), "text": TEXT, "weight": FRACTION}
_DRAWN: dict[str, Schema] = {
    "nodes": {"type": "array", "items": out(**_NODE_OUT, group=TEXT, size=COUNT)},
    "links": {"type": "array", "items": ref("GraphLink")},
}

COMPONENTS: dict[str, Schema] = {
    "GraphNode": out(**_NODE_OUT, record_id=TEXT),
    "GraphLink": out(**_LINK_OUT),
    "GraphPart": out(**_DRAWN),
    "GraphLesson": out(rb_id=TEXT, key_lesson=TEXT, context_to_prefer=TEXT, tags=NAMES, link_nodes=NAMES),
    "GraphAdded": out(nodes=NAMES, edges=NAMES, counts=COUNTS),
    "GraphImported": out(layout=TEXT, origin=TEXT, counts=COUNTS, left_out=COUNTS, refused_edges=COUNT),
}
