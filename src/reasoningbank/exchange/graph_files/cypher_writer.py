"""Writes a graph as Cypher statements that Neo4j loads; run twice, they change nothing.

One statement a line: constraints, so that ends are found by an index, then nodes, each with one label, then
relationships whose type is the kind of the edge. Times are `datetime`, lists are lists, a mapping stands as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reasoningbank.core.patterns import pattern
from reasoningbank.exchange.graph_files.fields import (
    AS_JSON,
    EDGE_FIELDS,
    LESSON_LABEL,
    NODE_FIELDS,
    TIME_FIELDS,
    Entry,
    compact_json,
    fields_there,
)

# Not as \u0027 or \u005c: Neo4j up to 5 resolves those before it looks where a text ends.
_ESCAPED = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_UNPLAIN = pattern("[\\\\'\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NODE_PROPERTIES = tuple(name for name in NODE_FIELDS if name != "label")
_EDGE_PROPERTIES = tuple(name for name in EDGE_FIELDS if name != "kind")


def cypher_lines(nodes: Iterable[Entry], edges: Iterable[Entry], labels: Iterable[str]) -> Iterator[str]:
    """`labels` are those that nodes can have."""
    for label in (*labels, LESSON_LABEL):
        yield f"CREATE CONSTRAINT {label.lower()}_id IF NOT EXISTS FOR (n:{label}) REQUIRE n.id IS UNIQUE;"
    label_of: dict[str, str] = {}
    for node in nodes:
        label_of[node["id"]] = node["label"]
        yield f"MERGE (n:{node['label']} {{id: {literal(node['id'])}}}) SET n += {_map(node, _NODE_PROPERTIES)};"
    for edge in edges:
        ends = ", ".join(f"({name[0]}{_of(edge[name], label_of)})" for name in ("source", "target"))
        yield (
            f"MATCH {ends} MERGE (s)-[r:{edge['kind'].upper()} {{id: {literal(edge['id'])}}}]->(t) "
            f"SET r += {_map(edge, _EDGE_PROPERTIES)};"
        )


def _of(node_id: str, label_of: Mapping[str, str]) -> str:
    label = label_of.get(node_id)
    return f"{f':{label}' if label else ''} {{id: {literal(node_id)}}}"


def _map(entry: Entry, names: tuple[str, ...]) -> str:
    return f"{{{', '.join(_property(name, value) for name, value in fields_there(entry, names))}}}"


def _property(name: str, value: Any) -> str:
    if isinstance(value, Mapping) or (isinstance(value, (list, tuple)) and not all(isinstance(v, str) for v in value)):
        return f"{name}{AS_JSON}: {literal(compact_json(value))}"
    return f"{name}: datetime({literal(value)})" if name in TIME_FIELDS else f"{name}: {literal(value)}"


def literal(value: object) -> str:
    """A value as Cypher writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    return f"'{_UNPLAIN.sub(lambda match: _escape(match[0]), str(value))}'"


def _escape(letter: str) -> str:
    # Half a surrogate pair is no character that could be loaded anywhere.
    return _ESCAPED.get(letter) or ("\ufffd" if "\ud800" <= letter <= "\udfff" else f"\\u{ord(letter):04x}")
