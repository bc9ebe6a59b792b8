"""Nodes and edges as a file of another tool has them, and what the bank makes of them.

A node goes by the `id` among its properties, else by the file's own. A relationship whose type is a kind of ours is of
that kind; any other relates its ends, and where no sentence says why, its type does, in words. Properties that a node
of its label does not have are left out and counted; what is wrong is refused with the place in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reasoningbank.core.errors import ImportRejected
from reasoningbank.core.ids import is_own
from reasoningbank.core.types import EdgeKind
from reasoningbank.exchange.coerce import parse_json
from reasoningbank.exchange.graph_files.fields import (
    AS_JSON,
    EDGE_FIELDS,
    LESSON_LABEL,
    LIST_FIELDS,
    NUMBER_FIELDS,
)

_DRAWING = frozenset(
    {"id", "group", "size", "index", "x", "y", "vx", "vy", "fx", "fy", "key", "embedding_id", "origin"}
)
"""Properties that a drawing adds to a node, or that are made or decided anew here: left out without a word."""
_MOST_ENTRIES = 2_000_000
_KINDS = frozenset(kind.value for kind in EdgeKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNode:
    where: str
    """Its place in the file: "line 12", "nodes[3]"."""
    ref: str
    """Its name within the file, by which edges refer to it."""
    labels: tuple[str, ...]
    properties: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdge:
    where: str
    ref: str
    """Its id in the file, or "" where it has none that means anything."""
    type: str
    source: str
    target: str
    properties: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class IncomingGraph:
    """Nodes, lessons and edges in the seed's field names, each with its place in the file."""

    nodes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    lessons: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    edges: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Properties that nothing here has a place for, by name."""


def incoming_graph(entries: Iterable[FileNode | FileEdge], fields_of: Mapping[str, Iterable[str]]) -> IncomingGraph:
    """`fields_of` names the fields of every label."""
    graph = IncomingGraph()
    names: dict[str, str] = {}
    places: dict[str, str] = {}
    edges: list[FileEdge] = []
    for entry in entries:
        if isinstance(entry, FileEdge):
            edges.append(entry)
        else:
            node = _node(entry, fields_of, graph.left_out)
            name = node["id"]
            if name in places:
                raise ImportRejected(
                    f"{entry.where}: the id {name!r} stands at {places[name]} already; ids are unique."
                )
            if entry.ref in names:
                raise ImportRejected(f"{entry.where}: the id {entry.ref!r} is used twice; ids are unique.")
            places[name], names[entry.ref] = entry.where, name
            if node["label"] == LESSON_LABEL:
                # As `graph.lesson_drafts` reads it. Like any memory it is as old as it is here.
                omissions = ("id", "label", "ingestion_time", "update_time")
                fields = {name: value for name, value in node.items() if name not in omissions}
                graph.lessons.append((entry.where, {"rb_id": node["id"], **fields}))
            else:
                graph.nodes.append((entry.where, node))
        if len(places) + len(edges) > _MOST_ENTRIES:
            raise ImportRejected(f"More than {_MOST_ENTRIES:,} nodes and edges: import them in parts.")
    graph.edges = [(edge.where, _edge(edge, names, graph.left_out)) for edge in edges]
    return graph


def _node(entry: FileNode, fields_of: Mapping[str, Iterable[str]], left_out: Counter[str]) -> dict[str, Any]:
    label = _only_label(entry, fields_of)
    own = entry.properties.get("id")
    name = own if isinstance(own, str) and own.strip() else entry.ref
    values = _values(entry.where, entry.properties, frozenset(fields_of[label]) | {"label"}, left_out)
    return {"id": name, **values, "label": label}


def _only_label(entry: FileNode, fields_of: Mapping[str, Iterable[str]]) -> str:
    labels = entry.labels or ((str(entry.properties["label"]),) if entry.properties.get("label") else ())
    choices = ", ".join(fields_of)
    if len(labels) != 1:
        fault = f"has the labels {', '.join(labels)}" if labels else "has no label"
        raise ImportRejected(f"{entry.where}: node {entry.ref!r} {fault}; it needs exactly one of {choices}.")
    if labels[0] not in fields_of:
        raise ImportRejected(f"{entry.where}: node {entry.ref!r} has the label {labels[0]!r}: use one of {choices}.")
    return labels[0]


def _edge(entry: FileEdge, names: Mapping[str, str], left_out: Counter[str]) -> dict[str, Any]:
    values = _values(entry.where, entry.properties, frozenset(EDGE_FIELDS), left_out)
    word = str(values.pop("kind", "") or entry.type)
    kind = word.strip().lower().replace(" ", "_").replace("-", "_")
    if kind not in _KINDS:
        kind = EdgeKind.RELATES.value
        if word and not values.get("text"):
            values["text"] = word.strip().lower().replace("_", " ")
    own = entry.properties.get("id")
    name = own if isinstance(own, str) and own.strip() else entry.ref
    if is_own(name):
        # An edge that nobody named goes by its ends and its kind, here and in the bank that it comes from.
        name = ""
    ends = {"source": names.get(entry.source, entry.source), "target": names.get(entry.target, entry.target)}
    return {**({"id": name} if name else {}), **ends, "kind": kind, **values}


def _values(
    where: str, properties: Mapping[str, Any], fields: frozenset[str], left_out: Counter[str]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in properties.items():
        field_name = name.removesuffix(AS_JSON) if name.endswith(AS_JSON) and name not in fields else name
        if field_name not in fields:
            left_out.update([name] if name not in _DRAWING and name in properties else ())
        elif field_name != name:
            values[field_name] = _from_json(where, name, value)
        elif f"{name}{AS_JSON}" not in properties and value is not None:
            values[name] = _coerce(where, name, value)
    return values


def _from_json(where: str, name: str, value: Any) -> Any:
    try:
        return parse_json(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ImportRejected(f"{where}: {name} is not JSON ({error}).") from None


def _coerce(where: str, name: str, value: Any) -> Any:
    """A value as the bank takes it. Formats without lists write them as JSON; people write commas."""
    if name in LIST_FIELDS and isinstance(value, str):
        if value.lstrip().startswith("["):
            return _from_json(where, name, value)
        return [word.strip() for word in value.split(",") if word.strip()]
    if name in NUMBER_FIELDS and isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise ImportRejected(f"{where}: {name} must be a number, not {value[:60]!r}.") from None
    return value
