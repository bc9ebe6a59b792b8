"""Fields of nodes, lessons and edges in the files of other tools: their names, their order, and which hold lists.

A node is a mapping with `id`, `label` and the fields below, an edge one with `id`, `source`, `target` and its own. What
a format cannot hold as it is (a mapping, a control character in XML) stands as JSON under the name with `_json` behind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

LESSON_LABEL = "Lesson"
NODE_FIELDS = (
    "label", "conv_id", "text", "tags", "reasoning_pointer_ids", "ingestion_time", "update_time", "origin",
    "user_role", "user_id", "preference_type", "analysis_types", "metrics", "status", "parameter_field", "source_type",
    "start_date", "end_date", "doc_pointer", "relevant_parts", "key_lesson", "context_to_prefer", "title", "outcome",
    "link_nodes",
)  # fmt: skip
EDGE_FIELDS = ("kind", "text", "weight", "tags", "evidence", "created_time")
LIST_FIELDS = frozenset({"tags", "reasoning_pointer_ids", "analysis_types", "metrics", "link_nodes"})
NUMBER_FIELDS = frozenset({"weight"})
TIME_FIELDS = frozenset({"ingestion_time", "update_time", "created_time"})
AS_JSON = "_json"

Entry = Mapping[str, Any]


def compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fields_there(entry: Entry, names: tuple[str, ...]) -> list[tuple[str, Any]]:
    """The fields that an entry has a value for, in the order of the table."""
    return [(name, entry[name]) for name in names if entry.get(name) is not None]
