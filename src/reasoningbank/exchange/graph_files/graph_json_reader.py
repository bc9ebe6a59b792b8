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
    known = frozenset(refs)
    for number, item in enumerate(_list(document, "lessons")):
        yield _lesson(f"lessons[{number}]", item)
    named = next((name for name in _EDGE_LISTS if name in document), "")
    for number, item in enumerate(_list(document, named)):
        yield _edge(f"{named}[{number}]", item, refs, known)


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    given = document.get(name, [])
    if not isinstance(given, list):
        raise ImportRejected(f"{name} must be a list.")
    return given


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


def _edge(where: str, item: Any, refs: Any, known: frozenset[str]) -> FileEdge:
    values = _object(where, item)
    ends = [_end(where, values, names, refs, known) for names in (_SOURCES, _TARGETS)]
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


def _end(where: str, values: Mapping[str, Any], names: tuple[str, ...], refs: Any, known: frozenset[str]) -> str:
    given = next((values[name] for name in names if name in values), None)
    if isinstance(given, dict):
        given = _ref(given)
    if isinstance(given, int) and not isinstance(given, bool):
        # D3 once numbered the nodes instead of naming them.
        given = refs[given] if str(given) not in known and 0 <= given < len(refs) else str(given)
    if not isinstance(given, str) or not given:
        raise ImportRejected(f"{where}: {names[0]} must name a node.")
    return given


def _ref(values: Mapping[str, Any]) -> str:
    for name in ("id", "identity", "elementId"):
        given = values.get(name)
        if isinstance(given, (str, int)) and not isinstance(given, bool) and str(given).strip():
            return str(given)
    return ""


def _properties(where: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those under `properties`, or all that is not the form's own."""
    given = values.get("properties")
    if given is None:
        return {name: value for name, value in values.items() if name not in _OWN}
    return dict(_object(f"{where}.properties", given))


def _object(where: str, item: Any) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise ImportRejected(f"{where}: must be an object, not {type(item).__name__}.")
    return item
