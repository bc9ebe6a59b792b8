"""Reads a graph from a file of another tool: finds out the layout, and says what of it the bank can keep.

What a file brings is believed as far as files are. An edge of it may not join two vertices that are believed more:
its sentence would be read to a model as theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reasoningbank.context import BankContext
from reasoningbank.core.errors import ImportRejected, InvalidInput
from reasoningbank.core.frozen import dataclass
from reasoningbank.core.types import Edge, NodeLabel
from reasoningbank.exchange.graph_files.entries import FileEdge, FileNode, IncomingGraph, incoming_graph
from reasoningbank.exchange.graph_files.fields import LESSON_LABEL
from reasoningbank.exchange.graph_files.graph_json_reader import read_graph_json
from reasoningbank.exchange.graph_files.graphml_reader import read_graphml
from reasoningbank.files import open_plain
from reasoningbank.graph.graph_entries import reason_in_words
from reasoningbank.graph.link import DEFAULT_WEIGHT
from reasoningbank.graph.node_fields import FIELDS
from reasoningbank.graph.vertices import find_records, make_vertices
from reasoningbank.ports import Reader

GRAPH_LAYOUTS: Mapping[str, Callable[[Path], Iterator[FileNode | FileEdge]]] = {
    "graphml": read_graphml,
    "json": read_graph_json,
}
_HEAD_BYTES = 1_024
_COMMON = ("conv_id", "text", "tags", "reasoning_pointer_ids", "ingestion_time", "update_time")
_OF_A_LESSON = (
    "key_lesson",
    "context_to_prefer",
    "title",
    "outcome",
    "tags",
    "link_nodes",
    "ingestion_time",
    "update_time",
)
_PLACE = re.compile(r"(nodes|edges|lessons)\[(\d+)\]\.?")


def read_graph_file(context: BankContext, path: Path, layout: str) -> IncomingGraph:
    context.check_not_own(path)
    fields_of = {label.value: (*_COMMON, *FIELDS[label]) for label in NodeLabel}
    graph = incoming_graph(GRAPH_LAYOUTS[layout](path), {**fields_of, LESSON_LABEL: _OF_A_LESSON})
    if not graph.nodes and not graph.lessons and not graph.edges:
        raise ImportRejected(f"{path} has no nodes and no edges: there is nothing to import.")
    for _, edge in graph.edges:
        edge.setdefault("weight", DEFAULT_WEIGHT)
        edge["text"] = edge.get("text") or reason_in_words(edge["kind"], edge.get("evidence", ""))
    return graph


def find_graph_layout(path: Path, layout: str | None = None) -> str:
    """Layout of a graph file, by how it begins: GraphML is XML, everything else JSON."""
    if layout is not None:
        if layout not in GRAPH_LAYOUTS:
            raise InvalidInput(f"Unknown layout {layout!r}: use one of {', '.join(GRAPH_LAYOUTS)}.")
        return layout
    try:
        with open_plain(path) as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise ImportRejected(f"{path} cannot be read ({error.strerror}). Name a GraphML or JSON file.") from error
    if not head.strip():
        raise ImportRejected(f"{path} is empty: there is nothing to import.")
    # UTF-16 begins with a mark, and has a NUL beside each letter of ASCII.
    first = head.lstrip(b"\xef\xbb\xbf\xfe\xff\x00 \t\r\n")[:1]
    if first not in (b"<", b"{", b"["):
        raise ImportRejected(f"{path} is neither GraphML nor JSON. Cypher is written only: export it as JSON instead.")
    return "graphml" if first == b"<" else "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingEdges:
    """Edges of a file by what becomes of them."""

    allowed: list[tuple[str, dict[str, Any]]]
    there: int
    """Between believed vertices, and here already."""
    refused: int
    """Between believed vertices, and new."""


def sort_edges(context: BankContext, reader: Reader, graph: IncomingGraph, namespace: str) -> IncomingEdges:
    """A file may join what it brings to anything, but not two vertices that are believed more than a file."""
    ends = sorted({edge[end] for _, edge in graph.edges for end in ("source", "target")})
    records = find_records(context, reader, ends, namespace)
    trusted_ids = {vertex.id for vertex in make_vertices(reader, list(records.values())) if vertex.trusted}
    ids = {name: record.id for name, record in records.items() if record.id in trusted_ids}
    admissible = [entry for entry in graph.edges if not {entry[1]["source"], entry[1]["target"]} <= ids.keys()]
    inner_edges = [edge for _, edge in graph.edges if edge["source"] in ids and edge["target"] in ids]
    [outward] = reader.select_either(Edge, ("source_id",), sorted(set(ids.values())), {}) if inner_edges else [[]]
    keys = {(edge.source_id, edge.target_id, edge.kind.value) for edge in outward}
    there = sum((ids[edge["source"]], ids[edge["target"]], edge["kind"]) in keys for edge in inner_edges)
    return IncomingEdges(allowed=admissible, there=there, refused=len(inner_edges) - there)


def in_places_of_the_file(error: InvalidInput, graph: IncomingGraph, edges: list[tuple[str, Any]]) -> ImportRejected:
    """The same complaint with the place in the file instead of the number in our lists."""
    message = str(error)
    match = _PLACE.match(message)
    if match is None:
        return ImportRejected(message)
    entries = {"nodes": graph.nodes, "lessons": graph.lessons, "edges": edges}[match[1]]
    where = entries[int(match[2])][0] if int(match[2]) < len(entries) else match[0]
    return ImportRejected(f"{where}: {message[match.end() :].lstrip(': ')}")
