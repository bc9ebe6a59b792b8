"""Reads a graph from JSON in the usual forms: what Cypher returns, what APOC exports, nodes and links for a drawing.

{"nodes": [{id, labels, properties}], "relationships": [{type, start, end, properties}]}     also "rels", "edges"
{"type": "node", …} and {"type": "relationship", "label": …, "start": {"id": …}, …}          a line each, or a list
{"nodes": [{id, label, …}], "links": [{source, target, …}]}                                  D3, NetworkX, ours
{"nodes": […], "edges": […], "lessons": [{rb_id, key_lesson, …}]}                            what `graph add` takes
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reasoningbank.core.errors import ImportRejected
from reasoningbank.exchange.coerce import lines_of, object_of, parse_json
from reasoningbank.exchange.graph_files.entries import FileEdge, FileNode
from reasoningbank.exchange.graph_files.fields import LESSON_LABEL
from reasoningbank.files import read_plain

_EDGE_LISTS = ("relationships", "rels", "edges", "links")
_SOURCES = ("source", "start", "startNode", "startNodeId", "from", "source_id")
_TARGETS = ("target", "end", "endNode", "endNodeId", "to", "target_id")
_OWN = frozenset({"id", "identity", "elementId", "type", "labels", "properties", *_SOURCES, *_TARGETS})
MOST_DOCUMENT_BYTES = 512_000_000


def read_graph_json(path: Path) -> Iterator[FileNode | FileEdge]:
    document = _document(path)
    if isinstance(document, dict) and any(isinstance(document.get(name), list) for name in ("nodes", "lessons")):
        yield from _of_document(document)
    elif isinstance(document, list):
        for number, item in enumerate(document):
            yield _of_item(f"[{number}]", item)
    else:
        for line in lines_of(path):
            item, fault = object_of(line)
            if item is None:
                raise ImportRejected(f"line {line.number}: {fault}.")
            yield _of_item(f"line {line.number}", item)


def _document(path: Path) -> Any:
    """The file as one value, or None when it is lines of them."""
    try:
        if path.stat().st_size > MOST_DOCUMENT_BYTES:
            return None
        return parse_json(read_plain(path, MOST_DOCUMENT_BYTES).decode("utf-8-sig"))
    except ValueError:
        return None
    except OSError as error:
        raise ImportRejected(f"{path} cannot be read ({error.strerror}). Check its permissions.") from error


def _of_document(document: Mapping[str, Any]) -> Iterator[FileNode | FileEdge]:
    refs = []
    for number, item in enumerate(_list(document, "nodes")):
        node = _node(f"nodes[{number}]", item)
        refs.append(node.ref)
        yield node
    ref_set = frozenset(refs)
    for number, item in enumerate(_list(document, "lessons")):
        yield _lesson(f"lessons[{number}]", item)
    list_name = next((name for name in _EDGE_LISTS if name in document), "")
    for number, item in enumerate(_list(document, list_name)):
        yield _edge(f"{list_name}[{number}]", item, refs, ref_set)


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    entries = document.get(name, [])
    if not isinstance(entries, list):
        raise ImportRejected(f"{name} must be a list.")
    return entries


def _of_item(where: str, item: Any) -> FileNode | FileEdge:
    if isinstance(item, dict) and item.get("type") == "node":
        return _node(where, {name: value for name, value in item.items() if name != "type"})
    if isinstance(item, dict) and item.get("type") == "relationship":
        return _edge(where, {**item, "type": item.get("label", "")}, (), frozenset())
    raise ImportRejected(f'{where}: neither a node nor a relationship: "type" must be "node" or "relationship".')


def _node(where: str, item: Any) -> FileNode:
    values = _object(where, item)
    ref = _ref(values)
    if not ref:
        raise ImportRejected(f"{where}: a node without an id.")
    labels = values.get("labels", ())
    if isinstance(labels, str):
        labels = [label for label in labels.split(":") if label]
    if not isinstance(labels, (list, tuple)) or not all(isinstance(label, str) for label in labels):
        raise ImportRejected(f"{where}: labels must be a list of words.")
    return FileNode(where=where, ref=ref, labels=tuple(labels), properties=_properties(where, values))


def _lesson(where: str, item: Any) -> FileNode:
    values = dict(_object(where, item))
    ref = _ref({"id": values.pop("rb_id", None)})
    if not ref:
        raise ImportRejected(f"{where}: a lesson without an rb_id.")
    return FileNode(where=where, ref=ref, labels=(LESSON_LABEL,), properties=values)


def _edge(where: str, item: Any, refs: Any, ref_set: frozenset[str]) -> FileEdge:
    values = _object(where, item)
    ends = [_end(where, values, names, refs, ref_set) for names in (_SOURCES, _TARGETS)]
    kind = values.get("type", "")
    if not isinstance(kind, str):
        raise ImportRejected(f"{where}: type must be a word, not {type(kind).__name__}.")
    ref = _ref(values)
    return FileEdge(
        where=where,
        ref="" if ref.isdigit() else ref,
        type=kind,
        source=ends[0],
        target=ends[1],
        properties=_properties(where, values),
    )


def _end(where: str, values: Mapping[str, Any], names: tuple[str, ...], refs: Any, ref_set: frozenset[str]) -> str:
    end = next((values[name] for name in names if name in values), None)
    if isinstance(end, dict):
        end = _ref(end)
    if isinstance(end, int) and not isinstance(end, bool):
        # D3 once numbered the nodes instead of naming them.
        end = refs[end] if str(end) not in ref_set and 0 <= end < len(refs) else str(end)
    if not isinstance(end, str) or not end:
        raise ImportRejected(f"{where}: {names[0]} must name a node.")
    return end


def _ref(values: Mapping[str, Any]) -> str:
    for name in ("id", "identity", "elementId"):
        value = values.get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return ""


def _properties(where: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Properties of an entry: those under `properties`, or all that is not the form's own."""
    properties = values.get("properties")
    if properties is None:
        return {name: value for name, value in values.items() if name not in _OWN}
    return dict(_object(f"{where}.properties", properties))


def _object(where: str, item: Any) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise ImportRejected(f"{where}: must be an object, not {type(item).__name__}.")
    return item
